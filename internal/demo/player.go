package demo

import (
	"fmt"
	"strings"

	"flower/modeltest"
)

// The program that is built. The first version lacks what the judge then asks for.
const (
	firstProgram = `#!/bin/sh
# desc: print the number of words of a file
tr -s '[:space:]' '\n' <"$1" | grep -c .
`
	oldLine = `tr -s`
	check   = `[ -f "$1" ] || { echo "count.sh: no such file: $1" >&2; exit 2; }
tr -s`
	sample = "The quick brown fox\njumps over the lazy dog\n"
)

// play is the model: what it answers depends on nothing but the request, so that it goes on sensibly after a crash.
func (d *demo) play(r *modeltest.Request) modeltest.Reply {
	return d.script().Play(r).Paced(d.opts.Pace)
}

func (d *demo) script() modeltest.Script {
	w := d.words
	return append(d.workers(), modeltest.Script{
		{Role: modeltest.Clarifier, Plan: []modeltest.Player{
			modeltest.Answer(modeltest.Think(w.think), modeltest.Text(w.look), modeltest.Call("Glob", input{"pattern": "*"})),
			modeltest.Answer(modeltest.Call("mcp__human__ask", input{"question": w.question1, "options": w.options1})),
			modeltest.Answer(modeltest.Call("mcp__human__ask", input{"question": w.question2, "options": w.options2})),
			modeltest.PlayerFunc(d.brief),
		}},
		{Role: modeltest.GoalSetter, Plan: []modeltest.Player{
			modeltest.Answer(modeltest.Call("Bash", input{"command": "ls -la && command -v sh tr grep", "description": w.lookAround})),
			modeltest.Say(w.goal),
		}},
		{Role: modeltest.Coordinator, Plan: []modeltest.Player{
			modeltest.Answer(modeltest.Text(w.plan), modeltest.Call("TodoWrite", todos(w, 0))),
			modeltest.Answer(
				modeltest.Call("Agent", input{"description": w.title1, "prompt": w.task1, "subagent_type": "worker"}),
				modeltest.Call("Agent", input{"description": w.title2, "prompt": w.task2, "subagent_type": "worker"}),
			),
			modeltest.Answer(modeltest.Call("Bash", input{"command": "ls -l && cat README.md", "description": w.lookAround})),
			modeltest.Say(w.report1),
			modeltest.Answer(
				modeltest.Text(w.plan2), modeltest.Call("TodoWrite", todos(w, 2)),
				modeltest.Call("Agent", input{"description": w.title3, "prompt": w.task3, "subagent_type": "worker"}),
			),
			modeltest.Answer(modeltest.Call("TodoWrite", todos(w, 3)), modeltest.Call("mcp__human__inbox", input{})),
			modeltest.Say(w.report2),
		}},
		{Role: modeltest.Judge, Plan: []modeltest.Player{
			modeltest.Answer(
				modeltest.Call("Bash", input{"command": "./count.sh sample.txt", "description": w.check1}),
				modeltest.Call("Bash", input{"command": `./count.sh missing.txt; echo "exit code: $?"`, "description": w.check2}),
				modeltest.Call("Read", input{"file_path": "README.md"}),
			),
			modeltest.PlayerFunc(d.verdict),
		}},
	}...)
}

// workers plays one worker for each task.
func (d *demo) workers() modeltest.Script {
	w := d.words
	about := func(task string) func(*modeltest.Request) bool {
		return func(r *modeltest.Request) bool { return strings.Contains(r.FirstUser(), task) }
	}
	return modeltest.Script{
		{Role: modeltest.Worker, When: about(w.task1), Plan: []modeltest.Player{
			modeltest.Answer(modeltest.Call("Write", input{"file_path": "count.sh", "content": firstProgram})),
			d.together(modeltest.Answer(modeltest.Call("Bash", input{
				"command": `chmod +x count.sh && printf 'one two  three\n' >.try.txt && ./count.sh .try.txt; rm -f .try.txt`, "description": w.tryIt,
			}))),
			modeltest.Say(w.done1),
		}},
		{Role: modeltest.Worker, When: about(w.task2), Plan: []modeltest.Player{
			modeltest.Answer(
				modeltest.Call("Write", input{"file_path": "sample.txt", "content": sample}),
				modeltest.Call("Write", input{"file_path": "README.md", "content": w.readme}),
			),
			modeltest.Answer(modeltest.Call("Bash", input{"command": "wc -w sample.txt", "description": w.tryIt})),
			modeltest.Say(w.done2),
		}},
		{Role: modeltest.Worker, When: about(w.task3), Plan: []modeltest.Player{
			modeltest.Answer(modeltest.Call("Read", input{"file_path": "count.sh"})),
			modeltest.Answer(modeltest.Call("Edit", input{"file_path": "count.sh", "old_string": oldLine, "new_string": check})),
			modeltest.Answer(modeltest.Call("Bash", input{"command": `./count.sh sample.txt; ./count.sh missing.txt; echo "exit code: $?"`, "description": w.tryIt})),
			modeltest.Say(w.done3),
		}},
	}
}

// input is a tool's input.
type input = map[string]any

// todos is the plan with the first done items ticked off.
func todos(w *words, done int) input {
	var list []input
	for i, item := range w.todo {
		status := "pending"
		switch {
		case i < done:
			status = "completed"
		case i == done || done == 0 && i < 2:
			status = "in_progress"
		}
		list = append(list, input{"content": item, "activeForm": item, "status": status})
	}
	return input{"todos": list}
}

// brief writes the requirements from what was really answered.
func (d *demo) brief(r *modeltest.Request) modeltest.Reply {
	var said []string
	for _, asked := range r.Answered("mcp__human__ask") {
		said = append(said, strings.TrimSpace(asked.Result.PlainText()))
	}
	for len(said) < 2 {
		said = append(said, d.words.noAnswer)
	}
	return modeltest.Say(fmt.Sprintf(d.words.brief, said[0], said[1]))
}

// verdict judges from what the checks have really printed.
func (d *demo) verdict(r *modeltest.Request) modeltest.Reply {
	outputs := map[string]string{}
	for _, o := range r.Calls() {
		outputs[string(o.Call.Input)] = o.Result.PlainText()
	}
	counted, refused := false, false
	for in, out := range outputs {
		switch {
		case strings.Contains(in, "sample.txt"):
			counted = strings.HasPrefix(strings.TrimSpace(out), "9")
		case strings.Contains(in, "missing.txt"):
			refused = strings.Contains(out, "exit code: 2")
		}
	}
	switch {
	case counted && refused:
		return modeltest.Say(d.words.achieved)
	case counted:
		return modeltest.Say(d.words.notYet)
	}
	return modeltest.Say(d.words.broken)
}

// together answers in a run that is to be killed only after it was: the kill falls into the middle of a worker's turn.
func (d *demo) together(then modeltest.Reply) modeltest.Player {
	return modeltest.PlayerFunc(func(*modeltest.Request) modeltest.Reply {
		if d.opts.Crash {
			d.reach.Do(func() { close(d.atWork) })
			<-d.killed
		}
		return then
	})
}
