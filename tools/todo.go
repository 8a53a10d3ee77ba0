package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"flower/agent"
)

//go:embed todo.md
var todoText string

// Todo is one item of a session's to-do list.
type Todo struct {
	Content    string `json:"content"`    // what is to be done
	Status     string `json:"status"`     // pending, in_progress or completed
	ActiveForm string `json:"activeForm"` // the same while it is being done
}

var todoMarks = map[string]string{"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}

// todoWrite replaces the list. The transcript keeps it, since every call and answer holds all of it.
func (b *Box) todoWrite(s *session, _ agent.Spec, _ agent.Env) agent.Tool {
	return agent.Tool{
		ToolSpec: agent.ToolSpec{Name: TodoWrite, Description: todoText, InputSchema: json.RawMessage(`{
"type":"object",
"properties":{
"todos":{"type":"array","description":"The whole list, in order","items":{
"type":"object",
"properties":{
"content":{"type":"string","minLength":1,"description":"What is to be done: Run the tests"},
"status":{"type":"string","enum":["pending","in_progress","completed"]},
"activeForm":{"type":"string","minLength":1,"description":"The same while it is being done: Running the tests"}
},
"required":["content","status","activeForm"],
"additionalProperties":false}}
},
"required":["todos"],
"additionalProperties":false}`)},
		Again: true, Looks: true,
		Run: func(_ context.Context, call agent.Call) (agent.ToolResult, error) {
			var todos []Todo
			p := decode(call.Input)
			p.value("todos", "a list of objects with content, status and activeForm", &todos)
			for i, t := range todos {
				switch {
				case strings.TrimSpace(t.Content) == "":
					p.fail("parameter %q: item %d has no content", "todos", i+1)
				case todoMarks[t.Status] == "":
					p.fail("parameter %q: the status of item %d must be pending, in_progress or completed, not %q", "todos", i+1, clip(t.Status, 40))
				}
			}
			if r, bad := p.bad(); bad {
				return r, nil
			}
			s.mu.Lock()
			s.todos = todos
			s.mu.Unlock()
			return agent.TextResult(listTodos(todos)), nil
		},
	}
}

func listTodos(todos []Todo) string {
	if len(todos) == 0 {
		return "[the list is empty]"
	}
	var out strings.Builder
	done, active := 0, 0
	for _, t := range todos {
		title := t.Content
		switch t.Status {
		case "completed":
			done++
		case "in_progress":
			active++
			if t.ActiveForm != "" {
				title = t.ActiveForm
			}
		}
		fmt.Fprintf(&out, "%s %s\n", todoMarks[t.Status], strings.Join(strings.Fields(title), " "))
	}
	fmt.Fprintf(&out, "[%d of %d done, %d in progress]", done, len(todos), active)
	return out.String()
}

// Todos returns the to-do list of a session as it was last written in this process.
func (b *Box) Todos(key agent.Key) []Todo {
	s := b.session(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.todos)
}
