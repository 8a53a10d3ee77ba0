package cli

import (
	"testing"

	"flower/internal/tui"
)

// What was begun before a question says so, wherever it was cut, and nothing of it is lost.
func TestKeyboard(t *testing.T) {
	master, slave := pair(t)
	k := newKeyboard(slave)
	lines := make(chan tui.Line)
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.run(lines)
	}()
	step := func(typed, question, half string) {
		t.Helper()
		if _, err := master.WriteString(typed); err != nil {
			t.Fatal(err)
		}
		if question != "" {
			if got := k.asked(question); got != half {
				t.Errorf("%q is half typed, want %q", got, half)
			}
		}
	}
	line := func(text, question string) {
		t.Helper()
		if got := <-lines; got.Text != text || got.Question != question {
			t.Errorf("got %+v, want %q for %q", got, text, question)
		}
	}
	step("one\ntwo\nyes, dele", "q1", "yes, dele")
	line("one", "")
	line("two", "")
	step("te", "q2", "yes, delete")
	step(" it\nno\n", "", "")
	line("yes, delete it", "")
	line("no", "q2")
	step("blu", "q3", "blu")
	step("e\n", "", "")
	line("blue", "q2")
	// What was typed for a question that has ended answers none.
	step("gre", "", "")
	k.givenUp()
	step("en\nred\n", "", "")
	line("green", "")
	line("red", "q3")
	// The system edits a line as ever, and Ctrl-D on an empty one is the end.
	step("mi\x7f\x7fyes\n", "", "")
	line("yes", "q3")
	step("\x04", "", "")
	<-done
	if got := k.asked("q4"); got != "" {
		t.Errorf("%q is half typed after the end", got)
	}
	if err := master.Close(); err != nil {
		t.Fatal(err)
	}
}
