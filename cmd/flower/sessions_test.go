package main

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// resumable FILE N: the file holds N lines, and each has what Claude Code needs to resume.
func resumable(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: resumable file n")
	}
	needed := []string{
		"parentUuid", "isSidechain", "type", "message", "uuid", "timestamp", "userType", "cwd", "sessionId", "version", "gitBranch",
	}
	known := map[string]bool{}
	n := 0
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		n++
		var e map[string]any
		ts.Check(json.Unmarshal([]byte(line), &e))
		for _, key := range needed {
			if _, ok := e[key]; !ok {
				ts.Fatalf("line %d lacks %s: %s", n, key, line)
			}
		}
		if parent, ok := e["parentUuid"].(string); ok && !known[parent] {
			ts.Fatalf("line %d hangs on nothing: %s", n, line)
		}
		known[e["uuid"].(string)] = true
	}
	if want, err := strconv.Atoi(args[1]); err != nil || n != want {
		ts.Fatalf("%d lines, want %s", n, args[1])
	}
}

// named WORDS sets SESSION to the id in the first line of "flower sessions list" that ends so, and SHORT to the
// beginning of it. The line may end in a round's number.
func named(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: named words")
	}
	ts.Check(ts.Exec("flower", "sessions", "list"))
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		fields := strings.Split(strings.TrimSpace(strings.TrimLeft(line, "* ")), "  ")
		if last := fields[len(fields)-1]; last == args[0] || strings.Contains(last, ", "+args[0]) {
			ts.Setenv("SESSION", fields[0])
			ts.Setenv("SHORT", fields[0][:13])
			return
		}
	}
	ts.Fatalf("no session of %s", args[0])
}
