package proc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

// alive says whether a process is there and no zombie.
func alive(pid int) bool {
	p, ok := readProcess(pid)
	return ok && !p.dead
}

func TestBackgroundIsNotWaitedFor(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		stop   bool   // when the first output is there
		name   string // of what goes on
	}{
		"background":            {script: "sleep 300 & echo $! > $PIDFILE; cat $PIDFILE", name: "sleep"},
		"no hangup":             {script: "nohup sleep 300 >/dev/null 2>&1 & echo $! > $PIDFILE; cat $PIDFILE", name: "sleep"},
		"own session":           {script: "setsid sleep 300 & echo $! > $PIDFILE; cat $PIDFILE", name: "sleep"},
		"orphan":                {script: "(setsid sh -c 'echo $$ > $PIDFILE; cat $PIDFILE; exec sleep 300' &); until [ -s $PIDFILE ]; do :; done", name: "sleep"},
		"orphan without mark":   {script: "(env -i PIDFILE=$PIDFILE setsid /bin/sh -c 'echo $$ > $PIDFILE; exec /bin/sleep 300' &); until [ -s $PIDFILE ]; do :; done", name: "sleep"},
		"own session, and stop": {script: "setsid sleep 300 & echo $! > $PIDFILE; cat $PIDFILE; sleep 300", stop: true},
		"orphan, and stop":      {script: "(env -i setsid /bin/sleep 300 & echo $! > $PIDFILE); echo x; sleep 300", stop: true},
		"busy":                  {script: "yes & echo $! > $PIDFILE", name: "yes"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pid")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cmd := Command{Script: tt.script, KeepHead: 100, KeepTail: 100, Env: append([]string{"PIDFILE=" + file}, env...)}
			if tt.stop {
				cmd.Spill = onWrite{cancel}
			}
			var s Supervisor
			defer s.Close()
			res, err := s.Run(ctx, cmd)
			if err != nil || res.Canceled != tt.stop {
				t.Fatalf("got %+v, %v", res, err)
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			pid := pidOf(t, string(data))
			if tt.stop {
				if len(res.Background) > 0 || alive(pid) {
					t.Errorf("still there: %v", res.Background)
				}
				return
			}
			if !reflect.DeepEqual(res.Background, []Process{{pid, tt.name}}) {
				t.Errorf("background %v, want %d %s", res.Background, pid, tt.name)
			}
			if !alive(pid) {
				t.Error("the background process was ended")
			}
			s.Close()
			if alive(pid) {
				t.Error("the background process was not ended at the end")
			}
			if _, err := s.Run(ctx, cmd); !errors.Is(err, ErrClosed) {
				t.Errorf("run after the end: %v", err)
			}
		})
	}
}

// Run for one command leaves nothing behind.
func TestRunLeavesNothing(t *testing.T) {
	res := run(t, Command{Script: "trap '' TERM; (setsid sleep 300 &); sleep 300 & echo $!"})
	if len(res.Background) != 2 {
		t.Errorf("background %v", res.Background)
	}
	for _, p := range res.Background {
		if alive(p.PID) {
			t.Errorf("%v is alive", p)
		}
	}
}

// until looks for something to become true, and fails the test when it does not.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	late := time.After(30 * time.Second)
	for !ok() {
		select {
		case <-late:
			t.Fatalf("it never came to this: %s", what)
		case <-time.After(pollTime):
		}
	}
}

// A command may do what it likes to its keeper; nothing of it stays.
func TestKeeperIsAttacked(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		code   int
	}{
		"killed":               {"echo $$; kill -KILL $PPID; sleep 300", -1},
		"killed, own session":  {"(setsid sleep 300 & echo $!); kill -KILL $PPID; sleep 300", -1},
		"asked to end":         {"echo $$; kill -TERM $PPID; kill -HUP $PPID; kill -INT $PPID; exit 5", 5},
		"stopped":              {"echo $$; while :; do kill -STOP $PPID; sleep 0.02; done", 128 + int(syscall.SIGTERM)},
		"stopped, and exit":    {"echo $$; kill -STOP $PPID; exit 5", 5},
		"stopped twice":        {"trap 'kill -STOP $PPID; exit 7' TERM; echo $$; while :; do kill -STOP $PPID; sleep 0.02; done", 7},
		"stopped, then killed": {"echo $$; kill -STOP $PPID; kill -KILL $PPID; sleep 300", -1},
	} {
		t.Run(name, func(t *testing.T) {
			grace := soon
			if tt.code == 7 {
				grace = time.Minute // enough for its last word
			}
			res := run(t, Command{Script: tt.script, Timeout: time.Second, Grace: grace})
			if res.ExitCode != tt.code {
				t.Errorf("exit code %d, want %d", res.ExitCode, tt.code)
			}
			// One that still tells how the command ended was let go on, and the stop has not waited for it in vain.
			if again := strings.Contains(tt.script, "while"); again && !res.KeeperStopped || tt.code == -1 && res.KeeperStopped {
				t.Errorf("keeper stopped: %v", res.KeeperStopped)
			}
			pid := pidOf(t, res.Output)
			until(t, "nothing of it is alive", func() bool { return !alive(pid) }) // it may still be on its way out
		})
	}
}

