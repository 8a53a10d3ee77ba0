package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"flower/agent"
	"flower/internal/cli"
	"flower/internal/sandbox"
	"flower/modeltest"
)

// TestMain makes this binary the program under test as well: scripts that call flower run flowerUnderTest in a process
// of its own, so that signals, exit codes and terminals are real.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"flower": flowerUnderTest, "mcpserver": mcpServer})
}

// hasty is the rule of retries without pauses.
var hasty = agent.Retry{Base: time.Millisecond, Max: 2 * time.Millisecond, Interval: 2 * time.Millisecond, MaxOffline: 50 * time.Millisecond}

// flowerUnderTest is flower without pauses. It refuses to run with a person's own settings, and says its exit code on
// the error stream, because scripts see only whether there was one.
func flowerUnderTest() {
	home, base := os.Getenv("HOME"), os.Getenv("ANTHROPIC_BASE_URL")
	if !strings.HasPrefix(home, os.Getenv("WORK")+"/") || !strings.HasPrefix(base, "http://127.0.0.1:") {
		fmt.Fprintf(os.Stderr, "not in a test: HOME is %q, the endpoint is %q\n", home, base)
		os.Exit(99)
	}
	landlock, _ := strconv.Atoi(os.Getenv("LANDLOCK")) // nothing asks the kernel
	code := cli.Main(os.Args[1:], os.Environ(), cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, cli.Options{
		Retry: hasty, Landlock: landlock,
	})
	fmt.Fprintf(os.Stderr, "[exit %d]\n", code)
	os.Exit(code)
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			env.Setenv("XDG_CONFIG_HOME", "")
			env.Setenv("LANG", "C")
			env.Setenv("COLUMNS", "80")
			env.Setenv("NO_PROXY", "127.0.0.1")
			env.Setenv("ANTHROPIC_API_KEY", modeltest.DefaultKey)
			env.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1") // nobody listens there
			env.Values[state{}] = &state{t: t}
			return os.MkdirAll(filepath.Join(env.WorkDir, "p"), 0o777)
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Geteuid() == 0, nil
			case "landlock":
				s, err := sandbox.New(sandbox.Options{})
				return err == nil && s.Level() == sandbox.Full, err
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"model": model, "requests": requests, "tree": tree, "columns": columns, "fill": fill, "lines": lines,
			"session": session, "interrupt": interrupt, "resumable": resumable, "named": named, "events": events, "mcphttp": mcpHTTP,
		},
	})
}

// state is what the commands of one script share.
type state struct {
	t       *testing.T
	server  *modeltest.Server
	arrived chan struct{}
}

// model NAME starts a server that plays a scenario and makes it the endpoint. Every request it has to refuse fails the
// script, unless the scenario is about that.
func model(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: model scenario")
	}
	scene, ok := scenes[args[0]]
	if !ok {
		ts.Fatalf("no scenario %s", args[0])
	}
	s := ts.Value(state{}).(*state)
	s.arrived = make(chan struct{}, 1000)
	server, err := modeltest.New(modeltest.Options{
		Player: scene.player(), BindThinking: true, Allow: scene.allow, NoSearch: scene.noSearch,
		Models:    map[string]modeltest.Model{"glm-5": {Window: 200_000}}, // one that nobody knows a price of
		OnRequest: func(*modeltest.Request) { s.arrived <- struct{}{} },
	})
	ts.Check(err)
	s.server = server
	ts.Defer(func() {
		server.Close()
		for _, p := range server.Problems() {
			if scene.allow == nil || !scene.allow(p) {
				s.t.Errorf("%s: the endpoint refused a request: %v", ts.Name(), p)
			}
		}
	})
	ts.Setenv("ANTHROPIC_BASE_URL", server.URL)
}

// requests N waits until N more requests have come. ! requests: none has come at all.
func requests(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value(state{}).(*state)
	if neg {
		if n := len(s.server.Requests()); n > 0 {
			ts.Fatalf("%d requests have come", n)
		}
		return
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	deadline := time.After(20 * time.Second)
	for range n {
		select {
		case <-s.arrived:
		case <-deadline:
			ts.Fatalf("no request has come")
		}
	}
}

// tree DIR PATTERN: some file below DIR has a path that matches.
func tree(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: tree dir pattern")
	}
	pattern := regexp.MustCompile(args[1])
	root, found := ts.MkAbs(args[0]), ""
	ts.Check(filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(root, path); err == nil && pattern.MatchString(rel) {
			found = rel
		}
		return err
	}))
	if (found == "") != neg {
		ts.Fatalf("tree %s: found %q", args[0], found)
	}
}
