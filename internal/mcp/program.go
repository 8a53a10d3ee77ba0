//go:build unix

package mcp

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"

	"flower/internal/proc"
)

// Figures of programs: product settings.
const (
	politeTime = 2 * time.Second // between the end of input and SIGTERM, and between that and SIGKILL
	pingTime   = 2 * time.Second // for a server to say that it is there
	writeTime  = 5 * time.Second // for a program to read what it is told
	wordsKept  = 2 << 10         // bytes of the end of what a program says on its standard error
	wordsShown = 300
)

// program is a server that was started here, behind a keeper as commands are.
type program struct {
	*proc.Service
	words *tail
	hurry <-chan struct{}
}

// start starts a server.
func start(s Server, opts Options) (*program, error) {
	env := append([]string{}, opts.Environ...)
	for k, v := range s.Env {
		env = append(env, k+"="+v)
	}
	words := &tail{}
	service, err := opts.Commands.Serve(proc.Command{Argv: append([]string{s.Command}, s.Args...), Dir: opts.Dir, Env: env, Confine: opts.Confine}, words)
	if err != nil {
		return nil, err
	}
	return &program{Service: service, words: words, hurry: opts.Hurry}, nil
}

// impatient is the input of a program, which may not read it: a write to a full pipe ends for nothing else.
type impatient struct{ *os.File }

// Write implements io.Writer.
func (i impatient) Write(b []byte) (int, error) {
	if err := i.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return 0, err
	}
	return i.File.Write(b)
}

// end closes the program's input, which asks it to end, and makes sure that it and what it has started do. It waits for that.
func (p *program) end() { p.End(politeTime, p.hurry) }

func (p *program) within(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.Ended():
		return true
	case <-timer.C:
		return false
	}
}

// explain adds to an error how the program ended and what it said last.
func (p *program) explain(err error) error {
	if p.within(politeTime) && p.Outcome() != "" {
		err = fmt.Errorf("%w (%s)", err, p.Outcome())
	}
	if said := p.words.String(); said != "" {
		err = fmt.Errorf("%w; it said: %s", err, said)
	}
	return err
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if over := len(t.kept) - wordsKept; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(b), nil
}

// String is the end of it in one line, without control characters.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(t.kept), "\uFFFD"))
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > wordsShown {
		s = "… " + strings.ToValidUTF8(s[len(s)-wordsShown:], "")
	}
	return s
}
