package cli

import (
	"strings"
	"sync"

	"flower/agent"
	"flower/internal/text"
)

// Kinds of pieces.
const (
	pieceText     = "text"
	pieceThinking = "thinking"
)

// pieces hands out the answers of models as they come, without secrets: what may be the beginning of one is held back until
// it is known to be none, at the latest until the answer is whole. It is safe for concurrent use.
type pieces struct {
	secretless func(string) string
	longest    int // secret that is known, in bytes
	write      func(record)

	mu   sync.Mutex
	open map[inside]*piece // answers on their way
}

// piece is an answer on its way.
type piece struct {
	of   string // what is coming: pieceText or pieceThinking
	held string // of it, not handed out yet
	told bool   // something was handed out
	late bool   // nothing more of it is handed out before the answer is whole
}

// maxHeld is how much is held back of an answer while it comes; where more stands without a place to cut, it is looked at
// once, at the end.
const maxHeld = 32 << 10

func newPieces(secretless func(string) string, longest int, write func(record)) *pieces {
	return &pieces{secretless: secretless, longest: longest, write: write, open: map[inside]*piece{}}
}

// add takes what has come; thinking is for those who want it.
func (p *pieces) add(at inside, of, s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.open[at]
	if a == nil {
		a = &piece{of: of}
		p.open[at] = a
	}
	if a.of != of {
		p.hand(at, a, len(a.held))
		a.of, a.late = of, false
	}
	if a.held += s; a.late {
		return
	}
	p.hand(at, a, safeCut(a.held, p.longest, p.secretless))
	a.late = len(a.held) > maxHeld
}

// hand gives out the first n bytes that are held.
func (p *pieces) hand(at inside, a *piece, n int) {
	if n == 0 {
		return
	}
	p.write(pieceEvent{at, a.of, p.secretless(a.held[:n])})
	a.held, a.told = a.held[n:], true
}

// whole says that the answer is there: the rest of it is handed out.
func (p *pieces) whole(at inside) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.open[at]; a != nil {
		p.hand(at, a, len(a.held))
		delete(p.open, at)
	}
}

// void says that what has come will be no answer.
func (p *pieces) void(at inside) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.open[at]; a != nil && a.told {
		p.write(piecesVoidEvent{at})
	}
	delete(p.open, at)
}

// delta follows an answer on its way.
func (p *pieces) delta(at inside, d agent.Delta, thinking bool) {
	switch d := d.(type) {
	case agent.Begun, agent.Retrying:
		p.void(at) // of an answer that broke off
	case agent.TextDelta:
		p.add(at, pieceText, d.Text)
	case agent.ThinkingDelta:
		if thinking {
			p.add(at, pieceThinking, d.Text)
		}
	}
}

const blanks = " \t\n"

// safeCut is how much of a text that is still coming can be told from the rest: no secret reaches across, whatever comes.
// A cut is between two words, because keys have no blanks in them, and far enough from the end for every value that is
// known; it is not behind "Bearer", after which anything is a key, nor inside of a key in PEM form. Where control
// characters stand nothing is certain before the end.
func safeCut(s string, longest int, secretless func(string) string) int {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\n\r", r) || r >= 0x7f && r < 0xa0 }) {
		return 0
	}
	const pem = "-----BEGIN"
	end := len(s)
	if i := strings.Index(s, pem); i >= 0 {
		end = i
	} else if strings.Contains(text.Plain(s), pem) {
		return 0
	}
	for end > 0 {
		cut := strings.LastIndexAny(s[:end], blanks) + 1
		if cut == 0 {
			return 0
		}
		end = cut - 1
		words := strings.Fields(s[:cut])
		switch {
		case len(text.Plain(s[cut:])) < longest:
		case len(words) > 0 && strings.HasSuffix(strings.ToLower(text.Plain(words[len(words)-1])), "bearer"):
		case secretless(s) != secretless(s[:cut])+secretless(s[cut:]):
		default:
			return cut
		}
	}
	return 0
}
