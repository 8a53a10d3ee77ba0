package modeltest

import (
	"net/http"
	"regexp"
)

// Model is what the server knows of a model.
type Model struct {
	Window    int // tokens of input at most; 0 is 200,000
	MaxOutput int // largest max_tokens; 0 does not limit
	// NoAdaptive refuses thinking of type adaptive.
	NoAdaptive bool
	// Budget accepts thinking with budget_tokens.
	Budget bool
	// Prefill accepts an assistant message at the end of a request.
	Prefill bool
}

const (
	thousand = 1000
	million  = 1000 * thousand
)

// models are the vendor's models, from the documentation as of 2026-11-29. Budgets ended with generation 4.6, adaptive
// thinking and the end of prefill began with it.
var models = map[string]Model{
	"claude-fable-5-2":  {Window: million, MaxOutput: 128 * thousand},
	"claude-fable-5-1":  {Window: million, MaxOutput: 128 * thousand},
	"claude-opus-5-5":   {Window: million, MaxOutput: 128 * thousand},
	"claude-opus-5":     {Window: million, MaxOutput: 128 * thousand},
	"claude-opus-4-8":   {Window: million, MaxOutput: 128 * thousand},
	"claude-opus-4-7":   {Window: million, MaxOutput: 128 * thousand},
	"claude-opus-4-6":   {Window: million, MaxOutput: 128 * thousand, Budget: true},
	"claude-opus-4-5":   {Window: 200 * thousand, NoAdaptive: true, Budget: true, Prefill: true},
	"claude-sonnet-5-5": {Window: million, MaxOutput: 128 * thousand},
	"claude-sonnet-5":   {Window: million, MaxOutput: 128 * thousand},
	"claude-sonnet-4-6": {Window: million, MaxOutput: 128 * thousand, Budget: true},
	"claude-haiku-5-5":  {Window: million, MaxOutput: 128 * thousand},
	"claude-haiku-4-5":  {Window: 200 * thousand, MaxOutput: 64 * thousand, NoAdaptive: true, Budget: true, Prefill: true},
}

var dateSuffix = regexp.MustCompile(`-\d{8}$`)

// model finds a model by its name or by its name without the date of a snapshot.
func (s *Server) model(name string) (Model, bool) {
	m, ok := s.opts.Models[name]
	if !ok {
		m, ok = models[name]
	}
	if !ok {
		m, ok = models[dateSuffix.ReplaceAllString(name, "")]
	}
	if m.Window == 0 {
		m.Window = 200 * thousand
	}
	if s.opts.Window > 0 {
		m.Window = s.opts.Window
	}
	return m, ok
}

// serveModel answers what a model can do. These requests are not recorded: they cost nothing and say nothing.
func (s *Server) serveModel(w http.ResponseWriter, r *http.Request) {
	if err := s.checkHeaders(r.Header); err != nil {
		s.refuse(w, s.arrive(r), err)
		return
	}
	id := r.PathValue("id")
	m, ok := s.model(id)
	if !ok || s.opts.NoModelInfo {
		writeError(w, http.StatusNotFound, "not_found_error", "model: "+id, "req_models")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encode(map[string]any{
		"type": "model", "id": id, "display_name": id, "created_at": "2026-01-01T00:00:00Z",
		"max_input_tokens": m.Window, "max_tokens": m.MaxOutput,
	}))
}
