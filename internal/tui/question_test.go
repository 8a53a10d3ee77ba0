package tui

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"flower"
)

var which = flower.Question{ID: "q1", Text: "Which\u202e of the two?", Options: []string{"old", "新店"}}

// A question is answered by what was typed after it was shown.
func TestQuestion(t *testing.T) {
	sit(t, 60, 8, Options{}, func(d *desk) {
		q := which
		q.AskedAt = time.Now()
		d.pends(&q)
		d.shows(8, 1, "? waits for you · 0s · $0.00", "answer>")
		d.types("2\r")
		d.enters(Line{Text: "2", Question: "q1"})
		time.Sleep(seeTime)
		d.types("\r") // it still waits: a bare Enter skips it
		d.enters(Line{Question: "q1"})
		d.pends(nil)
		d.shows(2, 0, ">")
		d.types("\r")
		d.enters(Line{})
	})
}

// Enter pressed twice answers one question and does not skip the next.
func TestEnterTwice(t *testing.T) {
	sit(t, 60, 8, Options{}, func(d *desk) {
		q1 := flower.Question{ID: "q1", Text: "Which?", AskedAt: time.Now()}
		d.pends(&q1)
		time.Sleep(time.Minute)
		d.types("1\r")
		d.enters(Line{Text: "1", Question: "q1"})
		q2 := flower.Question{ID: "q2", Text: "And now?", AskedAt: time.Now()}
		d.pends(&q2)
		time.Sleep(150 * time.Millisecond)
		for _, keys := range []string{"\r", " \r"} {
			d.types(keys)
			if l, err := d.entered(); err == nil {
				t.Errorf("%q skipped the next question: %+v", keys, l)
			}
		}
		d.types("2\r") // words are no accident
		d.enters(Line{Text: " 2", Question: "q2"})
		q3 := flower.Question{ID: "q3", Text: "And then?", AskedAt: time.Now()}
		d.pends(&q3)
		time.Sleep(seeTime - time.Millisecond)
		d.types("\r")
		if l, err := d.entered(); err == nil {
			t.Errorf("skipped too early: %+v", l)
		}
		time.Sleep(time.Millisecond)
		d.types("\r")
		d.enters(Line{Question: "q3"})
	})
}

// What was begun before a question came never answers it, unless the person says so.
func TestQuestionComesWhileTyping(t *testing.T) {
	const hint = "begun before the question: Enter sends it as a remark, Tab m..."
	sit(t, 64, 8, Options{}, func(d *desk) {
		q := which
		q.AskedAt = time.Now()
		d.types("use gre")
		d.pends(&q)
		d.types("en")
		d.shows(17, 2, "? waits for you · 0s · $0.00", hint, "remark> use green")
		d.types("\r")
		d.enters(Line{Text: "use green"})
		d.types("1\r") // the line after it is an answer
		d.enters(Line{Text: "1", Question: "q1"})
		d.types("x")
		d.pends(nil)
		d.shows(3, 0, "> x")
		q2 := flower.Question{ID: "q2", Text: "And now?", AskedAt: time.Now()}
		d.pends(&q2)
		d.types("\t")
		d.shows(9, 1, "? waits for you · 0s · $0.00", "answer> x")
		d.types("\t\t\r")
		d.enters(Line{Text: "x", Question: "q2"})
	})
}

// An Enter that was pressed before the question was on the screen does not answer it.
func TestEnterInTheSameInstant(t *testing.T) {
	sit(t, 40, 8, Options{}, func(d *desk) {
		q := which
		q.AskedAt = time.Now()
		block := make(chan struct{})
		d.orders <- func(u *ui) { <-block; u.attend.Pending = func() (flower.Question, bool) { return q, true } }
		d.in <- []byte("yes\r")
		d.in <- []byte("\r")
		close(block)
		synctest.Wait()
		d.enters(Line{Text: "yes"})
		d.enters(Line{})
	})
}

