package main_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"flower"
	"flower/agent"
	"flower/internal/cli"
	"flower/internal/disk"
	"flower/internal/storetest"
	"flower/modeltest"
	"flower/sqlite"

	_ "modernc.org/sqlite" // for changes behind flower's back
)

// site is a directory in which a job was done, and that can be put back as it was then.
type site struct {
	*testing.T
	root  string // holds the directory, and others beside it
	dir   string
	saved string
	env   []string
}

const (
	goalOfBell    = "# Goal\n\nA bell.\n\n# Checklist\n\n- it rings\n"
	verdictOnBell = "## Conclusion\nachieved\n\n## Reason\nIt rings.\n"
)

func newSite(t *testing.T) *site {
	server := modeltest.Start(t, modeltest.Options{BindThinking: true, Player: modeltest.Script{
		{Role: modeltest.Clarifier, Play: modeltest.Say(settled)},
		{Role: modeltest.GoalSetter, Play: modeltest.Say(goalOfBell)},
		{Role: modeltest.Judge, Play: modeltest.Say(verdictOnBell)},
		{Play: modeltest.Say("It rings.")},
	}})
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{T: t, root: root, dir: filepath.Join(root, "p"), saved: filepath.Join(root, "saved")}
	s.env = []string{
		"HOME=" + root, "NO_PROXY=127.0.0.1", "COLUMNS=1000", "LANG=C",
		"ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=" + server.Key,
	}
	s.must(os.Mkdir(s.dir, 0o755))
	if code, out := s.run("a bell"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	s.must(os.CopyFS(s.saved, os.DirFS(s.dir)))
	return s
}

func (s *site) must(errs ...error) {
	s.Helper()
	for _, err := range errs {
		if err != nil {
			s.Fatal(err)
		}
	}
}

// restore puts the directory back, and takes everything else away.
func (s *site) restore() {
	s.Helper()
	entries, err := os.ReadDir(s.root)
	s.must(err)
	for _, e := range entries {
		if e.Name() != "saved" {
			s.must(os.RemoveAll(filepath.Join(s.root, e.Name())))
		}
	}
	s.must(os.CopyFS(s.dir, os.DirFS(s.saved)))
}

// run runs flower in the directory, without anybody at the terminal.
func (s *site) run(args ...string) (code int, out string) { return s.runIn(s.dir, args...) }

func (s *site) runIn(dir string, args ...string) (code int, out string) {
	var said output
	code = cli.Main(append([]string{"--lang", "en"}, args...), s.env,
		cli.Stdio{In: strings.NewReader(""), Out: &said, Err: &said},
		cli.Options{Dir: dir, Signals: make(chan os.Signal), Retry: agent.Retry{Base: time.Millisecond, Max: 2 * time.Millisecond, Interval: time.Millisecond}})
	return code, said.String()
}

// output is standard output and standard error of a run in one, as a terminal has them.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// remarks are the lines that say that something is odd, or why it ended.
func remarks(out string) (lines []string) {
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "! ") || strings.HasPrefix(line, "flower: ") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

// says checks that a run has said one thing, or nothing.
func (s *site) says(out, pattern string) {
	s.Helper()
	lines := remarks(out)
	switch {
	case pattern == "" && len(lines) == 0:
	case pattern != "" && len(lines) == 1 && regexp.MustCompile("^"+pattern+"$").MatchString(lines[0]):
	default:
		s.Errorf("said %q, want one line like %q\n%s", lines, pattern, out)
	}
}

// keeps checks that bytes still exist in some file.
func (s *site) keeps(data []byte) {
	s.Helper()
	found := false
	s.must(filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == s.saved {
			if path == s.saved {
				return fs.SkipDir
			}
			return err
		}
		if d.Type().IsRegular() && !found {
			got, err := os.ReadFile(path)
			found = err == nil && bytes.Equal(got, data)
		}
		return nil
	}))
	if !found {
		s.Errorf("%d bytes are gone", len(data))
	}
}

// damage changes a file; it returns the bytes that must not be lost, nil for something that holds none.
type damage struct {
	name string
	do   func(path string, old []byte) error
}

func content(change func(old []byte) []byte) func(string, []byte) error {
	return func(path string, old []byte) error { return os.WriteFile(path, change(bytes.Clone(old)), 0o600) }
}

