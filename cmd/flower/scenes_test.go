package main

import (
	"strings"

	"flower/modeltest"
	"flower/transcript"
)

// scene is what an endpoint plays.
type scene struct {
	player func() modeltest.Player
	allow  func(modeltest.Problem) bool // problems the scene is about

	noSearch modeltest.Refusal
}

// searching searches if it can, with a pause in the middle, and says what it found.
func searching() modeltest.Player {
	found := []modeltest.Found{{Title: "Wheat", URL: "https://grain.example/wheat"}, {Title: "Oats", URL: "https://grain.example/oats"}}
	return modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
		last := r.Messages[len(r.Messages)-1]
		switch {
		case last.Role == transcript.RoleAssistant:
			return modeltest.Answer(modeltest.SearchEnded(r, found[1]), modeltest.Text("They grow "), modeltest.Cited("wheat", found[0]), modeltest.Text("."))
		case !r.Offers(transcript.WebSearch):
			return modeltest.Say("I cannot search.")
		case r.Prompt() == "fail":
			return modeltest.Answer(append(modeltest.SearchFailed("what grows", "unavailable"), modeltest.Text("No luck."))...)
		}
		return modeltest.Answer(append(modeltest.Search("what grows\x1b[2J", found...), modeltest.SearchBegun("and else"))...).Stopping("pause_turn")
	})
}

var scenes = map[string]scene{
	// job: a question, a goal, two workers at once, "not yet", a second round, "achieved".
	"job": {player: func() modeltest.Player { return job(judgeByFiles) }},
	// unreachable: the same, but the judge gives up.
	"unreachable": {player: func() modeltest.Player { return job(modeltest.Say(unreachable)) }},
	// never: the judge is never content.
	"never": {player: func() modeltest.Player { return job(modeltest.Say(notYet)) }},
	// mute: the answers begin and never end.
	"mute": {player: func() modeltest.Player {
		return modeltest.Say("I begin to think about it.").Broken(modeltest.Inside("text"), modeltest.Silence)
	}},
	// page: something in the way answers with a page.
	"page": {player: func() modeltest.Player {
		return modeltest.HTML(200, "<!DOCTYPE html><html><body>Sign in</body></html>")
	}},
	// busy: overloaded once, then fine.
	"busy": {player: func() modeltest.Player { return modeltest.Passing(job(judgeByFiles), modeltest.Overloaded()) }},
	// broken: it fails in a way that may pass, and does not.
	"broken": {player: func() modeltest.Player { return modeltest.Fail(500, "", "Internal server error") }},
	// limited: a limit of use that lasts for days.
	"limited": {player: func() modeltest.Player {
		return modeltest.Fail(429, "", "usage limit reached").With("Retry-After", "400000")
	}},
	// spent: no more money.
	"spent": {player: func() modeltest.Player { return modeltest.SpendLimit() }},
	// strict: nobody's key is right.
	"strict": {
		player: func() modeltest.Player { return modeltest.Say("never sent") },
		allow:  func(p modeltest.Problem) bool { return p.Kind == modeltest.KindAuth },
	},
	// one: a single agent that reads a file and tries to write one and to run a command.
	"one": {player: one},
	// checked: the goal's checks are commands, and the judge goes by what came of them.
	"checked": {player: func() modeltest.Player { return checked() }},
	// looping: a worker that runs the same command for ever.
	"looping": {player: looping},
	// isolated: ten workers at once, one that only looks, and one that merges.
	"isolated": {player: isolated},
	// long: the coordinator's first session fills up; what it was told only in talk is in its handoff.
	"long": {player: func() modeltest.Player { return long(modeltest.Say(handoff)) }},
	// longmute: the same, but no document comes of it.
	"longmute": {player: func() modeltest.Player {
		return long(modeltest.Say("I would rather work.").Spending(transcript.Usage{Input: 60_000, Output: 10}))
	}},
	// reader: the coordinator reads a large file 22 times; when it goes on it says what it still has of the first time.
	"reader": {player: reader, allow: func(p modeltest.Problem) bool { return p.Kind == modeltest.KindThinking }},
	// tight: the endpoint takes less than it is said to.
	"tight": {player: tight},
	// searching: an agent that searches the web; "searching-not" is the same at an endpoint that cannot, and that the scene
	// says so of.
	"searching":     {player: searching},
	"searching-not": {player: searching, noSearch: modeltest.RefusedByName, allow: func(p modeltest.Problem) bool { return p.Kind == modeltest.KindSearch }},
	// serving: an agent that calls what it is told to, "TOOL INPUT", and says what came of it.
	"serving": {player: serving},
	// sly: an answer full of control sequences and a key.
	"sly": {player: func() modeltest.Player {
		return modeltest.Say("\x1b[2J\x1b]0;owned\x07visible \x1b[8mtext\x1b[0m, key " + modeltest.DefaultKey)
	}},
}

