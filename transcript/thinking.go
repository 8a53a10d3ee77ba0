package transcript

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// checkThinking removes the thinking that does not hold any more. A signature covers all that was sent before it, so
// one change invalidates every thinking block behind it; thinking before the change stays as it is.
//
// What the API never accepts (an empty text, thinking at the end of an answer) and what is never fed back (its own
// errors) was in no request, so taking it out is no change. What got lost, and what was filled in for it, is one.
func (h *history) checkThinking() {
	changed := h.cut
	var before []*piece // thinking
	for n := range h.all {
		if from, is := n.entry.thinkingDropped(); is {
			forget(before, from)
		}
		changed = changed || n.gap || n.entry.repaired
		for _, p := range n.pieces {
			if p.IsThinking() && !p.gone {
				before = append(before, p)
				if changed || p.mangled() {
					p.remove()
					h.report.Thinking++
				}
			}
			changed = changed || p.edit
		}
		if changed && h.first == nil {
			h.first = n
		}
	}
}

// forget discards thinking from the block with an id on; one that is not there has gone already, with all behind it. It
// went while the conversation was going on: what was thought since does not cover it.
func forget(thinking []*piece, from string) {
	at := 0
	if from != "" {
		at = slices.IndexFunc(thinking, func(p *piece) bool { return ThinkingID(*p.Block) == from })
	}
	for i, p := range thinking {
		if at >= 0 && i >= at {
			p.discard()
		}
	}
}

// thinkingDroppedKind is the subtype of the entries that ThinkingDropped makes.
const thinkingDroppedKind = "flower_thinking_dropped"

// ThinkingDropped returns an entry which says that the endpoint has refused thinking: what stands before the entry is
// not sent any more from the block with the ThinkingID from on, or none of it if from is empty. It is a note of the kind
// "system", which other programs show or skip, and hangs in the conversation like a message.
func ThinkingDropped(s Stamp, uuid, parent string, at time.Time, from string) Entry {
	return remark(NewEntry(s, uuid, parent, at, Message{}), thinkingDroppedKind, "thinkingFrom", from,
		"Earlier thinking is no longer sent: the endpoint did not accept it any more.")
}

// thinkingDropped reads an entry that ThinkingDropped has made.
func (e Entry) thinkingDropped() (from string, is bool) {
	if e.Type != "system" || !bytes.Contains(e.raw, []byte(thinkingDroppedKind)) {
		return "", false
	}
	var v struct {
		Subtype string `json:"subtype"`
		From    string `json:"thinkingFrom"`
	}
	err := json.Unmarshal(e.raw, &v)
	return v.From, err == nil && v.Subtype == thinkingDroppedKind
}

// ThinkingID identifies a thinking block in a conversation; it is not empty.
func ThinkingID(b Block) string {
	sum := sha256.Sum256([]byte(b.Thinking + "\x00" + b.Signature + "\x00" + b.Data))
	return hex.EncodeToString(sum[:8])
}

// DropThinking returns the messages without the thinking from a block on, the one at index block of message at or the
// first behind that place, and the ThinkingID of the first block that is gone; "" if there is no thinking there. The
// list given stays as it is.
func DropThinking(messages []Message, at, block int) (rest []Message, from string) {
	rest = slices.Clone(messages)
	for i := max(0, at); i < len(rest); i++ {
		var kept []Block
		for k, b := range rest[i].Content {
			if !b.IsThinking() || i == at && k < block {
				kept = append(kept, b)
			} else if from == "" {
				from = ThinkingID(b)
			}
		}
		rest[i].Content = kept
	}
	return rest, from
}

// mangled says whether a thinking block is not the one that was signed: bytes of it were replaced when it was read, or a
// secret when it was stored.
func (p *piece) mangled() bool {
	return p.Signature == brokenSignature || p.node.entry.repaired && strings.ContainsRune(p.Thinking+p.Signature+p.Data, '\uFFFD')
}

// dropLastThinking takes away thinking that nothing follows: an answer that broke off, or lost its calls.
func (u *unit) dropLastThinking() {
	for i := len(u.nodes) - 1; i >= 0; i-- {
		pieces := u.nodes[i].pieces
		for j := len(pieces) - 1; j >= 0; j-- {
			switch p := pieces[j]; {
			case p.gone:
			case p.IsThinking():
				p.discard()
			default:
				return
			}
		}
	}
}
