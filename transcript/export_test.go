package transcript

import "pgregory.net/rapid"

// DrawPrepared draws a history with damage, made ready to be sent, for tests outside of the package.
func DrawPrepared(t *rapid.T) Prepared { return Prepare(damaged(t), drawOptions(t)) }
