//go:build unix

package proc

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Service is a program that is spoken to over its standard input and output for as long as it runs. Like a command it has a
// keeper and is noted, so that nothing of it outlives flower.
type Service struct {
	// Input and Output are the ends of the program's pipes. End closes them.
	Input, Output *os.File

	tree  *child
	words *os.File      // standard error
	read  chan struct{} // closed when standard error was read to its end
	once  sync.Once     // of End
}

// Serve starts a program; of cmd it uses Argv, Dir, Env and Confine. What the program says on its standard error goes to
// words while it comes, from one goroutine, which must not block. The caller ends it with End; Close of the Supervisor ends it
// too, and so does the end of flower.
func (s *Supervisor) Serve(cmd Command, words io.Writer) (_ *Service, err error) {
	c, err := build(cmd)
	if err != nil {
		return nil, fmt.Errorf("start service: %w", err)
	}
	var ends []*os.File // read and write, of input, output and standard error
	defer func() {
		if err != nil {
			closeAll(ends)
		}
	}()
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, fmt.Errorf("start service: %w", err)
		}
		ends = append(ends, r, w)
	}
	tree, err := s.start(c, startOptions{confine: cmd.Confine, stdin: ends[0], stdout: ends[3], read: ends[4], write: ends[5]})
	if err != nil {
		return nil, fmt.Errorf("start service: %w", err)
	}
	closeAll([]*os.File{ends[0], ends[3], ends[5]}) // the child has its own
	v := &Service{Input: ends[1], Output: ends[2], tree: tree, words: ends[4], read: make(chan struct{})}
	go func() { // ends with the last that holds standard error, or with End
		defer close(v.read)
		_, _ = io.Copy(words, v.words) // there is nobody to tell
	}()
	s.keep(tree)
	return v, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // a pipe that nothing was written to, or that is read to its end
	}
}

// PID is the program's process id, for people.
func (v *Service) PID() int { return v.tree.pid() }

// Ended is closed when the program has ended.
func (v *Service) Ended() <-chan struct{} { return v.tree.ended }

// Outcome says how the program ended, as "exit status 7" or "SIGKILL"; "" while it runs, or if that is not known.
func (v *Service) Outcome() string {
	switch code, signal := v.tree.status(); {
	case code < 0:
		return ""
	case signal != "":
		return signal
	default:
		return fmt.Sprintf("exit status %d", code)
	}
}

// End closes the program's input, which asks it to end; after grace the tree gets SIGTERM, and after grace again SIGKILL. What
// the program has left running is ended as well. Once hurry is closed, which may be nil, there is no grace. It waits for all
// that, and may be called again.
func (v *Service) End(grace time.Duration, hurry <-chan struct{}) {
	v.once.Do(func() {
		_ = v.Input.Close()
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-v.tree.ended:
		case <-timer.C:
			v.tree.stop(grace, hurry)
		case <-hurry:
			v.tree.stop(grace, hurry)
		}
		v.tree.finish()
		_ = v.words.SetReadDeadline(time.Now().Add(drainTime)) // somebody who got away may hold it
		<-v.read
		_, _ = v.words.Close(), v.Output.Close()
	})
}
