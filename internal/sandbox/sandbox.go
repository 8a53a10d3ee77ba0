// Package sandbox keeps commands from writing outside of named places, with what the kernel offers for that: Landlock on
// Linux, nothing elsewhere.
//
// Terms: a place is a directory, or a single file, in which a confined process may create, change, rename and remove
// files. A confinement is inherited by everything that process starts and cannot be taken off again.
//
// Trust model: the command may be anything, and tries to get out: through symbolic and hard links, renames, descriptors
// under /proc, device files, other programs, and by turning one of its places into a link for the command that follows.
// What Landlock does not see stays possible: changing mode, owner, times and extended attributes of files outside,
// talking to a service that writes for others (a socket of docker, for one) or hands over a file that it has opened, and
// everything that is not the file system: the network, signals, writing to the terminals of the same user. Reading is
// free. A confined process gains no rights by starting programs with the setuid bit, and cannot trace processes that are
// not confined, or read their memory, environment or open files. One that is started by root is root in all else, but
// for the capabilities that would undo the confinement (see withheld).
//
// All functions are safe for concurrent use.
package sandbox

import (
	"fmt"
	"path/filepath"
	"slices"
)

// Options of a Sandbox. The zero value allows no place but devices like /dev/null.
type Options struct {
	// Places may be written in: absolute paths, symbolic links are followed by New. What does not exist when a command
	// starts is left out, and so is what can be reached only through another place: a real directory there is open
	// anyway, and a link may be the work of an earlier command.
	Places []string
	// ABI is the version of the kernel's interface to assume, for tests: 0 asks the kernel, negative is a kernel
	// without it. It is never taken to be newer than it is.
	ABI int
}

// Level is how much of its task a sandbox can do here.
type Level int

// Levels.
const (
	None    Level = iota // nothing is confined: the kernel, or the system, has no means
	Partial              // all but truncate(2) of a file outside, and no move between directories: Linux before 6.2
	Full
)

// Sandbox starts processes that may write in some places only. It is immutable.
type Sandbox struct {
	places []string
	abi    int
}

// New checks the options. A kernel without means is no error: see Level.
func New(opts Options) (*Sandbox, error) {
	for _, p := range opts.Places {
		if !filepath.IsAbs(p) {
			return nil, fmt.Errorf("make sandbox: %q is not an absolute path", p)
		}
	}
	abi := kernelABI()
	if opts.ABI != 0 {
		abi = max(0, min(abi, opts.ABI))
	}
	return &Sandbox{places: settle(opts.Places), abi: abi}, nil
}

// Places are where processes may write, symbolic links followed; devices, and what lies in other places, left out.
func (s *Sandbox) Places() []string { return slices.Clone(s.places) }

// Level says what this sandbox can do.
func (s *Sandbox) Level() Level {
	switch {
	case s.abi <= 0:
		return None
	case s.abi < abiTruncate:
		return Partial
	}
	return Full
}

// Versions of Landlock and what came with them.
const (
	abiRefer    = 2 // moves and links between directories; Linux 5.19
	abiTruncate = 3 // truncate(2); Linux 6.2
)

// Start calls start in such a way that the process it starts is confined, and nothing else of this program is. start
// must start the process itself, in the goroutine that it is called in. Where Level is None it is just called. An error
// to confine is returned, and then start was not called: it fails closed.
func (s *Sandbox) Start(start func() error) error {
	if s.Level() == None {
		return start()
	}
	return s.confined(start)
}
