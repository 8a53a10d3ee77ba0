package modeltest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"slices"
	"strconv"

	"flower/transcript"
)

// signingKey makes signatures the same in every process, so that a client may come back to another server. There is
// nothing to protect.
var signingKey = []byte("modeltest thinking")

// sealMagic begins every signature of this package.
const sealMagic = "mt1."

// seal is what a signature holds.
type seal struct {
	prefix []byte // of what stands before the block
	text   []byte // over the block itself, prefix and previous
	before []byte // of the thinking block before it, zeros if there was none
}

const sealPart = 16

func newSeal(text string, prefix, before []byte) seal {
	mac := hmac.New(sha256.New, signingKey)
	for _, part := range [][]byte{prefix, before, []byte(text)} {
		mac.Write(part)
	}
	return seal{prefix: prefix[:sealPart], before: before[:sealPart], text: mac.Sum(nil)[:sealPart]}
}

func (s seal) String() string {
	return base64.StdEncoding.EncodeToString(slices.Concat([]byte(sealMagic), s.prefix, s.before, s.text))
}

// readSeal returns false for a signature that was made elsewhere.
func readSeal(signature string) (seal, bool) {
	data, err := base64.StdEncoding.DecodeString(signature)
	data, ok := bytes.CutPrefix(data, []byte(sealMagic))
	if err != nil || !ok || len(data) != 3*sealPart {
		return seal{}, false
	}
	return seal{prefix: data[:sealPart], before: data[sealPart : 2*sealPart], text: data[2*sealPart:]}, true
}

// prefix is a running hash of what a signature covers: system text, the set of tools, and all blocks but thinking.
type prefix struct {
	h      hash.Hash
	role   string
	before []byte // of the last thinking block
}

func newPrefix(t *tree) *prefix {
	p := &prefix{h: sha256.New(), before: make([]byte, sealPart)}
	for i := range t.system {
		p.write(t.system[i].canon)
	}
	p.write([]byte("tools"))
	tools := make([]string, len(t.tools))
	for i := range t.tools {
		tools[i] = string(t.tools[i].canon)
	}
	slices.Sort(tools)
	for _, tool := range tools {
		p.write([]byte(tool))
	}
	return p
}

func (p *prefix) write(b []byte) {
	p.h.Write([]byte(strconv.Itoa(len(b)) + ":"))
	p.h.Write(b)
}

// add takes in a block that is not thinking. Neighbouring messages of one role are one.
func (p *prefix) add(role string, canon []byte) {
	if role != p.role {
		p.write([]byte("role " + role))
		p.role = role
	}
	p.write(canon)
}

// pass takes in a thinking block: it changes nothing but what later thinking follows on.
func (p *prefix) pass(signature string) {
	sum := sha256.Sum256([]byte(signature))
	p.before = sum[:sealPart]
}

func (p *prefix) sum() []byte { return p.h.Sum(nil)[:sealPart] }

// issued is the thinking of an answer that called tools.
type issued struct {
	signatures []string
	prefix     []byte // before the answer
}

// memory is what the server keeps of its own answers to be stricter than the requests alone allow. Server.mu guards it.
type memory struct {
	issued   map[string]issued // by the ids of the answer's calls
	paused   map[digest]bool   // contents that ended in pause_turn
	forgiven map[string]bool   // conversations that were told to remove thinking
}

func newMemory() *memory {
	return &memory{issued: map[string]issued{}, paused: map[digest]bool{}, forgiven: map[string]bool{}}
}

func (m *memory) forgive(conversation string) {
	if conversation != "" {
		m.forgiven[conversation] = true
	}
}

// check checks what depends on earlier answers and returns the prefix behind the last message.
func (m *memory) check(r *Request, t *tree, bind bool) (*prefix, error) {
	if err := m.checkPauses(t); err != nil {
		return nil, err
	}
	loop := loopStart(t)
	p := newPrefix(t)
	for i := range t.turns {
		tn := &t.turns[i]
		if i > loop && tn.role == transcript.RoleAssistant && t.thinks() {
			if err := m.checkKept(r, tn, p.sum()); err != nil {
				return nil, err
			}
		}
		latest := i >= len(t.turns)-2
		for k := range tn.blocks {
			b := &tn.blocks[k]
			if !b.thinking() {
				p.add(tn.role, b.canon)
				continue
			}
			if err := checkSeal(b, p, bind, latest); err != nil {
				return nil, err
			}
			p.pass(b.signature())
		}
	}
	return p, nil
}

// loopStart is the index of the last message that is no result of a tool: what follows is a running tool loop.
func loopStart(t *tree) int {
	for i := len(t.turns) - 1; i >= 0; i-- {
		if t.turns[i].role == transcript.RoleUser && !t.turns[i].has("tool_result") {
			return i
		}
	}
	return -1
}

