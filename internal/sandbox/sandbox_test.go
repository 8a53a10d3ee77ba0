package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// tryName is the variable that makes this program one that tries a way out.
const tryName = "SANDBOX_TEST_TRY"

// ways out are tried in a confined process whose directory is the workspace. Each returns an error if it was denied.
var ways map[string]func() error

func TestMain(m *testing.M) {
	if way, ok := os.LookupEnv(tryName); ok {
		if err := ways[way](); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// place is a workspace with something beside it that must not be changed.
type place struct{ dir, ws, outside string }

func newPlace(t *testing.T) place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := place{dir, filepath.Join(dir, "ws"), filepath.Join(dir, "outside")}
	for _, d := range []string{p.ws, p.outside, filepath.Join(p.outside, "empty")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"outside/file": "precious\n", "ws/file": "ours\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(p.outside, filepath.Join(p.ws, "link")); err != nil {
		t.Fatal(err)
	}
	return p
}

// run runs a script in the workspace.
func (p place) run(t *testing.T, s *Sandbox, script string) (out string, ok bool) {
	t.Helper()
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir = p.ws
	var text strings.Builder
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := s.Start(cmd.Start); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	return text.String(), err == nil
}

// state is what lies outside, with content and modes.
func (p place) state(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("bash", "-c", `cd "$1" && find . -printf '%p %m %s %y %n\n' | sort && cat file`, "-", p.outside).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func newSandbox(t *testing.T, opts Options) *Sandbox {
	t.Helper()
	s, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func needKernel(t *testing.T) {
	t.Helper()
	if kernelABI() < abiTruncate {
		t.Skipf("this kernel has version %d of Landlock, and the test needs %d", kernelABI(), abiTruncate)
	}
}

var escapes = []struct{ name, script string }{
	{"new file", "echo x > ../outside/new"},
	{"append", "echo x >> ../outside/file"},
	{"truncate by opening", ": > ../outside/file"},
	{"truncate by path", "python3 -c 'import os; os.truncate(\"../outside/file\", 0)' || truncate -s 0 ../outside/file"},
	{"remove", "rm -f ../outside/file"},
	{"remove directory", "rmdir ../outside/empty"},
	{"make directory", "mkdir ../outside/d"},
	{"make pipe", "mkfifo ../outside/p"},
	{"make symbolic link", "ln -s x ../outside/l"},
	{"link out", "ln file ../outside/l"},
	{"link in and write", "ln ../outside/file mine && echo x > mine"},
	{"move out", "mv file ../outside/moved"},
	{"move in", "mv ../outside/file mine"},
	{"rename outside", "mv ../outside/file ../outside/other"},
	{"exchange", "mv -f file ../outside/file"},
	{"through a link of ours", "echo x > link/new"},
	{"through a new link", "ln -s ../outside/file l && echo x > l"},
	{"remove through a link", "rm -rf link/"},
	{"parent of a descriptor", "exec 3< ../outside && echo x > /proc/self/fd/3/new"},
	{"reopen for writing", "exec 3< ../outside/file && echo x > /proc/self/fd/3"},
	{"reopen of a child", "exec 3< ../outside/file; sh -c 'echo x > /proc/$PPID/fd/3'"},
	{"root of a process", "echo x > /proc/self/root$PWD/../outside/new"},
	{"directory of another process", "echo x > /proc/$PPID/cwd/new"},
	{"shell in a shell", "sh -c 'sh -c \"echo x > ../outside/new\"'"},
	{"background", "(echo x > ../outside/new) & wait $!"},
	{"own session", "setsid -w sh -c 'echo x > ../outside/new'"},
	{"dd", "dd if=/dev/zero of=../outside/file bs=1 count=1 conv=notrunc"},
	{"cp", "cp file ../outside/"},
	{"tee", "echo x | tee ../outside/new"},
	{"sed in place", "sed -i s/p/q/ ../outside/file"},
	{"git", "git init -q ../outside/repo"},
	{"mount", "mount -t tmpfs none ../outside"},
	{"bind mount", "unshare -rm mount --bind . ../outside"},
	{"another root", "unshare -r chroot ../outside /bin/true && false"},
	{"of the parent", "echo x > $(dirname $PWD)/new"},
	{"kernel setting", "echo x > /proc/sys/kernel/core_pattern"},
}

func TestWritesOutsideAreDenied(t *testing.T) {
	needKernel(t)
	for _, tt := range escapes {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t)
			s := newSandbox(t, Options{Places: []string{p.ws}})
			if s.Level() != Full {
				t.Fatalf("level %v", s.Level())
			}
			before := p.state(t)
			if out, ok := p.run(t, s, tt.script); ok {
				t.Errorf("the command succeeded: %s", out)
			}
			if after := p.state(t); after != before {
				t.Errorf("outside was\n%s\nand is\n%s", before, after)
			}
			if _, err := os.Lstat(filepath.Join(p.dir, "new")); err == nil {
				t.Error("a file beside the workspace was made")
			}
		})
	}
}

