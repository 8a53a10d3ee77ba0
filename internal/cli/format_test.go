package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"flower"
	"flower/agent"
	"flower/internal/config"
)

func TestFormats(t *testing.T) {
	for got, want := range map[string]string{
		tilde("/home/me", "/home/me"): "~", tilde("/home/me/a", "/home/me/"): "~/a", tilde("/home/meme", "/home/me"): "/home/meme", tilde("/a", ""): "/a",
		firstLine("\n  a  b\nc"): "a b", lastLine("a\nb \n\n"): "b",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestExitCodes(t *testing.T) {
	tests := []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("anything"), 1},
		{&flower.StepError{Step: "x", Err: &flower.Abort{Reason: "no"}}, 1},
		{&agent.LimitError{CostUSD: 1, Agent: "worker"}, 1},
		{&agent.LimitError{Turns: 1, Agent: "worker"}, 1},
		{&agent.ModelError{Kind: agent.Fatal, Status: 400}, 1},
		{&agent.ModelError{Kind: agent.Overflow, Status: 400}, 1},
		{&usageError{errors.New("x")}, 2},
		{flower.ErrNothingToDo, 2},
		{&flower.StepError{Step: "x", Err: &flower.Abort{Reason: "no", ForPerson: true}}, 3},
		{&flower.StepError{Step: "x", Err: &agent.LimitError{CostUSD: 1}}, 3},
		{config.ErrNoCredentials, 4},
		{&config.ValueError{}, 4},
		{&config.FileError{}, 4},
		{fmt.Errorf("the judge could not decide: %w", &agent.ModelError{Kind: agent.Fatal, Status: 401}), 4},
		{&agent.ModelError{Kind: agent.Fatal, Status: 404, Type: "not_found_error"}, 4},
		{&agent.ModelError{Kind: agent.Fatal, Type: "permission_error"}, 4},
		{&agent.ModelError{Kind: agent.Transient, Status: 529}, 5},
		{&agent.ModelError{Kind: agent.Transient}, 5},
		{&agent.ModelError{Kind: agent.Unknown}, 5},
		{&agent.ModelError{Kind: agent.Unknown, Status: 600}, 1},
		{&flower.StepError{Step: "x", Err: flower.ErrInterrupted}, 130},
		{errors.Join(&stopError{143}, errors.New("x")), 143},
	}
	listed := ""
	for _, c := range exitCodes {
		listed += c.codes + ", "
	}
	for _, tt := range tests {
		got := codeOf(tt.err)
		if got != tt.want {
			t.Errorf("%v: code %d, want %d", tt.err, got, tt.want)
		}
		if !strings.Contains(", "+listed, fmt.Sprintf(", %d, ", got)) {
			t.Errorf("code %d is not in the table of help", got)
		}
	}
}

func TestGitBranch(t *testing.T) {
	dir := t.TempDir()
	write := func(path, content string) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("repo/.git/HEAD", "ref: refs/heads/feature/shop\n")
	write("repo/a/b/x", "")
	write("detached/.git/HEAD", "0123456789abcdef\n")
	write("linked/.git", "gitdir: ../repo/.git/worktrees/linked\n")
	write("repo/.git/worktrees/linked/HEAD", "ref: refs/heads/other\n")
	write("odd/.git", "nothing known")
	write("plain/x", "")
	for where, want := range map[string]string{
		"repo": "feature/shop", "repo/a/b": "feature/shop", "detached": "", "linked": "other", "odd": "", "plain": "",
	} {
		if got := gitBranch(filepath.Join(dir, where))(); got != want {
			t.Errorf("%s: branch %q, want %q", where, got, want)
		}
	}
}

type noTools struct{}

func (noTools) Tools(spec agent.Spec, _ agent.Env) ([]agent.Tool, error) {
	var list []agent.Tool
	for _, name := range spec.Tools {
		list = append(list, agent.Tool{ToolSpec: agent.ToolSpec{Name: name}, Run: func(context.Context, agent.Call) (agent.ToolResult, error) {
			return agent.TextResult(fmt.Sprint("held to reading: ", spec.EphemeralShell)), nil
		}})
	}
	return list, nil
}

func TestPermissionModes(t *testing.T) {
	for mode, want := range map[string]string{
		modeDefault: "denied denied held", modePlan: "denied denied held", modeEdits: "runs runs held", modeBypass: "runs runs free",
	} {
		list, err := permitted{noTools{}, mode}.Tools(agent.Spec{Tools: []string{"Write", "Edit", "Bash"}}, agent.Env{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, tool := range list {
			r, err := tool.Run(t.Context(), agent.Call{})
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case r.Denied:
				got = append(got, "denied")
			case tool.Name != "Bash":
				got = append(got, "runs")
			case strings.Contains(resultText(r), "true"):
				got = append(got, "held")
			default:
				got = append(got, "free")
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s, want %s", mode, s, want)
		}
	}
}
