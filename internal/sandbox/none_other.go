//go:build !linux

package sandbox

// kernelABI is 0: the other systems have nothing that an unprivileged program can confine its children with and that is
// not declared to go away.
func kernelABI() int { return 0 }

// confined is not reached: Level is None.
func (s *Sandbox) confined(start func() error) error { return start() }

// Shield keeps the memory and the environment of this program from other processes of the same user where the system has
// means for that. This one has none, or does so by itself.
func Shield() {}
