package modeltest

import (
	"errors"
	"fmt"
	"net/http"
)

// Kind says what sort of fault a Problem is.
type Kind string

// The kinds.
const (
	KindInvalid  Kind = "invalid"  // the request breaks a rule of the API
	KindThinking Kind = "thinking" // a thinking block was changed, or what stands before it
	KindOverflow Kind = "overflow" // the request does not fit the window
	KindSearch   Kind = "search"   // the request offers a search of the web, and Options.NoSearch says there is none
	KindAuth     Kind = "auth"     // no key or a wrong one
	KindScript   Kind = "script"   // the Player has no answer or panicked
)

// Problem is a request that was refused by the server itself, not by the script.
type Problem struct {
	Seq    int // Request.Seq
	Kind   Kind
	Status int
	Text   string // the message the client was sent
}

// String is one line.
func (p Problem) String() string {
	return fmt.Sprintf("request %d: %d %s: %s", p.Seq, p.Status, p.Kind, p.Text)
}

// refusal is an answer of the server instead of the Player's.
type refusal struct {
	status  int
	typ     string
	message string
	kind    Kind
}

func (r *refusal) Error() string { return r.message }

// invalid refuses with the API's words for a faulty request.
func invalid(format string, args ...any) error {
	return &refusal{http.StatusBadRequest, "invalid_request_error", fmt.Sprintf(format, args...), KindInvalid}
}

func badThinking(format string, args ...any) error {
	return &refusal{http.StatusBadRequest, "invalid_request_error", fmt.Sprintf(format, args...), KindThinking}
}

// refuse answers with err and books it as a Problem.
func (s *Server) refuse(w http.ResponseWriter, rec *Record, err error) {
	var r *refusal
	if !errors.As(err, &r) {
		r = &refusal{http.StatusBadRequest, "invalid_request_error", err.Error(), KindInvalid}
	}
	p := Problem{Seq: rec.Seq, Kind: r.kind, Status: r.status, Text: r.message}
	s.mu.Lock()
	rec.Status, rec.Refused, rec.Ended = r.status, r.message, true
	s.problems = append(s.problems, p)
	if r.kind == KindThinking {
		s.memory.forgive(rec.Conversation())
	}
	report := s.report
	s.mu.Unlock()
	if report != nil && (s.opts.Allow == nil || !s.opts.Allow(p)) {
		report(p)
	}
	writeError(w, r.status, r.typ, r.message, requestID(rec.Seq))
}

func requestID(seq int) string { return fmt.Sprintf("req_modeltest%06d", seq) }

func errorBody(typ, message, id string) []byte {
	return encode(map[string]any{
		"type": "error", "error": map[string]string{"type": typ, "message": message}, "request_id": id,
	})
}

func writeError(w http.ResponseWriter, status int, typ, message, id string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", id)
	w.WriteHeader(status)
	_, _ = w.Write(errorBody(typ, message, id))
}
