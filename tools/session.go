package tools

import (
	"crypto/sha256"
	"strings"
	"sync"
)

// version is the content of a file as a session has seen it. A hash alone tells whether it is the same: time and size
// would refuse files that were only touched, and miss changes within the clock's grain.
type version struct {
	hash [sha256.Size]byte
	data string // to say what has changed; "" if it is not kept
}

// Bounds of what is kept to say what has changed, in bytes. When a session has more, it forgets all of it.
const (
	keptFile    = 256 << 10
	keptSession = 8 << 20
)

// session is what the tools remember of one conversation.
type session struct {
	mu    sync.Mutex
	seen  map[string]version // by resolved path
	kept  int                // bytes of data in seen
	todos []Todo
}

// saw records that the model knows the file at path with this content.
func (s *session) saw(path string, data []byte) {
	v := version{hash: sha256.Sum256(data)}
	if len(data) <= keptFile {
		v.data = string(data)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept += len(v.data) - len(s.seen[path].data)
	s.seen[path] = v
	if s.kept <= keptSession {
		return
	}
	s.kept = 0
	for path, v := range s.seen {
		s.seen[path] = version{hash: v.hash}
	}
}

// stale says why the file at path, which now has this content, may not be changed, and what has changed in it; "" if it
// may. What could be said in full is known to the model from then on.
func (s *session) stale(path string, data []byte) string {
	s.mu.Lock()
	v, ok := s.seen[path]
	s.mu.Unlock()
	switch {
	case !ok:
		return "this file exists and you have not read it in this session. Read it first, then try again"
	case v.hash == sha256.Sum256(data):
		return ""
	}
	const changed, again = "this file has changed since you last read it", "Read it again and check that your change still makes sense"
	if len(data) > keptFile || v.data == "" {
		return changed + ". " + again
	}
	_, wasText := parseText([]byte(v.data))
	_, isText := parseText(data)
	d := compare("file", plain([]byte(v.data)), plain(data))
	switch {
	case !wasText || !isText || len(d.lines) == 0:
		return changed + ". " + again
	case d.more > 0 || strings.Contains(d.String(), " …") || strings.HasSuffix(d.String(), "…"):
		return changed + ":\n" + d.String() + "\n" + again
	}
	s.saw(path, data)
	return changed + ":\n" + d.String() + "\nThis is all that changed. If your change still makes sense, make the same call again"
}

// locks are mutexes by name that exist only while somebody uses them. The zero value is ready.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	sync.Mutex
	users int // guarded by locks.mu
}

// hold waits for the lock of that name and returns the function that frees it.
func (l *locks) hold(name string) (release func()) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*lock{}
	}
	k := l.held[name]
	if k == nil {
		k = &lock{}
		l.held[name] = k
	}
	k.users++
	l.mu.Unlock()

	k.Lock()
	return func() {
		k.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.held, name)
		}
	}
}
