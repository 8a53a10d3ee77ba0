package transcript

import (
	"slices"
	"unicode/utf8"

	"flower/internal/shell"
)

// Limits of expire: results of ephemeral commands of up to expireMax characters are replaced by a note, but for the
// newest expireKeep of them. Longer ones are left to trim, which does not lose them.
const (
	expireMax  = 2000
	expireKeep = 6
)

// expire replaces old results of commands that only look.
func (h *history) expire() {
	type look struct {
		result  *piece
		command string
		only    bool // looks, and does nothing
	}
	var looks []look
	for call, result := range h.results {
		if command, ok := call.command(); ok && result.short() {
			looks = append(looks, look{result: result, command: command})
		}
	}
	spread(len(looks), func(i int) { looks[i].only = shell.Ephemeral(looks[i].command) }) // parsing is most of the work
	looks = slices.DeleteFunc(looks, func(l look) bool { return !l.only })
	for _, l := range looks[:max(0, len(looks)-expireKeep)] {
		r := l.result
		r.replace(ToolResult(r.ToolUseID, r.IsError, Text(expiredNote)))
		h.report.Expired++
	}
}

// command is what a call has the shell do.
func (p *piece) command() (command string, ok bool) {
	if p.Name != "Bash" {
		return "", false
	}
	r := reader{text: p.Input}
	for more := r.enter('{'); more; more = r.another('{') {
		if string(r.key()) == "command" {
			command, ok = r.string()
		} else {
			r.skip()
		}
	}
	return command, ok && r.end() == nil
}

// short says whether the result is a short text and may be edited.
func (p *piece) short() bool {
	if !p.editable() || !onlyText(p.Block) {
		return false
	}
	text := p.PlainText()
	return !isNote(text) && !longer(text, expireMax)
}

// longer says whether the text has more than n characters. It counts no more of them than it has to.
func longer(text string, n int) bool {
	if len(text) > n*utf8.UTFMax {
		return true
	}
	for i := 0; n >= 0 && len(text)-i > n; i++ {
		if utf8.RuneStart(text[i]) {
			n--
		}
	}
	return n < 0
}

// editable results are those that no later stage decides on: not protected, not denied, not interrupted.
func (p *piece) editable() bool {
	return !p.node.protected() && !p.interrupted() && !p.denied
}