func TestWhatIsAllowed(t *testing.T) {
	needKernel(t)
	for name, script := range map[string]string{
		"read outside":         "cat ../outside/file && ls -R ../outside && cat /etc/passwd >/dev/null",
		"create":               "echo x > new && mkdir -p a/b && mv new a/b/ && ln a/b/new a/hard && ln -s hard a/soft && mkfifo a/pipe && rm -r a",
		"move between places":  "mkdir d && mv file d/ && mv d/file ../second/ && rm ../second/file",
		"truncate":             "truncate -s 1 file",
		"devices":              "echo x >/dev/null && echo y >/dev/zero && head -c 8 /dev/urandom >/dev/null",
		"standard output":      "echo x > /dev/stdout && echo y > /dev/stderr && echo z > /proc/self/fd/1",
		"process substitution": "cat <(echo x) > >(cat)",
		"here-document":        "cat <<< x && cat <<E\ny\nE",
		"sockets":              "python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.bind(\"sock\")'",
		"single file":          "echo x > ../single && ! rm ../single 2>/dev/null",
		"terminal of its own":  "python3 -c 'import pty, os; m, s = pty.openpty(); os.write(s, b\"x\"); os.open(os.ttyname(s), os.O_RDWR | os.O_NOCTTY)'",
		"git":                  "git init -q r && cd r && echo a > f && git add f && git -c user.name=n -c user.email=e commit -qm m",
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(script, "python3") {
				if _, err := exec.LookPath("python3"); err != nil {
					t.Skip("there is no Python here to make the system call with")
				}
			}
			p := newPlace(t)
			second, single := filepath.Join(p.dir, "second"), filepath.Join(p.dir, "single")
			if err := os.Mkdir(second, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(single, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			s := newSandbox(t, Options{Places: []string{p.ws, second, single, filepath.Join(p.dir, "missing")}})
			// HOME is somewhere that cannot be written, as it is for the commands of an agent.
			if out, ok := p.run(t, s, "export HOME=/nonexistent; "+script); !ok {
				t.Errorf("the command failed: %s", out)
			}
		})
	}
}

// Without means the command runs as it is, and the level says so.
func TestKernelWithout(t *testing.T) {
	p := newPlace(t)
	s := newSandbox(t, Options{Places: []string{p.ws}, ABI: -1})
	if s.Level() != None {
		t.Errorf("level %v", s.Level())
	}
	if out, ok := p.run(t, s, "echo x > ../outside/new"); !ok {
		t.Errorf("the command failed: %s", out)
	}
	if got := newSandbox(t, Options{ABI: 1 << 20}); got.abi != kernelABI() {
		t.Errorf("a version that the kernel does not have is used: %d", got.abi)
	}
	if _, err := New(Options{Places: []string{"rel"}}); err == nil {
		t.Error("a relative place is accepted")
	}
}

