package cli

import (
	"context"

	"flower"
	"flower/agent"
	"flower/transcript"
)

// redacting is a store that no secret gets into: everything with text in it passes here. The workbench's notes and the
// manifest have the same function given to them.
type redacting struct {
	flower.Store
	redact func(string) string
}

// Append implements agent.Log. A call whose input is stored otherwise than it was made counts as begun at once: run
// again from the store it would do something else.
func (r redacting) Append(ctx context.Context, key agent.Key, entries ...transcript.Entry) error {
	clean := make([]transcript.Entry, len(entries))
	var changed []string
	for i, e := range entries {
		out, calls, err := e.Redacted(r.redact)
		if err != nil {
			return err
		}
		clean[i], changed = out, append(changed, calls...)
	}
	for _, id := range changed { // first: a process that dies in between must not leave the call as one that can be run
		if err := r.Begin(ctx, key, id); err != nil {
			return err
		}
	}
	return r.Store.Append(ctx, key, clean...)
}

// SetPrefix implements agent.Log.
func (r redacting) SetPrefix(ctx context.Context, key agent.Key, p agent.Prefix) error {
	p.System = r.redact(p.System)
	return r.Store.SetPrefix(ctx, key, p)
}

// AddNote implements flower.Store.
func (r redacting) AddNote(ctx context.Context, project string, note agent.Note) error {
	note.Text = r.redact(note.Text)
	return r.Store.AddNote(ctx, project, note)
}

// SetAnswer implements flower.Store.
func (r redacting) SetAnswer(ctx context.Context, callID, answer string) error {
	return r.Store.SetAnswer(ctx, callID, r.redact(answer))
}

// withoutKeys takes secrets out of what a person says, and says so: it would be stored, and sent.
func (a *app) withoutKeys(said string) string {
	if a.redact == nil {
		return said
	}
	clean := a.redact(said)
	if clean != said {
		a.marked(a.err, "! ", a.Say("words.redacted"))
	}
	return clean
}
