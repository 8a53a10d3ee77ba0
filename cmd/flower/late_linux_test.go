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
