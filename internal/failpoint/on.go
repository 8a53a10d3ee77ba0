//go:build failpoints

package failpoint

import (
	"fmt"
	"os"
	"sync"
	"syscall"
)

// On says whether this program was built with the tag: what only serves to name a point is not done without it.
const On = true

var (
	mu   sync.Mutex
	hits = map[string]int{} // guarded by mu
	log  = openLog()        // from the beginning: later a thread may be one that can write in few places
)

// openLog opens the file of EnvLog; nil if there is none. A log that misses hits would say that there are no more.
func openLog() *os.File {
	path := os.Getenv(EnvLog)
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	return f
}

// At is one hit of a point.
func At(name string) {
	mu.Lock()
	defer mu.Unlock()
	hits[name]++
	if log != nil {
		if _, err := fmt.Fprintln(log, name); err != nil {
			panic(err)
		}
	}
	if os.Getenv(Env) == fmt.Sprintf("%s:%d", name, hits[name]) {
		die()
	}
}

// die does not return, and no other point is passed meanwhile: mu is held.
func die() {
	target := os.Getpid()
	if syscall.Getpgrp() == target {
		target = -target
	}
	_ = syscall.Kill(target, syscall.SIGKILL)
	select {}
}