// A question that was answered while another waits: what is half typed for the first does not answer the second.
func TestNextQuestion(t *testing.T) {
	sit(t, 40, 8, Options{}, func(d *desk) {
		q := which
		d.pends(&q)
		d.types("the ol")
		q2 := flower.Question{ID: "q2", Text: "And now?"}
		d.pends(&q2)
		d.types("d\r")
		d.enters(Line{Text: "the old"})
	})
}

// What is put back, because its question does not wait any more, is not the answer to the next one.
func TestPutBackAnswersNothing(t *testing.T) {
	sit(t, 64, 8, Options{}, func(d *desk) {
		putBack := func() {
			d.orders <- func(u *ui) { u.putBack("the old", "") }
			synctest.Wait()
		}
		q2 := flower.Question{ID: "q2", Text: "And now?", AskedAt: time.Now()}
		d.pends(&q2)
		putBack()
		d.shows(15, 2, "? waits for you · 0s · $0.00",
			"begun before the question: Enter sends it as a remark, Tab m...", "remark> the old")
		d.types("\r")
		d.enters(Line{Text: "the old"})
		putBack()
		d.types("\t\r") // the person says so
		d.enters(Line{Text: "the old", Question: "q2"})
		d.pends(nil)
		putBack()
		q3 := flower.Question{ID: "q3", Text: "And then?", AskedAt: time.Now()}
		d.pends(&q3)
		d.types("!\r")
		d.enters(Line{Text: "the old!"})
	})
}

// A question that has scrolled away is shown again beside the line.
func TestQuestionStaysInSight(t *testing.T) {
	sit(t, 40, 10, Options{}, func(d *desk) {
		q := which
		q.AskedAt = time.Now()
		d.prints("?????\n? Which of the two?\n")
		d.pends(&q)
		for i := range 9 {
			d.prints(fmt.Sprintf("line %d\n", i))
		}
		got := strings.Join(d.rows(), "\n")
		if want := "line 8\n? Which<U+202E> of the two?\n?   1) old  2) 新店\n? waits for you"; !strings.Contains(got, want) {
			t.Errorf("the question is not in sight:\n%s", got)
		}
	})
}

// One that is still on the screen is not.
func TestQuestionInSight(t *testing.T) {
	sit(t, 40, 10, Options{}, func(d *desk) {
		q := which
		q.AskedAt = time.Now()
		d.pends(&q)
		d.prints("?????\n? Which of the two?\n?   1) old\n?   2) new\n? a number\nanother row\n")
		if got := strings.Join(d.rows(), "\n"); strings.Contains(got, "U+202E") || !strings.Contains(got, "?????") {
			t.Errorf("a question that is in sight is shown again:\n%s", got)
		}
		// The next one was written before this one was answered: nobody knows where it is.
		q2 := flower.Question{ID: "q2", Text: "And now?", AskedAt: time.Now()}
		d.pends(&q2)
		if got := strings.Join(d.rows(), "\n"); !strings.HasSuffix(got, "another row\n? And now?\n? waits for you 0s · $0.00\nanswer>") {
			t.Errorf("the next question is not in sight:\n%s", got)
		}
	})
}

func TestRing(t *testing.T) {
	for _, tt := range []struct {
		opts Options
		want int
		ring string
	}{
		{Options{}, 1, bell}, {Options{Patience: -1}, 0, bell}, {Options{Patience: time.Hour}, 0, bell},
		{Options{Notify: "\x1b]9;flower\a"}, 1, "\x1b]9;flower\a"},
	} {
		sit(t, 40, 10, tt.opts, func(d *desk) {
			q := which
			q.AskedAt = time.Now()
			d.pends(&q)
			time.Sleep(DefaultPatience - time.Second)
			synctest.Wait()
			if n := strings.Count(strings.Join(d.frames(), ""), tt.ring); n != 0 {
				t.Errorf("rung too early")
			}
			time.Sleep(10 * DefaultPatience)
			synctest.Wait()
			if n := strings.Count(strings.Join(d.frames(), ""), tt.ring); n != tt.want {
				t.Errorf("rung %d times, want %d", n, tt.want)
			}
		})
	}
}