func instead(put func(path string) error) func(string, []byte) error {
	return func(path string, _ []byte) error {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		return put(path)
	}
}

var damages = []damage{
	{"missing", instead(func(string) error { return nil })},
	{"empty", content(func([]byte) []byte { return nil })},
	{"half", content(func(old []byte) []byte { return old[:len(old)/2] })},
	{"cut", content(func(old []byte) []byte { return old[:max(len(old)-2, 0)] })},
	{"nul", content(func(old []byte) []byte { return make([]byte, len(old)) })},
	{"type", content(func([]byte) []byte { return []byte(`"of another type"`) })},
	{"latin", content(func(old []byte) []byte { return append([]byte{0xe9, 0xff}, old...) })},
	{"directory", instead(func(path string) error { return os.Mkdir(path, 0o700) })},
	{"pipe", instead(func(path string) error { return syscall.Mkfifo(path, 0o600) })},
	{"loop", instead(func(path string) error { return os.Symlink(filepath.Base(path), path) })},
	{"unreadable", func(path string, _ []byte) error { return os.Chmod(path, 0) }},
}

// odd says of a damage that it leaves no regular file.
func odd(damage string) bool { return damage == "directory" || damage == "pipe" || damage == "loop" }

// What is said of each file; in the order of damages as far as it differs.
const (
	unused    = `! not used: a file of earlier runs cannot be read \(.*\); it is kept as runs/%s\.bad-\d{8}-\d{6}`
	unwritten = `! %s cannot be written, it is tried again later: .*`
	unlocked  = `! locks do not work in the run directory, so nothing keeps a second flower out: .*`
	newStore  = `! starting with a new store: the old one cannot be used \(this is no store of conversations of flower.*\); it is kept as runs/sessions\.db\.bad-\d{8}-\d{6}`
	again     = `! %s begins again: \.flower/notes/%s is damaged or unfinished; it goes to the archive when a new one is there`
)

// row is what is expected of a file under a damage.
type row struct {
	code int
	says string // pattern of the one line; "" is nothing
	stay bool   // the next run says the same, until somebody removes what is in the way
}

// ours are the files of a directory, and what is to happen.
var ours = []struct {
	name string
	want func(damage string) row
}{
	{"runs/lineage.json", func(d string) row {
		switch d {
		case "missing":
			return row{}
		case "type":
			return row{says: `! starting fresh: the lineage does not have the right form \(.*\); it is kept as runs/lineage\.json\.bad-.*`}
		}
		return row{says: fmt.Sprintf(unused, `lineage\.json`)}
	}},
	{"runs/manifest.json", func(d string) row {
		if d == "missing" {
			return row{}
		}
		return row{says: fmt.Sprintf(unused, `manifest\.json`)}
	}},
	{"runs/archiving.json", func(d string) row {
		if d == "missing" {
			return row{}
		}
		return row{says: fmt.Sprintf(unused, `archiving\.json`)}
	}},
	{"runs/sessions.db", func(d string) row {
		switch d {
		case "missing", "empty":
			return row{says: `! work starts in a new session: the store does not know .*`}
		case "unreadable":
			return row{code: 2, says: `flower: run directory: no permission .*`, stay: true}
		}
		return row{says: newStore}
	}},
	{"runs/sessions.db-wal", sidecar(`sessions\.db-wal`)},
	{"runs/sessions.db-shm", sidecar(`sessions\.db-shm`)},
	{"runs/sessions.db-journal", sidecar(`sessions\.db-journal`)},
	{"runs/flower.lock", lockFile(unlocked, true)},
	{"runs/leases", func(d string) row {
		if d == "pipe" || d == "loop" {
			return row{says: unlocked, stay: true}
		}
		return row{}
	}},
	{"runs/.lineage.json.lock", lockFile(fmt.Sprintf(unwritten, `runs/lineage\.json`), false)},
	{"runs/.manifest.json.lock", lockFile(fmt.Sprintf(unwritten, `runs/manifest\.json`), false)},
	{"runs/.sessions.db.lock", func(string) row { return row{} }},
	{".flower/notes/需求.md", document("clarify", `需求\.md`, "latin")},
	{".flower/notes/目标.md", document("set goal", `目标\.md`, "")},
	{".flower/notes/问答记录.md", func(string) row { return row{} }},
	{".flower/INDEX.md", func(d string) row {
		if odd(d) || d == "unreadable" {
			return row{says: fmt.Sprintf(unwritten, `\.flower/INDEX\.md`), stay: true}
		}
		return row{}
	}},
	{".flower/spill/.notes.lock", func(string) row { return row{} }},
	{".flower/spill/.gitignore", func(string) row { return row{} }},
	{".env", func(d string) row {
		switch d {
		case "type", "latin", "pipe", "loop", "unreadable":
			return row{code: 4, says: `flower: .*/\.env(, line \d)?: .*; .*|flower: .*/\.env: not UTF-8 text; save it as UTF-8`, stay: true}
		}
		return row{}
	}},
}

