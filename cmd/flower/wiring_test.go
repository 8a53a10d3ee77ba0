package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"flower"
	"flower/agent"
	"flower/modeltest"
	"flower/sqlite"
	"flower/transcript"
)

// wired runs one agent with a shell in a directory and returns the results that the model was told, by their calls.
func wired(t *testing.T, dir string, setUp func(dir string), calls ...transcript.Block) (told map[string]transcript.Block, server *modeltest.Server) {
	t.Helper()
	server = modeltest.Start(t, modeltest.Options{Player: modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
		if r.Turn() == 0 && r.Prompts() == 1 {
			return modeltest.Answer(calls...)
		}
		return modeltest.Say("done")
	})})
	setUp(dir)
	cmd := exec.Command(build(t), "once", "-w", dir, "-r", filepath.Join(dir, "runs"), "-W", "-p", "bypassPermissions", "-t", "Bash,Read,Glob,Grep", "go on")
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=" + server.Key,
		"SOME_TOKEN=not-for-commands", "HARMLESS=for-commands",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if strings.Contains(string(out), server.Key) {
		t.Errorf("the key is on the screen:\n%s", out)
	}
	requests := server.Requests()
	told = map[string]transcript.Block{}
	for _, o := range requests[len(requests)-1].Calls() {
		told[o.Call.Name+" "+string(o.Call.Input)] = o.Result
	}
	return told, server
}

// TestNothingLeaks plants the key in use in environment, files and flower's own books, and lets an agent look everywhere.
func TestNothingLeaks(t *testing.T) {
	dir := t.TempDir()
	told, server := wired(t, dir, func(dir string) {
		for name, text := range map[string]string{"notes.txt": "see " + modeltest.DefaultKey + " here\n", ".env": "ANTHROPIC_API_KEY=" + modeltest.DefaultKey + "\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	},
		modeltest.Call("Bash", input{"command": "env", "description": "look"}),
		modeltest.Call("Bash", input{"command": "cat notes.txt .env", "description": "look"}),
		modeltest.Call("Read", input{"file_path": "notes.txt"}),
		modeltest.Call("Grep", input{"pattern": "see|KEY", "output_mode": "content"}),
		modeltest.Call("Read", input{"file_path": "runs/sessions.db"}),
		modeltest.Call("Glob", input{"pattern": "runs/*"}),
	)
	if len(told) != 6 {
		t.Fatalf("%d results", len(told))
	}
	for call, result := range told {
		text := result.PlainText()
		switch {
		case strings.Contains(text, server.Key), strings.Contains(text, "not-for-commands"):
			t.Errorf("%s told a secret: %s", call, text)
		case strings.Contains(call, `"env"`) && !strings.Contains(text, "for-commands"):
			t.Errorf("the environment lacks what is harmless: %s", text)
		case strings.Contains(call, "sessions.db") && !result.IsError:
			t.Errorf("flower's books were read: %s", text)
		case strings.Contains(call, "runs/*") && strings.Contains(text, "sessions.db"):
			t.Errorf("flower's books were listed: %s", text)
		case strings.Contains(call, "notes.txt") && !strings.Contains(text, "see "):
			t.Errorf("%s: %s", call, text)
		}
	}
	err := filepath.WalkDir(filepath.Join(dir, "runs"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), server.Key) {
			t.Errorf("%s holds the key", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestEntriesSayWhere: the branch and the directory are in what is stored.
func TestEntriesSayWhere(t *testing.T) {
	dir, err := flower.ResolveWorkspace(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	wired(t, dir, func(dir string) {
		if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".git", "HEAD"), []byte("ref: refs/heads/topic/one\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}, modeltest.Call("Glob", input{"pattern": "*"}))
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "runs", "sessions.db"), sqlite.Options{Workspace: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	sessions, err := store.Sessions(t.Context(), flower.ProjectKey(dir))
	if err != nil || len(sessions) != 1 {
		t.Fatalf("%d sessions, %v", len(sessions), err)
	}
	lines, err := store.Load(t.Context(), agent.Key{Project: flower.ProjectKey(dir), Session: sessions[0].ID})
	if err != nil {
		t.Fatal(err)
	}
	entries, _ := transcript.ParseHistory(lines)
	if len(entries) != 4 {
		t.Fatalf("%d entries", len(entries))
	}
	for _, e := range entries {
		if e.GitBranch != "topic/one" || e.CWD != dir || e.Version == "" || e.SessionID != sessions[0].ID {
			t.Errorf("entry: %s", fmt.Sprintf("%+v", e))
		}
	}
}
