package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"flower/modeltest"
)

// On a terminal the person is asked, answers, interrupts, says something, and the same session goes on.
func TestTerminal(t *testing.T) {
	server, working := newServer(t, slow())
	dir := newWorkspace(t)
	s := startOnTerminal(t, server, dir)
	s.expect("What do you want done?")
	s.enter("\n") // nothing said: asked again
	s.expect("What do you want done?")
	s.enter("a greeting\n")
	s.expect(strings.Repeat("?", 40))
	s.expect("2) German")
	s.enter("2\n")
	s.expect("answer: German")
	s.expect("== work ")
	await(t, working)
	s.enter("\x03")
	s.expect("Interrupted. Say something")
	s.enter("be quick about it\n")
	s.expect("Two files, two workers.")
	s.expect("== done")
	s.ends(0)
	if strings.Contains(s.shown(), "goroutine") {
		t.Error("a stack trace")
	}
	manifest, err := os.ReadFile(filepath.Join(dir, "runs", "manifest.json"))
	if err != nil || strings.Contains(string(manifest), "#retry") {
		t.Errorf("an interrupt has used up a retry, or %v", err)
	}
	said := false
	for _, r := range server.Requests() {
		said = said || r.Role() == modeltest.Coordinator && r.Says("be quick about it")
	}
	if !said {
		t.Error("what was said has not reached the agent")
	}
}

// The second Ctrl-C ends the program at once.
func TestSecondInterrupt(t *testing.T) {
	server, working := newServer(t, slow())
	s := startOnTerminal(t, server, newWorkspace(t), "--asks", "0", "x")
	await(t, working)
	s.enter("\x03")
	s.expect("Interrupted. Say something")
	s.enter("\x03")
	s.ends(130)
}

// At a prompt, where nothing runs yet, the first one does.
func TestInterruptAtThePrompt(t *testing.T) {
	server := modeltest.Start(t, modeltest.Options{})
	dir := newWorkspace(t)
	s := startOnTerminal(t, server, dir)
	s.expect("> ")
	s.enter("\x03")
	s.ends(130)
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("something was written: %v, %v", entries, err)
	}
}

// A terminal that is closed ends the program like SIGHUP; it is gone on with later.
func TestClosedTerminal(t *testing.T) {
	server, working := newServer(t, slow())
	s := startOnTerminal(t, server, newWorkspace(t), "--asks", "0", "x")
	await(t, working)
	if err := s.master.Close(); err != nil {
		t.Fatal(err)
	}
	s.ends(129)
}

// newServer starts a server and a channel that is closed when the coordinator has asked it for the first time.
func newServer(t *testing.T, player modeltest.Player) (*modeltest.Server, <-chan struct{}) {
	t.Helper()
	var once sync.Once
	asked := make(chan struct{})
	server := modeltest.Start(t, modeltest.Options{Player: player, BindThinking: true, OnRequest: func(r *modeltest.Request) {
		if r.Role() == modeltest.Coordinator {
			once.Do(func() { close(asked) })
		}
	}})
	return server, asked
}

func await(t *testing.T, asked <-chan struct{}) {
	t.Helper()
	select {
	case <-asked:
	case <-time.After(30 * time.Second):
		t.Fatal("no request has come")
	}
}

// What is no command begins nothing at a prompt; /new with words puts the history aside and begins with them.
func TestNewWithWords(t *testing.T) {
	server, _ := newServer(t, job(judgeByFiles))
	dir := newWorkspace(t)
	s := startOnTerminal(t, server, dir, "--clarify-only", "--asks", "0")
	s.expect("What do you want done?")
	for said, why := range map[string]string{"/staus": "is no command", "?what is this": "nothing is at work yet"} {
		s.enter(said + "\n")
		s.expect(why)
		s.expect("What do you want done?")
	}
	if n := len(server.Requests()); n > 0 {
		t.Fatalf("%d requests were sent", n)
	}
	s.enter("a greeting\n")
	s.ends(0)
	s = startOnTerminal(t, server, dir, "--clarify-only", "--asks", "0")
	s.expect("Go on?")
	s.enter("/help me\n")
	s.expect("no command")
	s.expect("Go on?")
	s.enter("/new a farewell\n")
	s.expect("put aside")
	s.ends(0)
	said := false
	for _, r := range server.Requests() {
		if r.Says("/new") || r.Says("/help") || r.Says("what is this") {
			t.Error("a command has reached an agent")
		}
		said = said || r.Says("a farewell") && !r.Says("a greeting")
	}
	if !said {
		t.Error("the job has not begun with the words")
	}
}
