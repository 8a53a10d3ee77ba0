package shell

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// oracle asks bash itself what it makes of a line, with nothing that could do harm within reach: no program is found,
// every builtin that is on the list is a function, and bash is restricted, so that it opens no file for writing.
// Whatever would start is written down with its arguments.
type oracle struct{ bash, dir, rc, log string }

// oracleBuiltins are the programs on the list that are part of bash.
var oracleBuiltins = []string{"echo", "printf", "cd", "pwd", "test", "[", "true", "false", ":", "type", "command", "jobs", "ulimit", "umask"}

func newOracle(tb testing.TB) *oracle {
	tb.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		tb.Skip("there is no bash to compare with")
	}
	dir := tb.TempDir()
	o := &oracle{bash: bash, dir: filepath.Join(dir, "work"), rc: filepath.Join(dir, "rc"), log: filepath.Join(dir, "log")}
	var rc strings.Builder
	rc.WriteString("command_not_found_handle() { builtin printf '%s\\0' \"$#\" \"$@\" >&250; builtin return $ANSWER; }\n")
	for _, name := range oracleBuiltins {
		fmt.Fprintf(&rc, "function %s { command_not_found_handle '%s' \"$@\"; }\n", name, name)
	}
	fmt.Fprintf(&rc, "exec 250>>'%s'\nPATH=/nonexistent\n", o.log)
	if err := os.WriteFile(o.rc, []byte(rc.String()), 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.Mkdir(o.dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	return o
}

// run returns the calls bash makes when every command ends with answer, and the files it would have written.
func (o *oracle) run(tb testing.TB, line string, answer int) (calls [][]string, writes []string) {
	tb.Helper()
	if err := os.WriteFile(o.log, nil, 0o600); err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, o.bash, "-r", "-c", line)
	cmd.Dir = o.dir
	cmd.Env = []string{"BASH_ENV=" + o.rc, "LC_ALL=C.UTF-8", "HOME=" + o.dir, fmt.Sprintf("ANSWER=%d", answer)}
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		tb.Fatalf("bash did not come to an end of %q: %v", line, err)
	}
	for _, m := range restricted.FindAllSubmatch(out, -1) {
		writes = append(writes, string(m[1]))
	}
	log, err := os.ReadFile(o.log)
	if err != nil {
		tb.Fatal(err)
	}
	fields := strings.Split(string(bytes.TrimSuffix(log, []byte{0})), "\x00")
	for len(fields) > 1 {
		n, err := strconv.Atoi(fields[0])
		if err != nil || n >= len(fields) {
			return calls, writes // the line wrote into the log itself
		}
		calls = append(calls, fields[1:n+1])
		fields = fields[n+1:]
	}
	return calls, writes
}

// timeout is ample for a shell that starts nothing.
const timeout = 20 * 1e9

var restricted = regexp.MustCompile(`(?m)^[^\n]*?: line \d+: (.*): restricted: cannot redirect output$`)

// check compares what bash makes of an accepted line with the judgement's own words.
func (o *oracle) check(tb testing.TB, line string) {
	tb.Helper()
	file, reason := judge(line)
	if reason != "" {
		tb.Fatalf("%q is refused: %s", line, reason)
	}
	var judged [][]word
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			words, _ := evalArguments(c)
			judged = append(judged, words)
		}
		return true
	})
	for answer := range 2 {
		calls, writes := o.run(tb, line, answer)
		for _, w := range writes {
			if w != "/dev/null" {
				tb.Fatalf("bash writes to %q in %q", w, line)
			}
		}
		for _, call := range calls {
			if !slices.ContainsFunc(judged, func(words []word) bool { return same(words, call) }) {
				tb.Fatalf("bash runs %q in %q; judged was %v", call, line, judged)
			}
		}
	}
	if left, err := os.ReadDir(o.dir); err != nil || len(left) > 0 {
		tb.Fatalf("%q left %v, %v", line, left, err)
	}
}

// same reports whether bash may have made call of words. A pattern may have become any files, a status any number, and a
// tilde a directory.
func same(words []word, call []string) bool {
	if words[0].text != call[0] {
		return false
	}
	if slices.ContainsFunc(words, func(w word) bool { return w.glob }) {
		return true
	}
	return slices.EqualFunc(words, call, func(w word, arg string) bool {
		return w.text == arg || w.dyn || strings.Contains(w.text, "~")
	})
}

// TestBashAgrees compares the words that were judged with those that bash would run.
func TestBashAgrees(t *testing.T) {
	o := newOracle(t)
	ran := 0
	for _, line := range accepted(t) {
		o.check(t, line)
		calls, _ := o.run(t, line, 0)
		ran += len(calls)
	}
	if ran < len(accepted(t)) {
		t.Errorf("of %d lines bash ran only %d commands", len(accepted(t)), ran)
	}
	calls, writes := o.run(t, "ls a\\ b 'c'*; echo x >/x/y", 0)
	if fmt.Sprintf("%q %q", calls, writes) != `[["ls" "a b" "c*"]] ["/x/y"]` {
		t.Errorf("the oracle sees %q and %q", calls, writes)
	}
}

// accepted are all lines of the tables that are ephemeral.
func accepted(tb testing.TB) []string {
	all := lines(acceptedList)
	for _, r := range table(tb) {
		if r.want {
			all = append(all, r.command)
		}
	}
	return all
}
