package tools

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"flower/agent"
	"flower/internal/proc"
	"flower/internal/workbench"
)

// rooms is an Isolation of directories below one.
type rooms struct {
	dir  string
	fail error
	left []string
}

func (r *rooms) Enter(_ context.Context, id, _ string) (dir, note string, err error) {
	if r.fail != nil {
		return "", "", r.fail
	}
	dir = filepath.Join(r.dir, "worktrees", id)
	return dir, "note for " + id, os.MkdirAll(dir, 0o755)
}

func (r *rooms) Dir(id string) (string, error) { return filepath.Join(r.dir, "worktrees", id), r.fail }

func (r *rooms) Leave(_ context.Context, id string) string {
	r.left = append(r.left, id)
	return "left " + id
}

// TestIsolated: a subagent writes in its directory and on the workbench, and neither in the workspace nor beside.
func TestIsolated(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // the directory of the test is no place for temporary files then
	var bench *workbench.Bench
	f := newFixture(t, func(o *Options) {
		bench = workbench.OpenAt(o.Workspace, workbench.OutsideDir(o.Workspace))
		o.Bench, o.Commands = bench, &proc.Supervisor{}
		t.Cleanup(o.Commands.Close)
	})
	if err := bench.Create(); err != nil {
		t.Fatal(err)
	}
	r := &rooms{dir: bench.Dir()}
	box := Isolate(f.box, r)
	key := agent.Key{Project: "p", Session: "s"}
	worker := agent.Spec{Name: "worker", Tools: []string{Write, Bash}}
	prompt, cut := "", error(nil)
	tools := func(spec agent.Spec, env agent.Env) map[string]agent.Tool {
		t.Helper()
		list, err := box.Tools(spec, env)
		if err != nil {
			t.Fatal(err)
		}
		byName := map[string]agent.Tool{}
		for _, tool := range list {
			byName[tool.Name] = tool
		}
		return byName
	}
	coordinator := tools(agent.Spec{Name: "coordinator", Tools: []string{Agent}, Subagents: []agent.Spec{worker}}, agent.Env{
		Key: key, Spawn: func(_ context.Context, s agent.Spawn) (agent.ToolResult, error) {
			prompt = s.Prompt
			return agent.TextResult(strings.Repeat("long report\n", 2000)), cut
		},
	})
	call := func() (agent.ToolResult, error) {
		return coordinator[Agent].Run(t.Context(), agent.Call{ID: "c", Key: key, Input: []byte(`{"description":"d","prompt":"do it"}`)})
	}
	id := agent.SubagentID(key, "c")
	res, err := call()
	if err != nil {
		t.Fatal(err)
	}
	if prompt != "note for "+id+"\n\ndo it" || lastLine(res.Content[0].PlainText()) != "[left "+id+"]" {
		t.Errorf("prompt %q, result ends with %q", prompt, lastLine(res.Content[0].PlainText()))
	}

	mine := tools(worker, agent.Env{Key: key.Sub(id)})
	for path, allowed := range map[string]bool{
		"a.txt": true, filepath.Join(bench.Artifacts(), "a.txt"): true, filepath.Join(f.dir, "a.txt"): false,
		filepath.Join(bench.Dir(), "worktrees", "other", "a.txt"): false, filepath.Join(bench.Dir(), "worktrees", id+".json"): false,
		"../other/a.txt": false, filepath.Join(bench.Notes(), "a.md"): false,
	} {
		res, err := mine[Write].Run(t.Context(), agent.Call{ID: "w", Key: key.Sub(id), Input: []byte(`{"file_path":"` + path + `","content":"x"}`)})
		if err != nil || res.IsError == allowed {
			t.Errorf("write %s: %v, %v", path, res.Content, err)
		}
	}
	if _, err := os.Stat(filepath.Join(r.dir, "worktrees", id, "a.txt")); err != nil {
		t.Error(err)
	}
	res, err = mine[Bash].Run(t.Context(), agent.Call{ID: "b", Key: key.Sub(id), Input: []byte(`{"command":"pwd"}`)})
	if err != nil || !strings.Contains(res.Content[0].PlainText(), filepath.Join("worktrees", id)) {
		t.Errorf("pwd: %v, %v", res.Content, err)
	}

	// One that is cut off has not left; one that cannot enter is not started.
	r.left, cut = nil, errors.New("cut off")
	if _, err := call(); !errors.Is(err, cut) || len(r.left) > 0 {
		t.Errorf("cut off: %v, left %v", err, r.left)
	}
	prompt, r.fail = "", errors.New("git is out of order")
	if res, err = call(); err != nil || !res.IsError || prompt != "" {
		t.Errorf("started without a directory: %v, %v", res.Content, err)
	}
	if _, err := box.Tools(worker, agent.Env{Key: key.Sub(id)}); err == nil {
		t.Error("tools without a directory: they would change the workspace")
	}
}
