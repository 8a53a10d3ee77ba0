package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"flower/modeltest"
	"flower/transcript"
)

// commit is a command of a worker that commits everything but what is called draft.
const commit = `git add -A . ':!draft*' && git -c user.name=w -c user.email=w@example.org commit -q -m work`

var branchOf = regexp.MustCompile(`branch (\S+), worktree (\S+):`)

// hand hands a task out to a worker.
func hand(task string) transcript.Block {
	return modeltest.Call("Agent", input{"description": task, "prompt": task, "subagent_type": "worker"})
}

// isolated is a job in which all that workers know of each other are branches.
func isolated() modeltest.Player { return isolatedWith(nil) }

func isolatedWith(worker modeltest.Player) modeltest.Player {
	if worker == nil {
		worker = modeltest.PlayerFunc(marks)
	}
	return modeltest.Script{
		{Role: modeltest.Clarifier, Play: modeltest.Say(brief)},
		{Role: modeltest.GoalSetter, Play: modeltest.Say("# Goal\nTen marks.\n\n# Checklist\n- `test -f mark-9.txt` exits 0\n")},
		{Role: modeltest.Coordinator, Plan: []modeltest.Player{
			modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
				if !r.Says("begins with `git merge`") {
					return modeltest.Say("Nobody has told me of worktrees.")
				}
				calls := []transcript.Block{hand("Only look.")}
				for i := range 10 {
					calls = append(calls, hand(fmt.Sprintf("Leave mark %d.", i)))
				}
				return modeltest.Answer(calls...)
			}),
			modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
				merge := "Merge"
				for _, o := range r.Answered("Agent") {
					if m := branchOf.FindStringSubmatch(o.Result.PlainText()); m != nil {
						merge += " " + m[1]
					}
				}
				return modeltest.Answer(hand(merge))
			}),
			modeltest.Say("All marks are there."),
		}},
		{Role: modeltest.Worker, Play: worker},
		{Role: modeltest.Judge, Play: modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
			if regexp.MustCompile("- `test -f mark-9.txt`: in `[^`]*/worktrees/[^`]*`: exit code 0").MatchString(r.Prompt()) && strings.Contains(r.Prompt(), "it has the commits of all others") {
				return modeltest.Say(achieved)
			}
			return modeltest.Say(notYet)
		})},
	}
}

// marks is a worker that leaves a mark, merges or looks.
func marks(r *modeltest.Request) modeltest.Reply {
	task := r.FirstUser()
	bash := func(command string) modeltest.Reply {
		return modeltest.Answer(modeltest.Call("Bash", input{"command": command, "description": "work"}))
	}
	var n int
	if _, after, ok := strings.Cut(task, "Leave mark "); ok {
		if _, err := fmt.Sscan(strings.TrimSuffix(after, "."), &n); err != nil {
			return modeltest.Say(err.Error())
		}
		switch r.Turn() {
		case 0:
			return modeltest.Answer(
				modeltest.Call("Write", input{"file_path": fmt.Sprintf("mark-%d.txt", n), "content": "mark\n"}),
				modeltest.Call("Write", input{"file_path": "draft.txt", "content": fmt.Sprint(n)}),
			)
		case 1:
			return bash(commit)
		}
		// After a kill nobody knows, or it has not begun: then it is done again, over what git may have left.
		told := ""
		for _, o := range r.Calls() {
			told += o.Result.PlainText()
		}
		if (strings.Contains(told, "outcome of this call is unknown") || strings.Contains(told, "Not run:")) && !strings.Contains(told, "once more") {
			return bash(fmt.Sprintf("echo once more; rm -f $(git rev-parse --git-path index.lock); echo mark >mark-%d.txt; %s || true", n, commit))
		}
		return modeltest.Say("done")
	}
	if r.Turn() > 0 {
		return modeltest.Say("done")
	}
	if _, branches, ok := strings.Cut(task, "Merge "); ok {
		return bash("git -c user.name=w -c user.email=w@example.org merge -q -m all " + branches)
	}
	return bash("pwd; ls")
}

// isolatedSite is a repository of one commit in which flower is started.
type isolatedSite struct {
	*testing.T
	dir string
	env []string
}

