package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"flower/internal/failpoint"
)

// lineage is the step's session as the directory has it.
func (s *site) lineage(dir string) string {
	s.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "runs", "lineage.json"))
	s.must(err)
	m := regexp.MustCompile(`"干活": "([^"]*)"`).FindSubmatch(data)
	if m == nil {
		s.Fatalf("no session in %s", data)
	}
	return string(m[1])
}

// adopts checks what flower adopt says in a directory.
func (s *site) adopts(dir string, code int, pattern string) {
	s.Helper()
	got, out := s.runIn(dir, "adopt")
	if got != code || !regexp.MustCompile("(?m)^"+pattern).MatchString(out) {
		s.Errorf("adopt: exit code %d, want %d, and a line like %q\n%s", got, code, pattern, out)
	}
}

// TestAdopt: directories that were moved, copied, linked and renamed.
func TestAdopt(t *testing.T) {
	s := newSite(t)
	moved := filepath.Join(s.root, "q")
	const (
		gone = `! starting fresh: this directory was moved here from .*/p - flower adopt takes over.*`
	)
	goesOn := func(s *site, dir, session string) {
		s.Helper()
		code, out := s.runIn(dir, "--timeout", "0")
		if s.says(out, ""); code != 0 || s.lineage(dir) != session {
			s.Errorf("exit code %d, session %s, want %s\n%s", code, s.lineage(dir), session, out)
		}
	}
	for name, f := range map[string]func(s *site, old string){
		"moved": func(s *site, old string) {
			s.must(os.Rename(s.dir, moved))
			s.adopts(moved, 0, `\+ taken over from .*/p: \d sessions`)
			s.adopts(moved, 0, `nothing to adopt`)
			goesOn(s, moved, old)
		},
		"moved and run": func(s *site, old string) {
			s.must(os.Rename(s.dir, moved))
			code, out := s.runIn(moved, "--timeout", "0")
			if s.says(out, gone); code != 0 || s.lineage(moved) == old {
				s.Errorf("exit code %d\n%s", code, out)
			}
			s.adopts(moved, 0, `\+ taken over from .*/p: \d sessions`)
			s.adopts(moved, 0, `nothing to adopt`)
			goesOn(s, moved, old)
		},
		"moved, a link left": func(s *site, old string) {
			s.must(os.Rename(s.dir, moved), os.Symlink(moved, s.dir))
			s.adopts(s.dir, 0, `\+ taken over from .*/p: \d sessions`)
			goesOn(s, s.dir, old)
		},
		"cut between the store and the lineage": func(s *site, old string) {
			s.must(os.Rename(s.dir, moved))
			before, err := os.ReadFile(filepath.Join(moved, "runs", "lineage.json"))
			s.must(err)
			s.adopts(moved, 0, `\+ taken over`)
			s.must(os.WriteFile(filepath.Join(moved, "runs", "lineage.json"), before, 0o600))
			s.adopts(moved, 0, `\+ taken over from .*/p: 0 sessions`)
			goesOn(s, moved, old)
		},
		"copied": func(s *site, old string) {
			s.must(os.CopyFS(moved, os.DirFS(s.dir)))
			s.adopts(moved, 2, `flower: .*/p is still there, so this is a copy`)
			code, out := s.runIn(moved, "--timeout", "0")
			if s.says(out, `! starting fresh: .*`); code != 0 || s.lineage(moved) == old || strings.Contains(out, "flower adopt") {
				s.Errorf("exit code %d\n%s", code, out)
			}
			goesOn(s, s.dir, old)
		},
		"linked": func(s *site, old string) {
			s.must(os.Symlink(s.dir, moved))
			s.adopts(moved, 0, `nothing to adopt`)
			goesOn(s, moved, old)
		},
		"parent renamed, and the key the same": func(s *site, old string) {
			below := filepath.Join(s.root, "a_b", "p")
			s.must(os.Mkdir(filepath.Dir(below), 0o755), os.Rename(s.dir, below))
			s.adopts(below, 0, `\+ taken over from .*/p: \d sessions`)
			s.must(os.Rename(filepath.Join(s.root, "a_b"), filepath.Join(s.root, "a-b")))
			below = filepath.Join(s.root, "a-b", "p")
			code, out := s.runIn(below, "--timeout", "0")
			if s.says(out, `! starting fresh: .*/a_b/p - flower adopt .*`); code != 0 || s.lineage(below) == old {
				s.Errorf("exit code %d\n%s", code, out)
			}
			s.adopts(below, 0, `\+ taken over from .*/a_b/p: \d sessions`)
			goesOn(s, below, old)
		},
		"nothing there": func(s *site, _ string) {
			s.must(os.Mkdir(moved, 0o755))
			s.adopts(moved, 0, `nothing to adopt`)
			if left, _ := os.ReadDir(moved); len(left) > 0 {
				s.Errorf("left %v", left)
			}
		},
	} {
		s.sub(name, func(s *site) {
			s.restore()
			f(s, s.lineage(s.dir))
		})
	}
}