// input is a tool's input.
type input = map[string]any

const (
	brief = `## Goal
A greeting in a file.

## Acceptance criteria
- hello.txt greets

## Boundaries
none

## Unknowns and assumptions
none
`
	goal = `# Goal
hello.txt and bye.txt are there.

# Checklist
- hello.txt is there
- bye.txt is there
- [cannot be verified here: no printer] it looks good on paper
`
	achieved    = "## Conclusion\nachieved\n\n## Reason\nBoth files are there.\n"
	notYet      = "## Conclusion\nnot yet\n\n## Reason\nbye.txt is missing.\n\n## Failed\n- bye.txt is there\n"
	unreachable = "## Conclusion\nunreachable\n\n## Reason\nThere is no printer.\n"
)

// judgeByFiles is a judge that looks.
var judgeByFiles = modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
	looked := r.Answered("Glob")
	switch {
	case len(looked) == 0:
		return modeltest.Answer(modeltest.Call("Glob", input{"pattern": "*.txt"}))
	case strings.Contains(looked[0].Result.PlainText(), "bye.txt"):
		return modeltest.Say(achieved)
	}
	return modeltest.Say(notYet)
})

// write hands a file out to a worker.
func write(name string) input {
	return input{"description": "write " + name, "prompt": "Write the file " + name + ".", "subagent_type": "worker"}
}

func about(name string) func(*modeltest.Request) bool {
	return func(r *modeltest.Request) bool { return strings.Contains(r.FirstUser(), "Write the file "+name) }
}

func job(judge modeltest.Player) modeltest.Script {
	worker := func(name, content string) modeltest.Rule {
		return modeltest.Rule{Role: modeltest.Worker, When: about(name), Plan: []modeltest.Player{
			modeltest.Answer(modeltest.Call("Write", input{"file_path": name, "content": content})),
			modeltest.Say(name + " is written."),
		}}
	}
	again := func(r *modeltest.Request) bool { return r.Says("Say so") || r.Says("going on") }
	return modeltest.Script{
		{Role: modeltest.Clarifier, Plan: []modeltest.Player{
			modeltest.Answer(modeltest.Call("mcp__human__ask", input{"question": "Which language?", "options": []string{"English", "German"}})),
			modeltest.Say(brief),
		}},
		{Role: modeltest.GoalSetter, Play: modeltest.Say(goal)},
		{Role: modeltest.Coordinator, When: again, Play: modeltest.Say("Nothing is left to do.")},
		{Role: modeltest.Coordinator, Plan: []modeltest.Player{
			modeltest.Answer(modeltest.Text("Two files, two workers."), modeltest.Call("Agent", write("hello.txt")), modeltest.Call("Agent", write("more.txt"))),
			modeltest.Answer(modeltest.Call("Bash", input{"command": "rm -rf /nowhere", "description": "try what is not allowed"})),
			modeltest.Say("hello.txt is there."),
			modeltest.Answer(modeltest.Call("Agent", write("bye.txt"))),
			modeltest.Say("Both are there."),
		}},
		worker("hello.txt", "hello\n"), worker("more.txt", "more\n"), worker("bye.txt", "bye\n"),
		{Role: modeltest.Judge, Play: judge},
	}
}

const commandGoal = "# Goal\nhello.txt greets.\n\n# Checklist\n- `grep -c hello hello.txt` prints 1\n- `test -f bye.txt` exits 0\n- `hello.txt` is there\n" +
	"- No script in the workspace calls `rm -rf data` without asking\n- `rm -r data` exits 0\n- `nonesuch-linter -q hello.txt` prints nothing\n"

// checked is a job whose judge believes the evidence alone.
func checked() modeltest.Player {
	script := job(modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
		switch {
		case !strings.Contains(r.Prompt(), "- `grep -c hello hello.txt`: exit code 0"), strings.Contains(r.Prompt(), "- `hello.txt`:"):
			return modeltest.Say("There is no evidence, or too much.")
		case strings.Contains(r.Prompt(), "- `test -f bye.txt`: exit code 0"):
			return modeltest.Say(achieved)
		}
		return modeltest.Say(notYet)
	}))
	return modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
		if r.Role() == modeltest.GoalSetter {
			return modeltest.Say(commandGoal)
		}
		return script.Play(r)
	})
}

