package tui

import (
	"io"
	"os"
	"strings"
	"syscall"

	"flower/internal/text"
)

// clearScreen empties the screen and moves to its first cell.
const clearScreen = "\x1b[2J\x1b[H"

// key does what one key says.
func (u *ui) key(k key) {
	switch {
	case k.pasted:
		u.edit.paste(k.text, u.foldLabel(k.text))
		if k.cut {
			u.notice = u.opts.Say.Say("tui.cut", text.Data{"Size": text.Bytes(maxPaste)})
		}
	case k.text != "":
		u.edit.insert(k.text)
	default:
		u.press(k.name)
	}
}

// press does what a key that is no text says. A line feed counts as Enter: so do readline and the programs that type for
// people.
func (u *ui) press(name string) {
	switch name {
	case "enter", "ctrl+j", "ctrl+m":
		if !u.edit.continued() {
			u.enter()
		}
	case "ctrl+c":
		_ = u.kill(os.Getpid(), syscall.SIGINT)
	case "ctrl+z":
		u.suspend()
	case "ctrl+l":
		_, _ = io.WriteString(u.paint.out, clearScreen)
		u.paint.forget()
	case "ctrl+o":
		if fold := u.attend.Fold; fold != nil {
			u.unfolded = !u.unfolded
			folded := !u.unfolded
			u.later(func() { fold(folded) })
		}
	case "tab":
		u.turn()
	case "up", "ctrl+p":
		if !u.edit.up() {
			u.edit.older()
		}
	case "down", "ctrl+n":
		if !u.edit.down() {
			u.edit.newer()
		}
	case "ctrl+d":
		if u.edit.empty() {
			u.queue = append(u.queue, Line{End: true})
			return
		}
		u.edit.key(name)
	default:
		u.edit.key(name)
	}
}

// turn makes a remark of an answer, or the other way round.
func (u *ui) turn() {
	switch {
	case u.question.id == "" || u.edit.empty():
	case u.lineFor == u.question.id:
		u.lineFor = ""
	default:
		u.lineFor = u.question.id
	}
}

// enter hands the line over. Enter alone skips a question, so it does nothing until people can have seen which: the key
// may have been pressed twice.
func (u *ui) enter() {
	if u.question.id != "" && u.opts.Now().Sub(u.question.shown) < seeTime && strings.TrimSpace(u.edit.text()) == "" {
		return
	}
	l := Line{}
	if u.mode() == answer {
		l.Question = u.question.id
	}
	l.Text = u.edit.take()
	u.queue = append(u.queue, l)
}

// foldLabel is what is shown in place of a long text.
func (u *ui) foldLabel(s string) string {
	if n := strings.Count(strings.TrimSuffix(s, "\n"), "\n") + 1; n > 1 {
		return u.opts.Say.Say("tui.pasted", text.Data{"N": n})
	}
	return u.opts.Say.Say("tui.pasted.size", text.Data{"Size": text.Bytes(int64(len(s)))})
}