// TestKillWhileAdopting: whenever a process that takes over a moved directory is killed, doing it again finishes, and the
// sessions go on.
func TestKillWhileAdopting(t *testing.T) {
	s := newSite(t)
	for _, point := range []string{
		"adopt.before:1", "adopt.inside:1", "adopt.after:1", // it looks what there is
		"copy.before:1", "copy.inside:1", "copy.after:1", "adopt.before:2", "adopt.inside:2", "adopt.after:2",
		"lineage.json.before:1", "lineage.json.inside:1", "lineage.json.after:1",
	} {
		for _, ran := range []bool{false, true} {
			s.sub(fmt.Sprintf("%s, ran %v", point, ran), func(s *site) {
				s.restore()
				old, moved := s.lineage(s.dir), filepath.Join(s.root, "q")
				s.must(os.Rename(s.dir, moved))
				if ran { // so that the lineage to be taken is one that was put aside
					if code, out := s.runIn(moved, "--timeout", "0"); code != 0 {
						s.Fatalf("exit code %d\n%s", code, out)
					}
				}
				s.killed(moved, point, "adopt")
				s.adopts(moved, 0, `(\+ taken over from .*/p: \d sessions|nothing to adopt)`)
				s.adopts(moved, 0, `nothing to adopt`)
				code, out := s.runIn(moved, "--timeout", "0")
				if s.says(out, ""); code != 0 || s.lineage(moved) != old {
					s.Errorf("exit code %d, session %s, want %s\n%s", code, s.lineage(moved), old, out)
				}
			})
		}
	}
}

// killed runs the program in a directory until a fail point.
func (s *site) killed(dir, point string, args ...string) {
	s.Helper()
	cmd := exec.Command(buildFailing(s.T), args...)
	cmd.Dir, cmd.Env = dir, append(slices.Clone(s.env), failpoint.Env+"="+point)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != -1 {
		s.Fatalf("%v was not killed at %s: %v\n%s", args, point, err, out)
	}
}

// TestKillWhileImporting: a session that is imported when the process is killed is there as a whole or not at all, and
// importing it again gives all of it.
func TestKillWhileImporting(t *testing.T) {
	s := newSite(t)
	s.restore()
	id, file := s.lineage(s.dir), filepath.Join(s.root, "session.jsonl")
	if code, out := s.run("sessions", "export", id, file); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	want, err := os.ReadFile(file)
	s.must(err)
	for _, point := range []string{"import.before:1", "import.inside:1", "import.after:1"} {
		s.sub(point, func(s *site) {
			dir := filepath.Join(s.root, "other-"+point)
			s.must(os.Mkdir(dir, 0o755))
			s.killed(dir, point, "sessions", "import", file)
			code, out := s.runIn(dir, "sessions", "export", id)
			if there := code == 0; there != (point == "import.after:1") || there && strings.Count(out, "\n") != bytes.Count(want, []byte("\n")) {
				s.Errorf("after the kill: exit code %d\n%s", code, out)
			}
			if code, out := s.runIn(dir, "sessions", "import", file); code != 0 {
				s.Errorf("again: exit code %d\n%s", code, out)
			}
			code, out = s.runIn(dir, "sessions", "export", id)
			if code != 0 || strings.Count(out, "\n") != bytes.Count(want, []byte("\n")) {
				s.Errorf("in the end: exit code %d\n%s", code, out)
			}
		})
	}
}
