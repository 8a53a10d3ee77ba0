package proc

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// process is one at one moment.
type process struct {
	pid, ppid, pgid int
	session         int
	start           uint64 // clock ticks after the system's start
	dead            bool   // a zombie: ended, and nobody has asked for its status yet
	halted          bool   // stopped by a signal
	name            string
}

// readProcess reads what the kernel says of a process; ok is false if there is
// none.
func readProcess(pid int) (p process, ok bool) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return process{}, false
	}
	// "pid (name) state ppid pgrp …"; the name may hold anything.
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return process{}, false
	}
	const state, ppid, pgrp, session, start = 0, 1, 2, 3, 19 // proc(5) counts from 3
	fields := bytes.Fields(stat[end+1:])
	if len(fields) <= start {
		return process{}, false
	}
	p = process{pid: pid, name: string(stat[open+1 : end])}
	p.dead = bytes.ContainsAny(fields[state], "ZXx")
	p.halted = fields[state][0] == 'T'
	p.ppid, _ = strconv.Atoi(string(fields[ppid]))
	p.pgid, _ = strconv.Atoi(string(fields[pgrp]))
	p.session, _ = strconv.Atoi(string(fields[session]))
	p.start, err = strconv.ParseUint(string(fields[start]), 10, 64)
	return p, err == nil
}

// allPIDs lists the processes that can be seen.
func allPIDs() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// descendants lists the live processes below root. One that is started or
// loses its parent meanwhile may be missing: look again.
func descendants(root int) []process {
	below := map[int][]process{}
	for _, pid := range allPIDs() {
		if p, ok := readProcess(pid); ok && !p.dead {
			below[p.ppid] = append(below[p.ppid], p)
		}
	}
	var list []process
	for todo := []int{root}; len(todo) > 0; todo = todo[1:] {
		list = append(list, below[todo[0]]...)
		for _, p := range below[todo[0]] {
			todo = append(todo, p.pid)
		}
		delete(below, todo[0]) // a number that is taken again must not make a circle
	}
	return list
}

// markName is the variable that marks the processes of a command.
const markName = "FLOWER_COMMAND"

// marked lists the live processes with the mark of a command, and those of the
// session that its keeper led: while a process starts a program its environment
// cannot be seen for a moment. The number of a keeper is not used again while
// its session lasts; if it was, what is found there must not count.
func marked(id string, keeper owner) []process {
	if _, other := readProcess(keeper.PID); other && !keeper.alive() {
		keeper.PID = -1
	}
	mark := []byte("\x00" + markName + "=" + id + "\x00")
	var list []process
	for _, pid := range allPIDs() {
		p, ok := readProcess(pid)
		if !ok || p.dead || pid == os.Getpid() {
			continue
		}
		if p.session == keeper.PID && p.start >= keeper.Start {
			list = append(list, p)
			continue
		}
		environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		if err != nil || !bytes.Contains(append([]byte{0}, environ...), mark) {
			continue
		}
		// It could have ended between the two looks, and another be read.
		if now, ok := readProcess(pid); ok && now.start == p.start {
			list = append(list, p)
		}
	}
	return list
}

// send signals the process if it is still the same one. The only errors are
// one that is gone and one that took other rights; neither leaves anything to
// do.
func (p process) send(sig syscall.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if errors.Is(err, unix.ENOSYS) { // before Linux 5.3
		if p.same() {
			_ = syscall.Kill(p.pid, sig)
		}
		return
	}
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	if p.same() { // and what fd stands for cannot change any more
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

// same says whether the process is there and not another one with its number.
func (p process) same() bool {
	now, ok := readProcess(p.pid)
	return ok && now.start == p.start
}

// signalAll signals processes. Those of the group pgid get SIGKILL at one
// moment, so that none can start another in between.
func signalAll(list []process, pgid int, sig syscall.Signal) {
	for _, p := range list {
		if sig == syscall.SIGKILL && pgid > 1 && p.pgid == pgid && p.same() {
			_ = syscall.Kill(-pgid, sig)
			break
		}
	}
	for _, p := range list {
		p.send(sig)
	}
}