const changed = "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response."

// checkKept refuses an answer of a running tool loop that came back without its thinking, unless what stands before
// it was edited: then the thinking had to go.
func (m *memory) checkKept(r *Request, tn *turn, before []byte) error {
	var known *issued
	var kept []string
	for k := range tn.blocks {
		b := &tn.blocks[k]
		if b.thinking() {
			kept = append(kept, b.signature())
		} else if is, ok := m.issued[b.id()]; ok && known == nil {
			known = &is
		}
	}
	if known == nil {
		return nil
	}
	if n := len(kept) - len(known.signatures); n >= 0 && slices.Equal(known.signatures, kept[n:]) {
		return nil // more may stand before it: the thinking of a paused answer joined with this one
	}
	if !bytes.Equal(known.prefix, before) || m.forgiven[r.Conversation()] {
		return nil
	}
	return badThinking("%s.content.0: %s", tn.path, changed)
}

func checkSeal(b *block, p *prefix, bind, latest bool) error {
	bad := badThinking("%s: Invalid `signature` in `thinking` block. The block, or content that comes before it, differs from what the signature was issued for.", b.path)
	s, ours := readSeal(b.signature())
	if !ours {
		if bind {
			return bad
		}
		return nil
	}
	same := newSeal(b.keys.text("thinking"), s.prefix, s.before)
	switch {
	case !bytes.Equal(same.text, s.text) && latest:
		return badThinking("%s: %s", b.path, changed)
	case !bytes.Equal(same.text, s.text):
		return bad
	case !bind:
		return nil
	case !bytes.Equal(s.prefix, p.sum()):
		return bad
	case !bytes.Equal(s.before, p.before) && !zero(p.before):
		return bad // thinking was taken out in the middle; out of the start is allowed
	}
	return nil
}

func zero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// checkPauses refuses assistant messages where only a paused answer may stand: at the end and before another one.
func (m *memory) checkPauses(t *tree) error {
	var run []block
	for i := range t.turns {
		tn := &t.turns[i]
		if tn.role != transcript.RoleAssistant {
			run = nil
			continue
		}
		run = append(run, tn.blocks...)
		paused := m.paused[contentDigest(run)]
		switch last := i == len(t.turns)-1; {
		case last && !paused && !t.model.Prefill:
			return invalid("This model does not support assistant message prefill. The conversation must end with a user message.")
		case !last && t.turns[i+1].role == transcript.RoleAssistant && !paused:
			return invalid("%s: roles must alternate between \"user\" and \"assistant\", but found multiple \"assistant\" roles in a row", t.turns[i+1].path)
		}
	}
	return nil
}

func contentDigest(blocks []block) digest {
	h := sha256.New()
	for i := range blocks {
		h.Write(blocks[i].canon)
		h.Write([]byte{'\n'})
	}
	return digest(h.Sum(nil))
}

// sign completes the thinking of an answer that follows on p and remembers what later requests are checked against.
func (m *memory) sign(t *tree, p *prefix, msg *transcript.Message) {
	start := p.sum()
	var signatures []string
	blocks := make([]block, len(msg.Content))
	for i, b := range msg.Content {
		if b.IsThinking() {
			b = sealed(b, p)
			msg.Content[i] = b
			signature := b.Signature
			if b.Type == transcript.TypeRedactedThinking {
				signature = b.Data
			}
			signatures = append(signatures, signature)
			p.pass(signature)
		}
		blocks[i] = block{typ: b.Type}
		blocks[i].canon, _ = canonical(encode(b))
		if !b.IsThinking() {
			p.add(transcript.RoleAssistant, blocks[i].canon)
		}
	}
	if len(signatures) > 0 {
		for _, call := range msg.ToolUses() {
			m.issued[call.ID] = issued{signatures, start}
		}
	}
	if msg.StopReason == "pause_turn" {
		m.paused[contentDigest(append(trailing(t), blocks...))] = true
	}
}

// trailing returns the blocks of the assistant at the end of the request.
func trailing(t *tree) []block {
	i := len(t.turns)
	for i > 0 && t.turns[i-1].role == transcript.RoleAssistant {
		i--
	}
	var out []block
	for ; i < len(t.turns); i++ {
		out = append(out, t.turns[i].blocks...)
	}
	return out
}

// sealed signs a thinking block unless the script brought its own signature.
func sealed(b transcript.Block, p *prefix) transcript.Block {
	switch {
	case b.Type == transcript.TypeThinking && b.Signature == "":
		return transcript.Thinking(b.Thinking, newSeal(b.Thinking, p.sum(), p.before).String())
	case b.Type == transcript.TypeRedactedThinking && b.Data == "":
		return transcript.RedactedThinking(newSeal("", p.sum(), p.before).String())
	}
	return b
}
