package main

import (
	"strings"
	"testing"

	"flower/modeltest"
)

// What is typed when a question has just timed out, and what is half typed when the next one comes, answers neither: both
// are remarks. Only what is begun under the next question answers it.
func TestTypedAfterTimeout(t *testing.T) {
	next := modeltest.NewGate()
	script := job(judgeByFiles)
	server := modeltest.Start(t, modeltest.Options{BindThinking: true, Player: modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
		if r.Role() == modeltest.Clarifier && r.Answers() == 1 {
			ask := modeltest.Call("mcp__human__ask", input{"question": "How long?", "options": []string{"short", "long"}})
			return modeltest.Answer(ask).Held(modeltest.Point{}, next)
		}
		if r.Role() == modeltest.Clarifier && r.Answers() > 1 {
			return modeltest.Say(brief)
		}
		return script.Play(r)
	})})
	w := openWindow(t, server, newWorkspace(t), 70, 30, "--clarify-only", "--timeout", "6", "a greeting")
	w.has("2) German")
	w.has("answer>")
	w.has("no answer in time")
	await(t, next.Reached())
	w.enter("1\r") // the person was about to answer
	w.has("+ noted: 1")
	w.enter("2 or ra")
	next.Open()
	w.has("2) long")
	w.enter("ther 1")
	w.has("remark> 2 or rather 1")
	w.enter("\r")
	w.has("answer>")
	w.enter("2\r")
	w.has("answer: long")
	w.has("== done")
	w.ends(0)
	var answers []string
	for _, r := range server.Requests() {
		if r.Role() == modeltest.Clarifier && r.Answers() == 2 {
			for _, asked := range r.Answered("mcp__human__ask") {
				answers = append(answers, asked.Result.PlainText())
			}
		}
	}
	if len(answers) != 2 || strings.Contains(answers[0], "English") || !strings.Contains(answers[1], "long") {
		t.Errorf("the answers that have reached the agent are %q", answers)
	}
}

// Where lines come and go as they are it is the same: what is half typed when a question comes does not answer it, and is said
// to be a remark; what was entered before is one anyway.
func TestHalfTypedOnAPlainTerminal(t *testing.T) {
	asking := modeltest.NewGate()
	script := job(judgeByFiles)
	server := modeltest.Start(t, modeltest.Options{BindThinking: true, Player: modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
		switch {
		case r.Role() == modeltest.Clarifier && r.Answers() == 0:
			ask := modeltest.Call("mcp__human__ask", input{"question": "Delete the old one?", "options": []string{"yes", "no"}})
			return modeltest.Answer(ask).Held(modeltest.Point{}, asking)
		case r.Role() == modeltest.Clarifier:
			return modeltest.Say(brief)
		}
		return script.Play(r)
	})})
	s := startOnTerminal(t, server, newWorkspace(t), "--clarify-only", "a greeting")
	await(t, asking.Reached())
	s.enter("be quick\n")
	s.expect("+ noted: be quick")
	s.enter("yes, delete my")
	s.expect("yes, delete my")
	asking.Open()
	s.expect("2) no")
	s.expect("does not answer it: yes,")
	s.enter(" idea\n")
	s.expect("+ noted: yes, delete my idea")
	s.enter("2\n")
	s.expect("answer: no")
	s.expect("== done")
	s.ends(0)
}