// sidecar is what happens with a file beside the store: it goes if it is none.
func sidecar(name string) func(string) row {
	return func(d string) row {
		if odd(d) {
			return row{says: fmt.Sprintf(unused, name)}
		}
		return row{}
	}
}

// lockFile is what happens with a lock file, of which only the lock counts. A pipe may be lockable.
func lockFile(says string, pipe bool) func(string) row {
	return func(d string) row {
		if odd(d) && (d != "pipe" || pipe) || d == "unreadable" {
			return row{says: says, stay: true}
		}
		return row{}
	}
}

// document is what happens with a frozen document. whole is a damage that leaves all that is needed; the last bytes are no
// loss of a section either.
func document(step, name, whole string) func(string) row {
	return func(d string) row {
		if d == "missing" || d == "cut" || d == whole {
			return row{}
		}
		return row{says: fmt.Sprintf(again, step, name)}
	}
}

// TestDamage damages every file of ours in every way: what is said of it, the exit code, that the run goes on, that no byte
// is lost, and that the next run has nothing to say any more.
func TestDamage(t *testing.T) {
	s := newSite(t)
	for _, file := range ours {
		for _, d := range damages {
			if d.name == "unreadable" && os.Geteuid() == 0 {
				continue // root reads everything
			}
			s.restore()
			path := filepath.Join(s.dir, filepath.FromSlash(file.name))
			old, _ := os.ReadFile(path)
			if d.do(path, old) != nil {
				continue // not possible with this one: it is a directory, or not there
			}
			var damaged []byte
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				damaged, _ = os.ReadFile(path)
			}
			kept := len(damaged) > 0 && !strings.HasSuffix(file.name, ".lock")
			s.sub(file.name+" "+d.name, func(s *site) {
				want := file.want(d.name)
				code, out := s.run("--timeout", "0")
				s.says(out, want.says)
				if code != want.code {
					s.Errorf("exit code %d, want %d\n%s", code, want.code, out)
				}
				if kept && want.says != "" {
					s.keeps(damaged)
				}
				code, out = s.run("--timeout", "0")
				if !want.stay {
					want = row{}
				}
				s.says(out, want.says)
				if code != want.code {
					s.Errorf("the second time: exit code %d, want %d\n%s", code, want.code, out)
				}
			})
		}
	}
}

// sub is a case of its own in the same directory.
func (s *site) sub(name string, f func(*site)) {
	s.Run(name, func(t *testing.T) {
		c := *s
		c.T = t
		f(&c)
	})
}

// TestStoreOfOthers: a store that is whole and not ours to change is refused, unchanged.
func TestStoreOfOthers(t *testing.T) {
	s := newSite(t)
	for _, test := range []struct {
		name, sql, says string
		code            int
	}{
		{"newer", `INSERT INTO flower_schema VALUES (999, 'later', 0)`, `flower: a newer flower has written this store: .* - nothing was changed; update flower, or .* -r`, 4},
		{"foreign", `DROP TABLE entries; DROP TABLE flower_schema`, `flower: .*tables of another program .* - nothing was changed; use another run directory .*`, 2},
	} {
		s.sub(test.name, func(s *site) {
			s.restore()
			path := filepath.Join(s.dir, "runs", "sessions.db")
			s.sql(path, test.sql)
			before, err := os.ReadFile(path)
			s.must(err)
			for _, args := range [][]string{{"--timeout", "0"}, {"once", "hello"}, {"--timeout", "0", "louder"}} {
				code, out := s.run(args...)
				s.says(out, test.says)
				if code != test.code {
					s.Errorf("%v: exit code %d, want %d", args, code, test.code)
				}
			}
			after, err := os.ReadFile(path)
			if s.must(err); !bytes.Equal(before, after) {
				s.Error("it was changed")
			}
			if code, out := s.run("status"); code != 0 {
				s.Errorf("status: exit code %d\n%s", code, out)
			}
		})
	}
}