// looping is a job whose worker never does anything else.
func looping() modeltest.Player {
	script := job(modeltest.Say(notYet))
	return modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
		if r.Role() == modeltest.Worker {
			return modeltest.Answer(modeltest.Call("Bash", input{"command": "cat nothing.txt", "description": "look"}))
		}
		return script.Play(r)
	})
}

const handoff = "## Doing now\nWriting bye.txt.\n\n## Decided\nThe person wants it in blue.\n\n## Dead ends\nnone\n\n" +
	"## Next step\nHave bye.txt written.\n\n## Scene\nhello.txt is done.\n"

// long is a job in which every answer of the coordinator's first session weighs 60,000 tokens, so that a window of
// 100,000 is handed over at the first turn boundary.
func long(document modeltest.Player) modeltest.Player {
	script := job(modeltest.Say(achieved))
	return modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
		switch {
		case r.Role() != modeltest.Coordinator:
			return script.Play(r)
		case strings.Contains(r.FirstUser(), "take over"):
			if strings.Contains(r.FirstUser(), "in blue") || strings.Contains(r.FirstUser(), "may miss things") {
				return modeltest.Say("All is there, in blue.").Spending(transcript.Usage{Input: 4000, Output: 10})
			}
			return modeltest.Say("I know nothing.")
		case r.Says("## Dead ends"):
			return document.Play(r)
		}
		return modeltest.Answer(modeltest.Text("Two files."), modeltest.Call("Agent", write("hello.txt")), modeltest.Call("Agent", write("more.txt"))).
			Spending(transcript.Usage{Input: 60_000, Output: 10})
	})
}

// tight is a job whose endpoint refuses the coordinator's second request of its first session, after 41,000 tokens.
func tight() modeltest.Player {
	script := long(modeltest.Say(handoff))
	return modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
		reply := script.Play(r)
		if r.Role() != modeltest.Coordinator || strings.Contains(r.FirstUser(), "take over") || r.Says("## Dead ends") {
			return reply
		}
		if r.Turn() > 0 {
			return modeltest.Fail(400, "invalid_request_error", "prompt is too long")
		}
		return reply.Spending(transcript.Usage{Input: 41_000, Output: 10})
	})
}

// reader is a job of one agent that only reads.
func reader() modeltest.Player {
	script := job(modeltest.Say(achieved))
	return modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
		read := r.Answered("Read")
		switch {
		case r.Role() != modeltest.Coordinator:
			return script.Play(r)
		case len(read) < 22:
			return modeltest.Answer(modeltest.Think("again"), modeltest.Call("Read", input{"file_path": "large.txt", "limit": 100 + len(read)}))
		}
		have := "the text"
		if first := read[0].Result.PlainText(); strings.HasPrefix(first, "[Text moved to .flower/spill/") {
			have = "a pointer"
		}
		return modeltest.Answer(modeltest.Think("well"), modeltest.Text("Of the first time I have "+have+"."))
	})
}

// slow is a job whose coordinator hangs until somebody has told it to be quick.
func slow() modeltest.Player {
	script := job(judgeByFiles)
	return modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
		if r.Role() == modeltest.Coordinator && !r.Says("be quick") {
			return modeltest.Say("I think about it for ever.").Broken(modeltest.Inside("text"), modeltest.Silence)
		}
		return script.Play(r)
	})
}

// one plays a single agent.
func one() modeltest.Player {
	return modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
		switch {
		case strings.Contains(r.Prompt(), "read"):
			if r.Turn() == 0 {
				return modeltest.Answer(modeltest.Call("Read", input{"file_path": "seed.txt"}))
			}
			return modeltest.Say("The file says: " + r.Results()[0].PlainText())
		case strings.Contains(r.Prompt(), "write"):
			if r.Turn() == 0 {
				return modeltest.Answer(modeltest.Call("Write", input{"file_path": "made.txt", "content": "made\n"}))
			}
		case strings.Contains(r.Prompt(), "run"):
			if r.Turn() == 0 {
				return modeltest.Answer(modeltest.Call("Bash", input{"command": "touch ran.txt", "description": "make a file"}))
			}
		case strings.Contains(r.Prompt(), "count"):
			return modeltest.Say("prompts so far: " + strings.Repeat("I", r.Prompts()))
		}
		return modeltest.Say("done")
	})
}
