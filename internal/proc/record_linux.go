package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// record notes a command that runs, for the flower that comes after this one
// was killed. A start time goes with each process id: numbers are used again.
type record struct {
	Mark   string `json:"mark"`   // of the command's processes
	Keeper owner  `json:"keeper"` // its keeper
	Flower owner  `json:"flower"` // whoever runs it; while it is alive nobody else has to care
	Boot   string `json:"boot"`   // of the system: after a restart nothing of this is true
}

// owner is a process as it can be told from others.
type owner struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks after the system's start
}

func ownerOf(pid int) owner {
	p, _ := readProcess(pid)
	return owner{PID: pid, Start: p.start}
}

func (o owner) alive() bool {
	p, ok := readProcess(o.PID)
	return ok && !p.dead && p.start == o.Start
}

// bootID names this start of the system.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

const recordEnd = ".json"

// note writes the record of a child whose keeper waits for what to run, and
// returns its path, "" if it could not be written: the keeper ends what it has
// started by itself, and the record is for when that fails. Nothing is synced,
// because after a power failure nothing runs.
func note(dir string, c *child) string {
	if dir == "" {
		return ""
	}
	data, err := json.Marshal(record{Mark: c.id, Keeper: c.owner, Flower: ownerOf(os.Getpid()), Boot: bootID()})
	if err != nil || os.MkdirAll(dir, 0o700) != nil {
		return ""
	}
	path := filepath.Join(dir, c.id+recordEnd)
	if os.WriteFile(path, data, 0o600) != nil {
		_ = os.Remove(path)
		return ""
	}
	return path
}

// EndLeftovers ends what commands of a flower that was killed have left
// running, of all that are noted in the directory records, and returns what it
// found alive. Commands of a flower that is alive are not touched, and neither
// is a process that only has the number of one that was noted. It waits until
// what it ends is gone, about DefaultGrace at most. A directory that is missing
// holds nothing.
func EndLeftovers(records string) ([]Process, error) {
	entries, err := os.ReadDir(records)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("end leftover commands: %w", err)
	}
	boot := bootID()
	var ended []Process
	var orphans []record
	for _, e := range entries {
		path := filepath.Join(records, e.Name())
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), recordEnd) {
			continue
		}
		r, ok := readRecord(path)
		if ok && r.Boot == boot && r.Flower.alive() {
			continue
		}
		if ok && r.Boot == boot {
			orphans = append(orphans, r)
			for _, p := range r.members() {
				ended = append(ended, Process{PID: p.pid, Name: p.name})
			}
		}
		defer func() { _ = os.Remove(path) }() // a torn one was never acted on
	}
	endOrphans(orphans)
	return ended, nil
}

func readRecord(path string) (record, bool) {
	const most = 4 << 10
	info, err := os.Lstat(path)
	if err != nil || info.Size() > most {
		return record{}, false
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return record{}, false
	}
	var r record
	err = json.Unmarshal(data, &r)
	return r, err == nil && r.Keeper.PID > 1 && len(r.Mark) == 32
}

// members are the live processes of the command, without its keeper.
func (r record) members() []process {
	list := marked(r.Mark, r.Keeper)
	if r.Keeper.alive() {
		seen := map[int]bool{}
		for _, p := range list {
			seen[p.pid] = true
		}
		for _, p := range descendants(r.Keeper.PID) {
			if !seen[p.pid] {
				list = append(list, p)
			}
		}
	}
	others := list[:0]
	for _, p := range list {
		if p.pid != r.Keeper.PID {
			others = append(others, p)
		}
	}
	return others
}

// endOrphans ends the processes of commands in stages. Their keepers, where
// they are alive, do the same at this moment, and end after them.
func endOrphans(orphans []record) {
	signal := func(sig syscall.Signal) (alive bool) {
		for _, r := range orphans {
			list := r.members()
			signalAll(list, 0, sig)
			alive = alive || len(list) > 0
		}
		return alive
	}
	if len(orphans) == 0 || !signal(syscall.SIGTERM) {
		return
	}
	signal(syscall.SIGCONT)
	poll := time.NewTicker(pollTime)
	defer poll.Stop()
	quiet := 0
	grace := time.Now().Add(DefaultGrace)
	for time.Now().Before(grace.Add(killWait)) {
		sig := syscall.Signal(0) // only looks
		if time.Now().After(grace) {
			sig = syscall.SIGKILL
		}
		if signal(sig) {
			quiet = 0
		} else if quiet++; quiet == quietLooks {
			return
		}
		<-poll.C
	}
}
