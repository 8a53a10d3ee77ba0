package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"flower/modeltest"
)

// belongsToWorkspace are files of flower that people may want to commit: documents, scripts, results. Everything else of
// it is nobody else's business.
var belongsToWorkspace = regexp.MustCompile(`^\?\? (sub/)?\.flower/(INDEX\.md|notes/|scripts/|artifacts/)`)

// TestGitSeesNothingPrivate: while a run goes on, after a kill and after the end, git would take along neither books
// nor outputs, wherever they lie.
func TestGitSeesNothingPrivate(t *testing.T) {
	for name, tt := range map[string]struct {
		sub, runs string   // the workspace below the repository, and the run directory below the workspace
		args      []string // that name the latter
		files     map[string]string
		exposed   bool // the person's own ignore file lets git take the books
	}{
		"top":                      {runs: "runs"},
		"subdirectory":             {sub: "sub", runs: "runs"},
		"elsewhere":                {sub: "sub", runs: "../books", args: []string{"-r", "../books"}},
		"edited":                   {runs: "runs", files: map[string]string{"runs/.gitignore": "*\n!.gitignore\n# mine\n"}},
		"edited below":             {runs: "runs", files: map[string]string{".gitignore": "runs/\n", "runs/.gitignore": "# mine\n"}},
		"excluded":                 {runs: "runs", files: map[string]string{".git/info/exclude": "/runs\n", "runs/.gitignore": "# mine\n"}},
		"edited, which shows them": {runs: "runs", files: map[string]string{"runs/.gitignore": "# mine\n"}, exposed: true},
		"the workspace itself":     {runs: ".", args: []string{"-r", "."}},
		"the workspace, with one":  {runs: ".", args: []string{"-r", "."}, files: map[string]string{".gitignore": "*.o\n"}, exposed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate := modeltest.NewGate()
			server := modeltest.Start(t, modeltest.Options{BindThinking: true, Player: longOutput(gate)})
			s := newIsolatedSite(t, server)
			for file, content := range tt.files {
				path := filepath.Join(s.dir, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			before := s.untracked()
			s.dir = filepath.Join(s.dir, tt.sub)
			if err := os.MkdirAll(s.dir, 0o777); err != nil {
				t.Fatal(err)
			}
			first, out, ended := s.start(append(tt.args, "--no-goal", "count")...)
			select {
			case <-gate.Reached():
			case <-ended:
				t.Fatalf("it ended before: %s", out)
			}
			s.noBooks("while it runs", before, tt.exposed)
			if err := first.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-ended
			s.noBooks("after a kill", before, tt.exposed)
			gate.Open()
			second, out, ended := s.start(append(tt.args, "--no-goal")...)
			if <-ended; second.ProcessState.ExitCode() != 0 {
				t.Fatalf("exit code %d\n%s", second.ProcessState.ExitCode(), out)
			}
			s.noBooks("at the end", before, tt.exposed)
			if said := strings.Contains(out.String(), "git would take flower's books along"); said != tt.exposed {
				t.Errorf("said %v:\n%s", said, out)
			}
			for _, file := range []string{filepath.Join(tt.runs, "sessions.db"), ".flower/notes/需求.md"} {
				if _, err := os.Stat(filepath.Join(s.dir, file)); err != nil {
					t.Error(err)
				}
			}
			if spilled, _ := filepath.Glob(s.dir + "/.flower/spill/*.txt"); len(spilled) == 0 {
				t.Error("nothing was spilled: the test is worth nothing")
			}
			for file, content := range tt.files {
				if data, err := os.ReadFile(filepath.Join(s.dir, file)); err != nil || string(data) != content {
					t.Errorf("%s is %q, %v", file, data, err)
				}
			}
		})
	}
}

// longOutput is a job of one worker, who prints much. The answer after that is held back.
func longOutput(gate *modeltest.Gate) modeltest.Player {
	return modeltest.Script{
		{Role: modeltest.Clarifier, Play: modeltest.Say(brief)},
		{Role: modeltest.Coordinator, Plan: []modeltest.Player{modeltest.Answer(hand("Count.")), modeltest.Say("Counted.")}},
		{Role: modeltest.Worker, Play: modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
			if r.Turn() == 0 {
				return modeltest.Answer(modeltest.Call("Bash", input{"command": "seq 3000; sleep 600 &", "description": "count"}))
			}
			return modeltest.Say("done").Held(modeltest.Point{}, gate)
		})},
	}
}

// untracked are the lines of git's status, with every file that is not ignored.
func (s *isolatedSite) untracked() []string {
	s.Helper()
	return strings.Split(s.git("-c", "core.quotePath=false", "status", "--porcelain", "--untracked-files=all"), "\n")
}

func (s *isolatedSite) noBooks(when string, before []string, exposed bool) {
	s.Helper()
	books := 0
	for _, line := range s.untracked() {
		switch {
		case slices.Contains(before, line), belongsToWorkspace.MatchString(strings.ReplaceAll(line, `"`, "")):
		case exposed && !strings.Contains(line, "spill"):
			books++
		default:
			s.Errorf("%s git shows %q", when, line)
		}
	}
	if exposed && books == 0 {
		s.Errorf("%s git shows no book: what is said is not true", when)
	}
}