// sql changes a database behind flower's back.
func (s *site) sql(path, statements string) {
	s.Helper()
	db, err := sql.Open("sqlite", path)
	s.must(err)
	_, err = db.Exec(statements)
	s.must(err, db.Close())
}

// TestDamageDeepInside: damage in a store that is too large to be read as a whole each time is met where it lies. It is
// said what to do, and that helps.
func TestDamageDeepInside(t *testing.T) {
	s := newSite(t)
	s.restore()
	ctx := t.Context()
	path := filepath.Join(s.dir, "runs", "sessions.db")
	store, err := sqlite.Open(ctx, path, sqlite.Options{Workspace: s.dir})
	s.must(err)
	other := agent.Key{Project: flower.ProjectKey(s.dir), Session: "other"}
	s.must(store.Append(ctx, other, storetest.Entries(strings.Repeat("x", 1000), 8000)...), store.Close())
	data, err := os.ReadFile(path)
	s.must(err)
	const page = 8192
	hit := 0
	for at := page; at < len(data); at += page {
		if bytes.Contains(data[at:at+page], []byte("It rings.")) {
			clear(data[at : at+100])
			hit++
		}
	}
	if s.must(os.WriteFile(path, data, 0o600)); hit == 0 || len(data) < 20<<20 {
		t.Fatalf("%d pages of %d bytes damaged", hit, len(data))
	}
	code, out := s.run("--timeout", "0")
	if s.says(out, `flower: .*the store of conversations is damaged.* - nothing of it was changed; start flower again: .*`); code != 1 {
		t.Errorf("exit code %d\n%s", code, out)
	}
	code, out = s.run("--timeout", "0")
	if s.says(out, newStore); code != 0 {
		t.Errorf("the second time: exit code %d\n%s", code, out)
	}
	kept, err := filepath.Glob(path + ".bad-*")
	if s.must(err); len(kept) == 0 {
		t.Fatal("it is gone")
	}
	if info, err := os.Stat(kept[0]); err != nil || info.Size() < int64(len(data)) {
		t.Errorf("it was kept in part: %v, %v", info, err)
	}
}

// TestDamagedStoreInUse: a damaged store stays where it is while a flower is at work, if only in a session.
func TestDamagedStoreInUse(t *testing.T) {
	s := newSite(t)
	for _, name := range []string{"flower.lock", "leases/one.lock"} {
		s.sub(name, func(s *site) {
			s.restore()
			runs := filepath.Join(s.dir, "runs")
			damaged := []byte("no store")
			s.must(os.WriteFile(filepath.Join(runs, "sessions.db"), damaged, 0o600), os.MkdirAll(filepath.Join(runs, "leases"), 0o700))
			lease, err := disk.TakeLease(filepath.Join(runs, filepath.FromSlash(name)), s.owner(`"run":"x"`))
			s.must(err)
			code, out := s.run("once", "hello")
			if s.says(out, `flower: .*this is no store of conversations.*`); code != 2 {
				s.Errorf("exit code %d\n%s", code, out)
			}
			if got, err := os.ReadFile(filepath.Join(runs, "sessions.db")); err != nil || !bytes.Equal(got, damaged) {
				s.Errorf("it was put aside: %q, %v", got, err)
			}
			s.must(lease.Release())
			code, out = s.run("once", "hello")
			if s.says(out, newStore); code != 0 {
				s.Errorf("afterwards: exit code %d\n%s", code, out)
			}
		})
	}
}

// owner is what a lease says of its holder, this process.
func (s *site) owner(fields string) []byte {
	host, err := os.Hostname()
	s.must(err)
	return fmt.Appendf(nil, `{"pid":%d,"host":%q,"started_at":1767323045.5,%s}`, os.Getpid(), host, fields)
}

