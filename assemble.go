package flower

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"flower/agent"
	"flower/document"
	"flower/internal/workbench"
	"flower/transcript"
)

// Bounds of a document that is put together without a model, in characters: it must fit wherever a session fits at all.
const (
	assembledPart = 1500 // of a quoted text
	assembledLine = 160
	assembledList = 20 // lines of a list
)

// assemble makes a handoff document out of what is stored, without a model. It is always small: quotations and lists are
// cut, and of an earlier document only what was decided and what led nowhere is taken over. What was said in vain to get a
// document, from the entry asked on, does not count: its successor would take it for its own orders.
func (rt *Runtime) assemble(
	ctx context.Context, name string, req agent.Request, pending bool, asked string,
) (document.Handoff, error) {
	lines, err := rt.opts.Store.Load(ctx, req.Key)
	if err != nil {
		return document.Handoff{}, fmt.Errorf("load session %s: %w", req.Key.Session, err)
	}
	entries, _ := transcript.ParseHistory(lines)
	if i := slices.IndexFunc(entries, func(e transcript.Entry) bool { return e.UUID == asked }); i >= 0 {
		entries = entries[:i]
	}
	seen := trace(entries, req.Key.SubPath)
	said := seen.said
	if pending {
		said = req.Prompt
	}
	log, _ := readNote(rt.bench.NotePath(workbench.QuestionLog))
	before := document.Handoff{}
	if text, ok := readNote(rt.bench.NotePath(workbench.HandoffNote(name))); ok {
		before = document.ParseHandoff(text)
	}
	return document.Handoff{
		Doing:    rt.text("assembled.doing", map[string]any{"Said": quote(said), "Answered": quote(seen.answered), "Todo": seen.todo}),
		Decided:  rt.text("assembled.decided", map[string]any{"Decided": quote(before.Decided), "Questions": quote(tail(log))}),
		DeadEnds: rt.text("assembled.deadends", map[string]any{"DeadEnds": quote(before.DeadEnds)}),
		Next:     rt.text("assembled.next", nil),
		Scene: rt.text("assembled.scene", map[string]any{
			"Tasks": seen.tasks, "Files": seen.files, "Session": req.Key.Session,
		}),
	}, nil
}

// traces is what a history shows of the work without being understood.
type traces struct {
	said, answered     string   // the last texts of the person's side and of the model
	todo, tasks, files []string // the last list of things to do, tasks handed out, files changed; each line bounded
}

func trace(entries []transcript.Entry, agentPath string) traces {
	var t traces
	failed := make(map[string]bool)
	for _, e := range entries {
		if e.Message == nil || e.IsSidechain != (agentPath != "") {
			continue
		}
		text := strings.TrimSpace(e.Message.PlainText())
		switch {
		case text == "":
		case e.Message.Role == transcript.RoleAssistant:
			t.answered = text
		default:
			t.said = text
		}
		for _, b := range e.Message.Content {
			if b.Type == transcript.TypeToolResult && b.IsError {
				failed[b.ToolUseID] = true
			}
		}
	}
	for _, e := range entries {
		if e.Message == nil {
			continue
		}
		for _, call := range e.Message.ToolUses() {
			t.note(call, failed[call.ID])
		}
	}
	t.tasks, t.files = newest(t.tasks), newest(t.files)
	return t
}

// note keeps what a call says about the work.
func (t *traces) note(call transcript.Block, failed bool) {
	var in struct {
		Path     string `json:"file_path"`
		Notebook string `json:"notebook_path"`
		Title    string `json:"description"`
		Todos    []struct {
			Content string `json:"content"`
			Status  string `json:"status"`
		} `json:"todos"`
	}
	if json.Unmarshal(call.Input, &in) != nil {
		return
	}
	switch call.Name {
	case toolWrite, toolEdit, toolNotebook:
		path := line(in.Path + in.Notebook)
		t.files = append(slices.DeleteFunc(t.files, func(f string) bool { return f == path }), path)
	case toolAgent:
		if failed {
			in.Title += " (failed)"
		}
		t.tasks = append(t.tasks, line(in.Title))
	case toolTodo:
		t.todo = nil
		for _, item := range in.Todos {
			t.todo = append(t.todo, line("["+item.Status+"] "+item.Content))
		}
		t.todo = t.todo[:min(len(t.todo), assembledList)]
	}
}

func newest(list []string) []string { return list[max(0, len(list)-assembledList):] }

// line is a text on one bounded line.
func line(s string) string {
	runes := []rune(oneLine(s))
	if len(runes) > assembledLine {
		return string(runes[:assembledLine]) + "…"
	}
	return string(runes)
}

// tail is the bounded end of a text.
func tail(s string) string {
	runes := []rune(strings.TrimSpace(s))
	if len(runes) > assembledPart {
		return "…" + string(runes[len(runes)-assembledPart:])
	}
	return string(runes)
}

// quote is the bounded beginning of a text as a quotation, in which no line can pass for a heading of the document.
func quote(s string) string {
	runes := []rune(strings.TrimSpace(s))
	if len(runes) == 0 {
		return ""
	}
	if len(runes) > assembledPart+1 { // one more for the mark of tail
		runes = append(runes[:assembledPart:assembledPart], '…')
	}
	return "> " + strings.ReplaceAll(string(runes), "\n", "\n> ")
}
