package failpoint_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestAt builds the same program with and without the tag and lets it pass a point five times.
func TestAt(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		tags, env string
		killed    bool
		said      string // how far it came
		logged    string
	}{
		{"", "a:3", false, ".....", ""},
		{"failpoints", "", false, ".....", "a\na\na\na\na\n"},
		{"failpoints", "b:1", false, ".....", "a\na\na\na\na\n"},
		{"failpoints", "a:6", false, ".....", "a\na\na\na\na\n"},
		{"failpoints", "a:3", true, "..", "a\na\na\n"},
	} {
		t.Run(test.tags+" "+test.env, func(t *testing.T) {
			binary, log := filepath.Join(dir, "passes-"+test.tags), filepath.Join(t.TempDir(), "log")
			if out, err := exec.Command("go", "build", "-tags", test.tags, "-o", binary, "./testdata/passes").CombinedOutput(); err != nil {
				t.Fatalf("build: %v\n%s", err, out)
			}
			cmd := exec.Command(binary)
			cmd.Env = append(os.Environ(), "FLOWER_FAILPOINT="+test.env, "FLOWER_FAILPOINT_LOG="+log)
			said, err := cmd.Output()
			var exit *exec.ExitError
			killed := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
			if killed != test.killed || err != nil && !killed || string(said) != test.said {
				t.Errorf("killed %v, said %q, error %v", killed, said, err)
			}
			logged, err := os.ReadFile(log)
			if string(logged) != test.logged || err != nil && test.logged != "" {
				t.Errorf("logged %q, %v", logged, err)
			}
		})
	}
}