// TestKillWhilePuttingAside: a process that is killed while it puts a store aside loses nothing of it.
func TestKillWhilePuttingAside(t *testing.T) {
	s := newSite(t)
	s.restore()
	path, log := filepath.Join(s.dir, "runs", "sessions.db"), []byte("what is not in the database yet")
	s.must(os.WriteFile(path, []byte("no store"), 0o600), os.WriteFile(path+"-wal", log, 0o600))
	s.killed(s.dir, "aside.inside:1", "--timeout", "0")
	code, said := s.run("--timeout", "0")
	s.says(said, `! starting with a new store: .*it is missing, and its log is not\); it is kept as runs/sessions\.db-wal\.bad-\d{8}-\d{6}`)
	if code != 0 {
		t.Errorf("exit code %d\n%s", code, said)
	}
	s.keeps(log)
	s.keeps([]byte("no store"))
	code, said = s.run("--timeout", "0")
	if s.says(said, ""); code != 0 {
		t.Errorf("the second time: exit code %d\n%s", code, said)
	}
}

// TestLineageIDs: ids that are unknown, empty, foreign or none.
func TestLineageIDs(t *testing.T) {
	s := newSite(t)
	for _, test := range []struct{ id, says string }{
		{`"00000000-0000-4000-8000-000000000000"`, `! work starts in a new session: the store does not know 0{8}-.*`},
		{`""`, `! work starts in a new session: .*`},
		{`7`, `! work starts in a new session: .*`},
		{`null`, `! work starts in a new session: .*`},
		{`"../../etc/passwd"`, `! work starts in a new session: .*`},
		{`"a\u0000b"`, `! work starts in a new session: .*`},
	} {
		s.sub(test.id, func(s *site) {
			s.restore()
			path := filepath.Join(s.dir, "runs", "lineage.json")
			data, err := os.ReadFile(path)
			s.must(err)
			changed := regexp.MustCompile(`"干活": "[^"]*"`).ReplaceAllLiteral(data, []byte(`"干活": `+test.id))
			s.must(os.WriteFile(path, changed, 0o600))
			code, out := s.run("--timeout", "0")
			s.says(out, test.says)
			if code != 0 {
				s.Errorf("exit code %d\n%s", code, out)
			}
		})
	}
}

// TestLineageCount: of a lineage whose number of wakes is none the sessions are used all the same.
func TestLineageCount(t *testing.T) {
	s := newSite(t)
	s.restore()
	path := filepath.Join(s.dir, "runs", "lineage.json")
	data, err := os.ReadFile(path)
	s.must(err)
	changed := regexp.MustCompile(`"woke": \d+`).ReplaceAllLiteral(data, []byte(`"woke": "often"`))
	s.must(os.WriteFile(path, changed, 0o600))
	code, out := s.run("--timeout", "0")
	if s.says(out, `! wakes are counted from 1 again: .*; it is kept as runs/lineage\.json\.bad-\d{8}-\d{6}`); code != 0 {
		t.Errorf("exit code %d\n%s", code, out)
	}
	s.keeps(changed)
	steps := regexp.MustCompile(`"steps": (?s:.*)`)
	after, err := os.ReadFile(path)
	if s.must(err); !bytes.Equal(steps.Find(after), steps.Find(data)) {
		t.Errorf("the steps were\n%s\nand are\n%s", data, after)
	}
	if code, out := s.run("--timeout", "0"); code != 0 || len(remarks(out)) > 0 {
		t.Errorf("the second time: exit code %d\n%s", code, out)
	}
}

// TestReadOnlyRunDir: nothing can be written, so nothing is begun, and nothing has changed.
func TestReadOnlyRunDir(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root writes everywhere")
	}
	s := newSite(t)
	s.restore()
	runs := filepath.Join(s.dir, "runs")
	s.must(os.Chmod(runs, 0o500))
	t.Cleanup(func() { _ = os.Chmod(runs, 0o700) })
	code, out := s.run("--timeout", "0")
	if s.says(out, `flower: run directory: no permission .*`); code != 2 {
		t.Errorf("exit code %d", code)
	}
	if code, out := s.run("status"); code != 0 || len(remarks(out)) > 0 {
		t.Errorf("status: exit code %d\n%s", code, out)
	}
}
