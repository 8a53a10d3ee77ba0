package tools

import (
	"crypto/sha256"
	"sync"
)

// version is the content of a file as a session has seen it. A hash alone tells: time and size would refuse files that
// were only touched, and miss changes within the clock's grain.
type version [sha256.Size]byte

func versionOf(data []byte) version { return sha256.Sum256(data) }

// session is what the tools remember of one conversation.
type session struct {
	mu    sync.Mutex
	seen  map[string]version // by resolved path
	todos []Todo
}

// saw records that the model knows the file at path with this content.
func (s *session) saw(path string, data []byte) {
	v := versionOf(data)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[path] = v
}

// stale says why the file at path, which now has this content, may not be changed; "" if it may.
func (s *session) stale(path string, data []byte) string {
	s.mu.Lock()
	v, ok := s.seen[path]
	s.mu.Unlock()
	switch {
	case !ok:
		return "this file exists and you have not read it in this session. Read it first, then try again"
	case v != versionOf(data):
		return "this file has changed since you last read it. Read it again and check that your change still makes sense"
	}
	return ""
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
