package transcript

import (
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"
)

// Limits of trim: text results of trimMin characters or more go to files, but for the newest trimKeep of them.
const (
	trimMin  = 2000
	trimKeep = 20
)

// trim replaces big text results but for the newest keep of them by pointers and returns the texts, each once. What holds
// an image or a document stays.
func (h *history) trim(keep int) []Spill {
	var big []*piece
	for _, r := range h.results {
		if r.editable() && onlyText(r.Block) && longer(r.PlainText(), trimMin-1) {
			big = append(big, r)
		}
	}
	var spills []Spill
	seen := map[string]bool{}
	for _, r := range big[:max(0, len(big)-keep)] {
		text := r.PlainText()
		name := spillName(text)
		if !seen[name] {
			seen[name] = true
			spills = append(spills, Spill{Name: name, Text: text})
		}
		r.replace(ToolResult(r.ToolUseID, r.IsError, Text(pointer(name, utf8.RuneCountInString(text)))))
		h.report.Trimmed++
	}
	return spills
}

// spillName is the name of the file a text is kept in: the first 16 hex digits of its SHA-256.
func spillName(text string) string {
	h := sha256.New()
	var part [4096]byte // the text is not copied as a whole: it may have many megabytes
	for at := 0; at < len(text); {
		n := copy(part[:], text[at:])
		h.Write(part[:n])
		at += n
	}
	return hex.EncodeToString(h.Sum(nil)[:8]) + ".txt"
}
