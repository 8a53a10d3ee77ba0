package cli

import (
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
