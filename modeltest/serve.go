package modeltest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"flower/transcript"
)

// maxBody is the API's limit of a request, in bytes. What comes after it is read and thrown away up to maxDrain, so
// that a client that is still writing gets to see the answer.
const (
	maxBody  = transcript.MaxRequestBytes
	maxDrain = 512 << 20
)

// arrive begins the record of a request.
func (s *Server) arrive(r *http.Request) *Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := &Record{Request: &Request{Seq: len(s.records) + 1, At: s.opts.Now(), Header: r.Header.Clone()}}
	s.records = append(s.records, rec)
	return rec
}

func (s *Server) serveMessages(w http.ResponseWriter, r *http.Request) {
	rec := s.arrive(r)
	t, err := s.read(rec, r)
	if err != nil {
		s.refuse(w, rec, err)
		return
	}
	behind, err := s.accept(rec, t)
	if err != nil {
		s.refuse(w, rec, err)
		return
	}
	if s.opts.OnRequest != nil {
		s.opts.OnRequest(rec.Request)
	}
	reply, err := s.play(rec.Request)
	if err != nil {
		s.refuse(w, rec, err)
		return
	}
	out := s.prepare(rec, t, behind, reply)
	s.send(w, r, rec, out)
}

// read reads a request and checks what can be checked on its own.
func (s *Server) read(rec *Record, r *http.Request) (*tree, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil { // the client left
		s.note(func() { rec.Ended = true })
		panic(http.ErrAbortHandler)
	}
	if len(body) > maxBody {
		_, _ = io.CopyN(io.Discard, r.Body, maxDrain)
		return nil, &refusal{http.StatusRequestEntityTooLarge, "request_too_large", "Request exceeds the maximum size", KindInvalid}
	}
	req := *rec.Request
	req.Body = body
	s.note(func() { rec.Request = &req })
	if err := s.checkHeaders(r.Header); err != nil {
		return nil, err
	}
	if typ, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); typ != "application/json" {
		return nil, invalid("content-type: must be application/json")
	}
	return s.parse(body)
}

// accept completes the Request and checks it against what the server remembers.
func (s *Server) accept(rec *Record, t *tree) (*prefix, error) {
	r, err := newRequest(rec.Request, t)
	if err != nil {
		return nil, err
	}
	r.role = s.roleOf(r)
	list := units(t, s.opts.BytesPerToken)
	r.Tokens = list[len(list)-1].total
	sum := sha256.Sum256(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { rec.Request = r }() // complete from here on, and never changed again
	behind, err := s.memory.check(r, t, s.opts.BindThinking)
	if err != nil {
		return nil, err
	}
	if r.Tokens > t.model.Window {
		return nil, &refusal{http.StatusBadRequest, "invalid_request_error", tooLong(r.Tokens, t.model.Window), KindOverflow}
	}
	r.Attempt = s.attempts[sum]
	s.attempts[sum]++
	return behind, nil
}

// play asks the Player; its panic is the script's fault, not the server's end.
func (s *Server) play(r *Request) (reply Reply, err error) {
	script := func(format string, args ...any) error {
		return &refusal{http.StatusBadRequest, "invalid_request_error", fmt.Sprintf(format, args...), KindScript}
	}
	defer func() {
		if v := recover(); v != nil {
			err = script("modeltest: the script panicked: %v", v)
		}
	}()
	reply = s.opts.Player.Play(r)
	if reply.pass {
		return reply, script("modeltest: the script has no answer for role %q, answer %d, turn %d, prompt %.80q", r.Role(), r.Answers(), r.Turn(), r.Prompt())
	}
	return reply, nil
}

// prepare makes what is sent and books it.
func (s *Server) prepare(rec *Record, t *tree, behind *prefix, reply Reply) *outgoing {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec.Reply = reply
	if reply.Status != 0 {
		if reply.Status == http.StatusBadRequest && strings.Contains(string(reply.Body), "`signature`") {
			s.memory.forgive(rec.Conversation())
		}
		return plain(reply)
	}
	msg := reply.message(rec.Request, baseID(t))
	s.memory.sign(t, behind, &msg)
	msg.Usage = s.cache.account(units(t, s.opts.BytesPerToken), s.opts.Now())
	msg.Usage.Output = outputTokens(msg, s.opts.BytesPerToken)
	msg.Usage.Searches = searchesIn(msg.Content)
	if reply.Usage != nil {
		msg.Usage = *reply.Usage
	}
	rec.Message = msg
	if rec.Stream {
		return streamed(reply, msg)
	}
	return whole(reply, msg)
}

// baseID is a hash of everything said so far; ids made of it differ between requests and not between processes.
func baseID(t *tree) string {
	h := sha256.New()
	t.each(func(b *block) { h.Write(b.canon) })
	return hex.EncodeToString(h.Sum(nil))
}

// note changes a record under the lock.
func (s *Server) note(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// usageJSON is usage as the API writes it.
func usageJSON(u transcript.Usage, output int) map[string]any {
	usage := map[string]any{
		"input_tokens": u.Input, "output_tokens": output,
		"cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite,
		"cache_creation": map[string]int{
			"ephemeral_5m_input_tokens": u.CacheWrite - u.CacheWrite1h, "ephemeral_1h_input_tokens": u.CacheWrite1h,
		},
		"service_tier": "standard",
	}
	if u.Searches > 0 {
		usage["server_tool_use"] = map[string]int{"web_search_requests": u.Searches}
	}
	return usage
}

// messageJSON is a message as the API writes it, with the given content.
func messageJSON(m transcript.Message, content []transcript.Block, usage map[string]any) map[string]any {
	return map[string]any{
		"id": m.ID, "type": "message", "role": "assistant", "model": m.Model, "content": slices.Concat([]transcript.Block{}, content),
		"stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}
}

// ending is what the end of a message says.
func ending(r Reply, m transcript.Message) map[string]any {
	end := map[string]any{"stop_reason": m.StopReason, "stop_sequence": nil}
	if r.StopSequence != "" {
		end["stop_sequence"] = r.StopSequence
	}
	if r.StopDetails != "" {
		end["stop_details"] = map[string]any{"type": "refusal", "category": nil, "explanation": r.StopDetails}
	}
	return end
}
