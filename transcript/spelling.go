package transcript

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// Bounds of what the API takes as the name of a tool: letters, digits, _ and -, at most 128 of them. Ids of calls have
// no such length; one is chosen so that made-up ids stay readable.
const (
	longestName = 128
	longestID   = 64
)

// plain says whether a text is spelled as the API wants names and ids.
func plain(s string) bool {
	for i := range len(s) {
		if !plainByte(s[i]) {
			return false
		}
	}
	return s != ""
}

func plainByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// PlainName returns the name of a tool as the API takes it back: models and gateways make up others. What is right stays.
func PlainName(s string) string {
	if plain(s) && len(s) <= longestName {
		return s
	}
	s = respell(s)
	return s[:min(len(s), longestName)]
}

// PlainID returns the id of a call as the API takes it back; other ids give others. What is right stays.
func PlainID(s string) string {
	if plain(s) {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	s = respell(s)
	return s[:min(len(s), longestID)] + "_" + hex.EncodeToString(sum[:6])
}

func respell(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && plainByte(byte(r)) {
			return r
		}
		return '_'
	}, s)
}

// respell makes names and ids of calls and results acceptable.
func (p *piece) respell() {
	switch {
	case p.Type == TypeToolUse && p.ID != "" && p.Name != "":
		if id, name := PlainID(p.ID), PlainName(p.Name); id != p.ID || name != p.Name {
			p.replace(ToolUse(id, name, p.Input))
		}
	case p.Type == TypeToolResult && p.ToolUseID != "":
		if id := PlainID(p.ToolUseID); id != p.ToolUseID {
			p.replace(ToolResult(id, p.IsError, p.Content...))
		}
	}
}

// alias is another id for a call whose id is taken: made of its place, so that it is the same every time.
func (p *piece) alias() string {
	sum := sha256.Sum256([]byte(p.node.entry.UUID + "\x00" + strconv.Itoa(slices.Index(p.node.pieces, p))))
	return p.ID + "_" + hex.EncodeToString(sum[:6])
}

// tellApart gives calls other ids that have the same as an earlier one: the API wants them unique in a request, and some
// gateways do not count.
func (h *history) tellApart() {
	seen := make(map[string]bool)
	for n := range h.all {
		for _, p := range n.pieces {
			if p.Type != TypeToolUse || !p.live() {
				continue
			}
			if seen[p.ID] {
				p.replace(ToolUse(p.alias(), p.Name, p.Input))
				if p.mate.live() {
					p.mate.replace(ToolResult(p.ID, p.mate.IsError, p.mate.Content...))
				}
			}
			seen[p.ID] = true
		}
	}
}
