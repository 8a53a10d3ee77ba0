package proc

import "golang.org/x/sys/unix"

// groupPids lists the live processes of a group; zombies are not alive.
func groupPids(pgid int) []int {
	procs, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", pgid)
	if err != nil {
		return nil
	}
	const zombie = 5 // SZOMB in sys/proc.h
	var pids []int
	for _, p := range procs {
		if p.Proc.P_stat != zombie {
			pids = append(pids, int(p.Proc.P_pid))
		}
	}
	return pids
}