func newIsolatedSite(t *testing.T, server *modeltest.Server) *isolatedSite {
	t.Helper()
	work := t.TempDir()
	s := &isolatedSite{T: t, dir: filepath.Join(work, "p"), env: []string{
		"PATH=" + os.Getenv("PATH"), "WORK=" + work, "HOME=" + filepath.Join(work, "home"), "NO_PROXY=127.0.0.1", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_COMMITTER_NAME=a", "EMAIL=a@example.org",
		"ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=" + server.Key,
	}}
	if err := os.Mkdir(s.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	s.git("init", "-q", "-b", "main")
	s.git("commit", "-q", "--allow-empty", "-m", "one")
	return s
}

func (s *isolatedSite) git(args ...string) string {
	s.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// start starts flower; ended is closed at its end.
func (s *isolatedSite) start(args ...string) (cmd *exec.Cmd, out *bytes.Buffer, ended chan struct{}) {
	s.Helper()
	executable, err := os.Executable()
	if err != nil {
		s.Fatal(err)
	}
	out, ended = new(bytes.Buffer), make(chan struct{})
	cmd = exec.CommandContext(s.Context(), executable)
	cmd.Args = append([]string{"flower", "--lang", "en", "--timeout", "0"}, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.dir, s.env, out, out
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	go func() { defer close(ended); _ = cmd.Wait() }() // how it ended stands in ProcessState
	s.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	return cmd, out, ended
}

// with are the worktrees in which there is a file.
func (s *isolatedSite) with(name string) []string {
	s.Helper()
	list, err := filepath.Glob(filepath.Join(s.dir, "..", ".flower-p", "worktrees", "*", name))
	if err != nil {
		s.Fatal(err)
	}
	return list
}

// TestKillIsolated: workers that are cut off by a kill go on in their own worktrees, even without the flag.
func TestKillIsolated(t *testing.T) {
	for _, flag := range []string{"--isolate=true", "--isolate=false"} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			gate := modeltest.NewGate()
			server := modeltest.Start(t, modeltest.Options{BindThinking: true, Player: isolatedWith(modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
				if strings.Contains(r.FirstUser(), "Leave mark 3.") && r.Turn() == 1 {
					return marks(r).Held(modeltest.Point{}, gate)
				}
				return marks(r)
			}))})
			s := newIsolatedSite(t, server)
			first, out, ended := s.start("--isolate", "--rounds", "1", "marks")
			select {
			case <-gate.Reached():
			case <-ended:
				t.Fatalf("it ended before: %s", out)
			}
			before := s.with("mark-3.txt")
			if len(before) != 1 {
				t.Fatalf("the mark is in %q", before)
			}
			if err := first.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-ended
			gate.Open()
			second, out, ended := s.start(flag, "--rounds", "1", "--no-goal")
			if <-ended; second.ProcessState.ExitCode() != 0 {
				t.Fatalf("exit code %d\n%s", second.ProcessState.ExitCode(), out)
			}
			if after := s.with("mark-3.txt"); !slices.Contains(after, before[0]) {
				t.Errorf("the mark was in %s and is in %s", before, after)
			}
			if text := s.git("-C", filepath.Dir(before[0]), "log", "--format=%s"); text != "work\none" {
				t.Errorf("the worktree of mark 3 has the commits %q", text)
			}
			if flag == "--isolate=false" {
				return // those that had not begun work in the workspace
			}
			for i := range 10 {
				branches := strings.Fields(s.git("branch", "--list", fmt.Sprintf("flower/leave-mark-%d-*", i), "--format=%(refname:short)"))
				if len(branches) != 1 || s.git("ls-tree", "--name-only", branches[0]) != fmt.Sprintf("mark-%d.txt", i) {
					t.Errorf("mark %d is on %q\n%s", i, branches, out)
				}
			}
			if left := s.git("status", "--porcelain", "--untracked-files=all"); left != "" {
				t.Errorf("the checkout has changed: %s", left)
			}
		})
	}
}

// everyThird is a git that fails at every third worktree it is to make.
const everyThird = `#!/bin/sh
case "$*" in "worktree add "*)
	echo x >> "$WORK/adds"
	if [ $(($(wc -l < "$WORK/adds") % 3)) = 0 ]; then echo "fatal: out of order" >&2; exit 128; fi
esac
exec "$REAL" "$@"
`

// TestGitFailsForWorkers: workers for whom git makes no worktree are not started, and their caller is told; the others
// work, and nobody works in the person's checkout.
func TestGitFailsForWorkers(t *testing.T) {
	t.Parallel()
	server := modeltest.Start(t, modeltest.Options{BindThinking: true, Player: isolated()})
	s := newIsolatedSite(t, server)
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(s.dir, "..", "bin")
	if err := os.Mkdir(bin, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(everyThird), 0o755); err != nil {
		t.Fatal(err)
	}
	s.env = append(s.env, "PATH="+bin+":"+os.Getenv("PATH"), "REAL="+real)
	cmd, out, ended := s.start("--isolate", "--rounds", "1", "marks")
	<-ended
	told := map[string]string{} // by task
	for _, r := range server.Requests() {
		for _, o := range r.Answered("Agent") {
			told[string(o.Call.Input)] = o.Result.PlainText()
		}
	}
	worked, failed := 0, 0
	for i := range 10 {
		branches := s.git("branch", "--list", fmt.Sprintf("flower/leave-mark-%d-*", i), "--format=%(refname:short)")
		for task, result := range told {
			switch {
			case !strings.Contains(task, fmt.Sprintf("Leave mark %d.", i)):
			case strings.Contains(result, "The agent was not started, because it could not be given a directory of its own"):
				failed++
				if branches != "" || !strings.Contains(result, "out of order") {
					t.Errorf("mark %d was told %q and is on %q", i, result, branches)
				}
			default:
				worked++
				if !strings.Contains(result, "branch "+branches+", worktree ") {
					t.Errorf("mark %d was told %q and is on %q", i, result, branches)
				}
			}
		}
	}
	if worked < 5 || failed < 2 || worked+failed != 10 { // one of three may be who only looks
		t.Errorf("%d have worked and %d were not started; exit code %d\n%s", worked, failed, cmd.ProcessState.ExitCode(), out)
	}
	if left := s.git("status", "--porcelain", "--untracked-files=all"); left != "" {
		t.Errorf("the checkout has changed: %s", left)
	}
	if !strings.Contains(out.String(), "worktrees of workers are left") {
		t.Errorf("they are not listed:\n%s", out)
	}
	if trees := s.with(".git"); len(trees) < worked {
		t.Errorf("%d worktrees: %q", len(trees), trees)
	}
}
