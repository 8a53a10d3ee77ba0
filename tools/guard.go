package tools

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"flower/agent"
	"flower/transcript"
)

// guarded puts the guards around a tool. From the inside: what is held to reading is checked right before it runs;
// secrets go before anything is written to a file or returned; long results go to files. A crash in a tool or a guard is
// the engine's to catch, for every toolbox.
func (b *Box) guarded(t agent.Tool, spec agent.Spec) agent.Handler {
	var guards []agent.Middleware
	if t.Name == Bash && spec.EphemeralShell {
		guards = append(guards, ephemeral)
	}
	guards = append(guards, redacted(b.opts.Redact))
	if b.opts.Bench != nil && (spills[t.Name] || FromServer(t.Name)) {
		guards = append(guards, spilled(b.spill))
	}
	h := t.Run
	for _, g := range guards {
		h = g(h)
	}
	return h
}

// spill writes a text to the workbench and returns its path as the model should give it to Read.
func (b *Box) spill(text string) (string, error) {
	path, err := b.opts.Bench.Spill(text)
	if err != nil {
		return "", err
	}
	return b.spillPath(path)
}

// spillPath names a spilled file as the model should give it to Read.
func (b *Box) spillPath(path string) (string, error) {
	real, err := follow(filepath.Join(b.opts.Bench.SpillDir(), filepath.Base(path)))
	if err != nil {
		return "", err
	}
	return b.show(real), nil
}

// redacted removes secrets from all texts of a result and makes them valid UTF-8. A nil redact removes nothing.
func redacted(redact func(string) string) agent.Middleware {
	clean := func(s string) string {
		if redact != nil {
			s = redact(s)
		}
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return func(next agent.Handler) agent.Handler {
		return func(ctx context.Context, call agent.Call) (agent.ToolResult, error) {
			r, err := next(ctx, call)
			if err != nil {
				return agent.ToolResult{}, err
			}
			content := make([]transcript.Block, len(r.Content))
			for i, block := range r.Content {
				if block.Type == transcript.TypeText {
					block = transcript.Text(clean(block.Text))
				}
				content[i] = block
			}
			r.Content, r.Display = content, clean(r.Display)
			return r, nil
		}
	}
}

// Figures of spilling: product settings, in characters.
const (
	spillFrom  = 4000 // results of this length or more go to a file
	spillShown = 400  // what stays of them
	// statusMax is the longest last line that stays too: the status line of a tool, which says how the call ended.
	statusMax = 400
)

// spills names the tools whose results go to files. Read is not among them: it would move what was just asked for, and
// reading the file it went to would move that again. Its own bounds hold. Bash does it itself, while the output comes.
var spills = map[string]bool{Grep: true, Glob: true, WebFetch: true, Agent: true}

var errSpill = errors.New("a long result could not be written to the workbench")

// spilled writes long results to files with spill, which returns the path, and leaves a pointer. If that fails the
// beginning stays with a remark: the rest is not worth a run, and a conversation must not grow without bound.
func spilled(spill func(text string) (string, error)) agent.Middleware {
	return func(next agent.Handler) agent.Handler {
		return func(ctx context.Context, call agent.Call) (agent.ToolResult, error) {
			r, err := next(ctx, call)
			if err != nil {
				return r, err
			}
			var texts []string
			var rest []transcript.Block
			for _, block := range r.Content {
				if block.Type == transcript.TypeText {
					texts = append(texts, block.Text)
				} else {
					rest = append(rest, block)
				}
			}
			all := strings.Join(texts, "\n")
			chars := utf8.RuneCountInString(all)
			if chars < spillFrom {
				return r, nil
			}
			where := errSpill.Error() + "; ask again for less"
			if path, err := spill(all); err == nil {
				where = fmt.Sprintf("all %d characters (%s) are in %s: Read it with offset and limit", chars, plural(countLines(all), "line"), path)
			}
			short := fmt.Sprintf("[long result: %s. It begins:]\n%s …", where, string([]rune(all)[:spillShown]))
			if status := lastLine(all); strings.HasPrefix(status, "[") && utf8.RuneCountInString(status) <= statusMax {
				short += "\n" + status
			}
			if r.Display == "" {
				r.Display = string([]rune(all)[:spillShown]) + " …"
			}
			r.Content = append([]transcript.Block{transcript.Text(short)}, rest...)
			return r, nil
		}
	}
}