// Forking faster than one can look does not help a command.
func TestForkingIsStopped(t *testing.T) {
	for name, script := range map[string]string{
		"one group":    "f() { [ $1 -gt 0 ] && { f $(($1-1)) & f $(($1-1)) & }; sleep 300; }; f 6",
		"own sessions": "trap '' TERM; for i in $(seq 60); do setsid sh -c 'trap \"\" TERM; sleep 300 & sleep 300' & done; sleep 300",
		"relay":        `f() { setsid sh -c '"$0" -c "$1" "$1"' bash "$1" & }; s='setsid bash -c "$0" "$0" & sleep 0.01'; bash -c "$s" "$s"; sleep 300`,
	} {
		t.Run(name, func(t *testing.T) {
			mark := "FORKS=" + filepath.Base(t.TempDir()) + name
			res := run(t, Command{Script: script, Timeout: time.Second, Grace: soon, Env: append([]string{mark}, env...)})
			if !res.TimedOut || len(res.Background) > 0 {
				t.Errorf("timed out %v, left %v", res.TimedOut, res.Background)
			}
			for _, pid := range allPIDs() {
				environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
				if err == nil && strings.Contains(string(environ), mark) && alive(pid) {
					t.Errorf("%d is alive", pid)
				}
			}
		})
	}
}

func TestRecords(t *testing.T) {
	s := Supervisor{Records: filepath.Join(t.TempDir(), "commands")}
	defer s.Close()
	res, err := s.Run(t.Context(), Command{Script: "ls " + s.Records + "; sleep 300 & echo $!", Env: env})
	if err != nil {
		t.Fatal(err)
	}
	name, rest, _ := strings.Cut(res.Output, "\n")
	pid := pidOf(t, rest)
	path := filepath.Join(s.Records, name)
	if r, ok := readRecord(path); !ok || !r.Keeper.alive() || !r.Flower.alive() || r.Flower.PID != os.Getpid() {
		t.Errorf("while a command runs its record is %+v", r)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of a record: %v, %v", info.Mode(), err)
	}
	if ended, err := EndLeftovers(s.Records); err != nil || len(ended) > 0 || !alive(pid) {
		t.Errorf("a command of a flower that is alive: ended %v, %v", ended, err)
	}
	s.Close()
	if entries, err := os.ReadDir(s.Records); err != nil || len(entries) > 0 {
		t.Errorf("records at the end: %v, %v", entries, err)
	}
	if ended, err := EndLeftovers(filepath.Join(s.Records, "missing")); ended != nil || err != nil {
		t.Errorf("no directory: %v, %v", ended, err)
	}
}

// TestHelperFlower is no test: it is a flower that runs a command until it is killed.
func TestHelperFlower(t *testing.T) {
	script, ok := os.LookupEnv("FLOWER_TEST_SCRIPT")
	if !ok {
		t.Skip("only TestFlowerIsKilled starts it")
	}
	s := Supervisor{Records: os.Getenv("FLOWER_TEST_RECORDS")}
	_, _ = s.Run(t.Context(), Command{Script: script, Env: env})
	select {} // it does not end by itself
}

// A flower that is killed leaves nothing running: its keepers end what they keep, and where one was killed as well,
// the next flower finds the rest.
func TestFlowerIsKilled(t *testing.T) {
	for name, tt := range map[string]struct {
		script     string
		killKeeper bool
	}{
		"running":                {"trap '' TERM; echo $$ > $DIR/pid; sleep 300", false},
		"orphan":                 {"(env -i setsid /bin/sleep 300 & echo $! > $DIR/pid); sleep 300", false},
		"background":             {"sleep 300 & echo $! > $DIR/pid", false},
		"running, no keeper":     {"trap '' TERM; echo $$ > $DIR/pid; while :; do sleep 300; done", true},
		"own session, no keeper": {"setsid sleep 300 & echo $! > $DIR/pid; sleep 300", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			records := filepath.Join(dir, "commands")
			flower := exec.Command("/proc/self/exe", "-test.run=^TestHelperFlower$")
			flower.Env = append([]string{"FLOWER_TEST_SCRIPT=DIR=" + dir + "; " + tt.script, "FLOWER_TEST_RECORDS=" + records}, env...)
			if err := flower.Start(); err != nil {
				t.Fatal(err)
			}
			var pid int
			until(t, "the command says who it is", func() bool {
				data, err := os.ReadFile(filepath.Join(dir, "pid"))
				n, _ := fmt.Sscanf(string(data), "%d\n", &pid)
				return err == nil && n == 1
			})
			t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
			paths, err := filepath.Glob(records + "/*")
			if err != nil || len(paths) != 1 {
				t.Fatalf("records %v, %v", paths, err)
			}
			if r, ok := readRecord(paths[0]); ok && tt.killKeeper {
				// First stopped, so that it does not see that flower ends.
				_ = syscall.Kill(r.Keeper.PID, syscall.SIGSTOP)
				defer func() { _ = syscall.Kill(r.Keeper.PID, syscall.SIGKILL) }()
			}
			if err := flower.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = flower.Wait()
			if tt.killKeeper {
				r, _ := readRecord(paths[0])
				_ = syscall.Kill(r.Keeper.PID, syscall.SIGKILL)
				until(t, "the keeper ends", func() bool { return !r.Keeper.alive() })
				if !alive(pid) {
					t.Error("the test is worth nothing: the command has ended with its keeper")
				}
			}
			ended, err := EndLeftovers(records)
			if err != nil || alive(pid) {
				t.Errorf("ended %v, %v; alive %v", ended, err, alive(pid))
			}
			if found := len(ended) > 0; found != tt.killKeeper && tt.killKeeper {
				t.Errorf("ended %v", ended)
			}
			if paths, _ = filepath.Glob(records + "/*"); len(paths) > 0 {
				t.Errorf("records stay: %v", paths)
			}
		})
	}
}

