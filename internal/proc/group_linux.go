package proc

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// groupPids lists the live processes of a group; zombies are not alive.
func groupPids(pgid int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue // ended meanwhile
		}
		// "pid (name) state ppid pgrp …"; the name may hold anything.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 3 || string(fields[0]) == "Z" || string(fields[0]) == "X" {
			continue
		}
		if string(fields[2]) == strconv.Itoa(pgid) {
			pids = append(pids, pid)
		}
	}
	return pids
}
