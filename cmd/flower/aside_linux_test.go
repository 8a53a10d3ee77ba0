package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"flower"
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

// While an answer is waited for at the end, a remark is kept with a receipt for the next wake, and no question is taken. What the
// side question has cost is said by its own name, and the rest is what the books say of the work.
func TestRemarkWhileASideQuestionIsWaitedFor(t *testing.T) {
	asked, judged := modeltest.NewGate(), modeltest.NewGate()
	script := job(modeltest.Say(achieved))
	s := &stage{dir: newWorkspace(t)}
	s.server = modeltest.Start(t, modeltest.Options{BindThinking: true, Player: modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
		switch {
		case r.Role() == modeltest.Oracle:
			return modeltest.Say("It is done.").Held(modeltest.Point{}, asked)
		case r.Role() == modeltest.Judge:
			return script.Play(r).Held(modeltest.Point{}, judged)
		}
		return script.Play(r)
	})})
	s.terminal = startTerminal(t, s.server, s.dir, stageOptions{}, "--asks", "0", "a greeting")
	s.reached(judged.Reached())
	s.enter("?how far is it\n")
	s.reached(asked.Reached())
	judged.Open()
	s.expect("still being")
	s.enter("be quick about it\n")
	s.expect("noted")
	s.enter("?and now\n")
	s.expect("not asked")
	asked.Open()
	s.expect("It is done.")
	s.expect("== done")
	s.expect("side questions")
	s.expect("a remark has not reached")
	s.gone(0, patience)
	work, side := 0.0, 0.0
	for path, sum := range map[string]*float64{"runs/manifest.json": &work, "runs/aside/manifest.json": &side} {
		rows, err := flower.ReadManifest(filepath.Join(s.dir, filepath.Dir(path)))
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			*sum += row.CostUSD
		}
	}
	closing := strings.Join(strings.Fields(s.shown()), " ")
	if want := fmt.Sprintf("== done · $%.4f · side questions $%.4f · ", work, side); side == 0 || !strings.Contains(closing, want) {
		t.Errorf("not %q:\n%s", want, closing)
	}
	s.terminal = startTerminal(t, s.server, s.dir, stageOptions{}, "--asks", "0")
	s.expect("Go on")
	s.enter("\n")
	s.expect("your remark has reached")
	s.gone(0, patience)
	s.checkRemark("be quick about it")
}
