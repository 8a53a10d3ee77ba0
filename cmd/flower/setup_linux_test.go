package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"flower/modeltest"
)

// settingsOf is the file that setup writes for a flower that works in dir.
func settingsOf(dir string) string {
	return filepath.Join(filepath.Dir(dir), "home", ".config", "flower", ".env")
}

// Without credentials they are asked for, kept, checked, and the run goes on.
func TestFirstRun(t *testing.T) {
	work := slow()
	server, _ := newServer(t, modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
		if r.Says("Say ok.") {
			return modeltest.Say("ok")
		}
		return work.Play(r)
	}))
	dir := newWorkspace(t)
	s := startTerminal(t, server, dir, stageOptions{env: []string{"ANTHROPIC_API_KEY="}}, "--asks", "0", "a greeting")
	s.expect("shown while you type):")
	s.enter("two words\n")
	s.expect("a blank in it")
	s.expect("shown while you type):")
	s.enter(server.Key + "\n")
	s.expect("[" + server.URL + "]")
	s.enter("\n")
	s.expect("How is it sent")
	s.enter("3\n")
	s.expect("must be 1 or 2")
	s.enter("1\n")
	s.expect("Model [claude-opus-5-5]")
	s.enter("\n")
	s.expect("[auto]")
	s.enter("\n")
	s.expect("it works")
	s.expect("== clarify")
	s.enter("\x03")
	s.enter("\x03")
	s.ends(130)
	if strings.Contains(s.shown(), server.Key) {
		t.Error("the key was shown")
	}
	data, err := os.ReadFile(settingsOf(dir))
	want := "ANTHROPIC_API_KEY=" + server.Key + "\nANTHROPIC_BASE_URL=" + server.URL + "\nANTHROPIC_MODEL=claude-opus-5-5\n"
	if err != nil || string(data) != want {
		t.Errorf("kept %q, %v", data, err)
	}
	if info, err := os.Stat(settingsOf(dir)); err == nil && info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v", info.Mode())
	}
	if r := server.Requests()[0]; r.MaxTokens != 16 {
		t.Errorf("the check may use %d tokens", r.MaxTokens)
	}
}

// What is wrong is told apart, by words and exit code.
func TestSetupChecks(t *testing.T) {
	closed := "http://127.0.0.1:1"
	tests := []struct {
		name, key, url, model string
		says                  string
		code                  int
	}{
		{name: "good", key: modeltest.DefaultKey, says: "it works", code: 0},
		{name: "rejected", key: "a-wrong-key", says: "rejects", code: 4},
		{name: "no such model", key: modeltest.DefaultKey, model: "no-such-model", says: "wrong", code: 4},
		{name: "no such place", key: modeltest.DefaultKey, url: "/elsewhere", says: "wrong", code: 4},
		{name: "nobody there", key: modeltest.DefaultKey, url: closed, says: "no network", code: 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := modeltest.Start(t, modeltest.Options{Allow: func(modeltest.Problem) bool { return true }})
			url := server.URL + tt.url
			if tt.url == closed {
				url = closed
			}
			s := startTerminal(t, server, newWorkspace(t), stageOptions{env: []string{"ANTHROPIC_API_KEY=", "ANTHROPIC_BASE_URL=" + url}}, "setup")
			for _, step := range [][2]string{
				{"while you type", tt.key}, {"Address", ""}, {"How is it sent", "2"}, {"Model [", tt.model}, {"[auto]", "200000"},
			} {
				s.expect(step[0])
				s.enter(step[1] + "\n")
			}
			s.expect(tt.says)
			s.ends(tt.code)
		})
	}
}

