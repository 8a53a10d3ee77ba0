package sqlite

import "errors"

// mountSmall would need other programs.
func mountSmall(string) error { return errors.ErrUnsupported }

func unmount(string) error { return nil }