// The first versions lack some rights; what they have must be asked for as they know it.
func TestOlderKernels(t *testing.T) {
	needKernel(t)
	for abi, level := range map[int]Level{1: Partial, 2: Partial, 3: Full} {
		p := newPlace(t)
		s := newSandbox(t, Options{Places: []string{p.ws}, ABI: abi})
		if s.Level() != level {
			t.Errorf("version %d: level %v, want %v", abi, s.Level(), level)
		}
		if out, ok := p.run(t, s, "echo x > ../outside/new"); ok {
			t.Errorf("version %d: wrote outside: %s", abi, out)
		}
		if out, ok := p.run(t, s, "echo x > new && mv new other"); !ok {
			t.Errorf("version %d: could not write inside: %s", abi, out)
		}
	}
}

// Only the child is confined: this process, and what it starts otherwise, is as before.
func TestOnlyTheChildIsConfined(t *testing.T) {
	needKernel(t)
	p := newPlace(t)
	s := newSandbox(t, Options{})
	free := newSandbox(t, Options{ABI: -1})
	for range 50 {
		if out, ok := p.run(t, s, "echo x > new"); ok {
			t.Fatalf("wrote without a place: %s", out)
		}
		if err := os.WriteFile(filepath.Join(p.outside, "ours"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if out, ok := p.run(t, free, "echo x > ../outside/theirs"); !ok {
			t.Fatalf("a command without sandbox failed: %s", out)
		}
	}
}

// The memory of this process is out of reach of a confined one, whoever runs the test.
func TestMemoryOfTheParent(t *testing.T) {
	needKernel(t)
	p := newPlace(t)
	const open = "exec 3< /proc/$PPID/mem"
	if out, ok := p.run(t, newSandbox(t, Options{}), open); ok {
		t.Errorf("opened: %s", out)
	}
}

func TestCaches(t *testing.T) {
	got := Caches([]string{"HOME=/h", "XDG_CACHE_HOME=/x", "GOPATH=/g:/g2:rel", "GOCACHE=rel", "GOMODCACHE=/"})
	want := []string{"/x", "/g/pkg", "/g2/pkg", "/h/.cache", "/h/go/pkg"}
	var found []string
	for _, dir := range got {
		if dir == "/" || !filepath.IsAbs(dir) || dir == "/h" {
			t.Errorf("%q is a place", dir)
		}
		for _, w := range want {
			if dir == w {
				found = append(found, dir)
			}
		}
	}
	if !reflect.DeepEqual(found, want) {
		t.Errorf("got %q of %q", found, got)
	}
	if got := Caches([]string{"HOME=/"}); len(got) != 0 {
		t.Errorf("without a home: %q", got)
	}
	if got := Temporary([]string{"TMPDIR=/t", "TMPDIR=rel"}); reflect.DeepEqual(got, nil) || strings.Contains(strings.Join(got, " "), "rel") {
		t.Errorf("got %q", got)
	}
}

func TestRepository(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here")
	}
	p := newPlace(t)
	script := `cd .. && export HOME=$PWD && git init -q main && cd main && mkdir sub && git -c user.name=n -c user.email=e commit -q --allow-empty -m m &&
		git worktree add -q ../tree && mkdir ../fake && echo "gitdir: $PWD/.git" > ../fake/.git && mkdir ../fake2 && echo "gitdir: $PWD/.git/worktrees/tree" > ../fake2/.git`
	if out, ok := p.run(t, newSandbox(t, Options{ABI: -1}), script); !ok {
		t.Fatal(out)
	}
	git := filepath.Join(p.dir, "main", ".git")
	for dir, want := range map[string][]string{
		"main": nil, "main/sub": {git}, "tree": {git}, "fake": nil, "fake2": nil, "outside": nil,
	} {
		if got := Repository(filepath.Join(p.dir, dir)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
}

func BenchmarkStart(b *testing.B) {
	for _, level := range []struct {
		name string
		abi  int
	}{{"without", -1}, {"confined", 0}} {
		b.Run(level.name, func(b *testing.B) {
			s, err := New(Options{Places: append(Temporary(os.Environ()), Caches(os.Environ())...), ABI: level.abi})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				cmd := exec.Command("/bin/true")
				if err := s.Start(cmd.Start); err != nil {
					b.Fatal(err)
				}
				if err := cmd.Wait(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
