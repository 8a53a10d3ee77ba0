package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"flower/modeltest"
)

// curious is a slow job with an oracle that says what it has been told.
func curious() modeltest.Player {
	script := slow()
	return modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
		if r.Role() != modeltest.Oracle {
			return script.Play(r)
		}
		if !r.Says("goal of 3 checks") {
			return modeltest.Say("I was told nothing of the goal.")
		}
		return modeltest.Say("It thinks about two files.")
	})
}

// A question mark asks beside the work, which goes on; its books are its own.
func TestSideQuestion(t *testing.T) {
	server, working := newServer(t, curious())
	dir := newWorkspace(t)
	w := openWindow(t, server, dir, 60, 24, "--asks", "0", "x")
	await(t, working)
	w.enter("?what is it doing\r")
	w.has("It thinks about two files.")
	w.enter("？然后呢\r")
	w.has("然后呢 ($")
	w.enter("\x03")
	w.has("Say something")
	w.enter("be quick\r")
	w.has("== done")
	w.ends(0)
	w.restored()
	oracles := 0
	for _, r := range server.Requests() {
		switch {
		case r.Role() == modeltest.Oracle:
			oracles++
		case r.Says("what is it doing"):
			t.Errorf("the side question has reached the %s", r.Role())
		}
	}
	if oracles != 2 {
		t.Errorf("%d requests of the oracle", oracles)
	}
	for path, has := range map[string]bool{"runs/aside/manifest.json": true, "runs/manifest.json": false} {
		data, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil || strings.Contains(string(data), "旁问") != has {
			t.Errorf("%s: %v\n%s", path, err, data)
		}
	}
}