// A record whose processes are long gone, whose numbers are others' now, or which is torn, harms nobody.
func TestWrongRecords(t *testing.T) {
	victim := exec.Command("sleep", "300")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = victim.Process.Kill(), victim.Wait() }()
	dead := owner{PID: 1 << 22, Start: 1}
	mark := strings.Repeat("0", 32)
	right, wrong := ownerOf(victim.Process.Pid), ownerOf(victim.Process.Pid)
	wrong.Start--
	for name, r := range map[string]any{
		"other start":     record{Mark: mark, Keeper: wrong, Flower: dead, Boot: bootID()},
		"other boot":      record{Mark: mark, Keeper: right, Flower: dead, Boot: "other"},
		"flower is alive": record{Mark: mark, Keeper: right, Flower: ownerOf(os.Getpid()), Boot: bootID()},
		"init":            record{Mark: mark, Keeper: owner{PID: 1}, Flower: dead, Boot: bootID()},
		"no mark":         record{Keeper: right, Flower: dead, Boot: bootID()},
		"not a record":    []int{1},
	} {
		dir := t.TempDir()
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string][]byte{"a.json": data, "torn.json": data[:len(data)/2], "other": data} {
			if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		ended, err := EndLeftovers(dir)
		if err != nil || len(ended) > 0 || !alive(victim.Process.Pid) {
			t.Errorf("%s: ended %v, %v", name, ended, err)
		}
		_, stayed := os.Stat(filepath.Join(dir, "a.json"))
		if (stayed == nil) != (name == "flower is alive") {
			t.Errorf("%s: %v", name, stayed)
		}
		if _, err := os.Stat(filepath.Join(dir, "other")); err != nil {
			t.Errorf("%s: another file was removed", name)
		}
	}
}

func TestOrder(t *testing.T) {
	want := order{path: "/p", dir: "", argv: []string{"a", "", "b\n\xff"}, env: []string{"A=1", "B="}}
	got, err := readOrder(strings.NewReader(string(want.encode())))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []string{"", "\x00\x00", "\xff\xff\xff\xff", "\x00\x00\x00\x02a", "\x00\x00\x00\x01a", "\x00\x00\x00\x05a\x00b\x009"} {
		if got, err := readOrder(strings.NewReader(bad)); err == nil {
			t.Errorf("%q gives %+v", bad, got)
		}
	}
}

// What a command sees is as it was given, and nothing of its keeper leaks into it, nor of what flower was started with.
func TestSurroundings(t *testing.T) {
	inherited, err := syscall.Dup(1) // as from a shell that leaves it open for its children
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(inherited) }()
	for script, want := range map[string]string{
		"env | grep -av FLOWER_COMMAND | grep -a '^[AB]=' | sort": "A=2\nB=x\uFFFDy\n",
		"tr '\\0' '\\n' < /proc/$PPID/environ | cut -c -12":       "FLOWER_COMMA\nGOMAXPROCS=1\n",
		"ls /proc/self/fd":                                          "0\n1\n2\n3\n", // the last is the directory
		"grep -E 'Sig(Ign|Blk)' /proc/self/status":                  "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n",
		"(: < /dev/tty) 2>/dev/null || echo no terminal":            "no terminal\n",
		"ulimit -Sn | grep -qx $(ulimit -Sn) && umask && echo $#$0": "0022\n0bash\n",
	} {
		res := run(t, Command{Script: script, Env: []string{"PATH=/usr/bin:/bin", "A=1", "A=2", "B=x\xffy"}})
		if res.Output != want {
			t.Errorf("%s: %q, want %q", script, res.Output, want)
		}
	}
}

// BenchmarkRun is what a command costs: started by itself, and behind its keeper. The difference is what the design says
// of it.
func BenchmarkRun(b *testing.B) {
	b.Run("without keeper", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command("/bin/true")
			cmd.Env = env
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatal(err, out)
			}
		}
	})
	run := func(s *Supervisor) func(b *testing.B) {
		return func(b *testing.B) {
			defer s.Close()
			for b.Loop() {
				if _, err := s.Run(b.Context(), Command{Argv: []string{"/bin/true"}, Env: env}); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.Run("with keeper", run(&Supervisor{}))
	b.Run("with keeper and record", run(&Supervisor{Records: filepath.Join(b.TempDir(), "commands")}))
}