// Who leaves has changed nothing.
func TestSetupIsLeft(t *testing.T) {
	for name, end := range map[string]struct {
		keys string
		code int
	}{"Ctrl-C": {"\x03", 130}, "Ctrl-D": {"\x04", 4}} {
		t.Run(name, func(t *testing.T) {
			server := modeltest.Start(t, modeltest.Options{})
			dir := newWorkspace(t)
			if err := os.MkdirAll(filepath.Dir(settingsOf(dir)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(settingsOf(dir), []byte("# mine\n"), 0o640); err != nil {
				t.Fatal(err)
			}
			s := startTerminal(t, server, dir, stageOptions{env: []string{"ANTHROPIC_API_KEY="}}, "x")
			s.expect("while you type")
			s.enter("a-key-0123456789\n")
			s.expect("Address")
			s.enter(end.keys)
			s.ends(end.code)
			if data, err := os.ReadFile(settingsOf(dir)); err != nil || string(data) != "# mine\n" {
				t.Errorf("the file has become %q, %v", data, err)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
				t.Errorf("something was written: %v, %v", entries, err)
			}
		})
	}
}

// A word that is nearly a command is asked about. Enter alone decides nothing, no begins nothing and keeps the word, and only
// an explicit word makes it the request.
func TestTypoDecides(t *testing.T) {
	for answer, begins := range map[string]bool{"n": false, "no": false, "\x04": false, "r": true, "stauts": true} {
		server := modeltest.Start(t, modeltest.Options{Player: job(judgeByFiles)})
		s := startOnTerminal(t, server, newWorkspace(t), "--clarify-only", "--asks", "0", "stauts")
		for range 2 {
			s.expect("is no command")
			s.expect("> ")
			s.enter("\n")
		}
		s.expect("is no command")
		if n := len(server.Requests()); n > 0 {
			t.Fatalf("Enter alone has sent %d requests", n)
		}
		if answer != "\x04" {
			answer += "\n"
		}
		s.enter(answer)
		if !begins {
			s.expect("flower -- stauts")
		}
		s.ends(0)
		if n := len(server.Requests()); (n > 0) != begins {
			t.Errorf("%q: %d requests were sent", answer, n)
		}
	}
}

// A word that is nearly a command is that command if the person says so.
func TestTypo(t *testing.T) {
	server := modeltest.Start(t, modeltest.Options{})
	s := startOnTerminal(t, server, newWorkspace(t), "stauts")
	s.expect("is no command")
	s.enter("y\n")
	s.expect("workspace")
	s.ends(0)
	if n := len(server.Requests()); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// What the .env file of a directory says does not get into the person's settings by an empty line, and is not what is
// checked; that it counts here instead is said.
func TestSetupKeepsNothingForeign(t *testing.T) {
	server := modeltest.Start(t, modeltest.Options{})
	dir := newWorkspace(t)
	foreign := "ANTHROPIC_BASE_URL=http://127.0.0.1:1/theirs\nANTHROPIC_API_KEY=their-key-0123456789\nANTHROPIC_MODEL=their-model\nFLOWER_WINDOW=123456\n"
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte(foreign), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startTerminal(t, server, dir, stageOptions{env: []string{"ANTHROPIC_API_KEY="}}, "setup")
	for _, step := range [][2]string{
		{"shown while you type):", server.Key}, {"[" + server.URL + "] (from the", ""}, {"How is it sent", "1"}, {"Model [claude-opus-5-5]:", ""}, {"[auto]:", ""},
	} {
		s.expect(step[0])
		s.enter(step[1] + "\n")
	}
	s.expect("ANTHROPIC_MODEL is also set in")
	s.expect("it works")
	s.ends(0)
	data, err := os.ReadFile(settingsOf(dir))
	want := "ANTHROPIC_API_KEY=" + server.Key + "\nANTHROPIC_BASE_URL=" + server.URL + "\nANTHROPIC_MODEL=claude-opus-5-5\n"
	if err != nil || string(data) != want {
		t.Errorf("kept %q, %v", data, err)
	}
	if strings.Contains(s.shown(), "their-key-0123456789") {
		t.Error("the key of the directory was shown")
	}
}
