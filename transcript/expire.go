package transcript

import (
	"encoding/json"
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
	var short []*piece
	for call, result := range h.results {
		if result.looks(call) {
			short = append(short, result)
		}
	}
	for _, r := range short[:max(0, len(short)-expireKeep)] {
		r.replace(ToolResult(r.ToolUseID, r.IsError, Text(expiredNote)))
		h.report.Expired++
	}
}

// looks says whether the result is the short output of an ephemeral command and may be edited.
func (p *piece) looks(call *piece) bool {
	if call.Name != "Bash" || !p.editable() || !onlyText(p.Block) {
		return false
	}
	text := p.PlainText()
	if isNote(text) || longer(text, expireMax) {
		return false
	}
	var input struct {
		Command string `json:"command"`
	}
	return json.Unmarshal(call.Input, &input) == nil && shell.Ephemeral(input.Command)
}

// longer says whether the text has more than n characters. It need not count those of a text that is long.
func longer(text string, n int) bool {
	return len(text) > n && (len(text) > n*utf8.UTFMax || utf8.RuneCountInString(text) > n)
}

// editable results are those that no later stage decides on: not protected, not denied, not interrupted.
func (p *piece) editable() bool {
	return !p.node.protected() && !p.interrupted() && !slices.Contains(p.node.denied(), p)
}
