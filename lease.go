package flower

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"flower/agent"
	"flower/internal/disk"
)

// Two kinds of leases keep flowers apart. One is of the run directory: whoever has it works through the workflow there.
// The others are of sessions: whoever has one may append to that session. The kernel frees them when their holder dies,
// and not before: a process that was stopped still holds them.

const (
	runLeaseFile = "flower.lock" // in the run directory
	leasesDir    = "leases"      // in the run directory: one file for each session in use
)

// Owner is who holds a lease. The zero value is somebody who has not said so yet.
type Owner struct {
	PID       int
	Host      string
	Started   time.Time // when it took the lease
	Run       string    // id of its run, as in the manifest
	Workspace string    // where it works; "" if that is not known

	Step     string  // manifest label of the attempt that goes on or was the last; "" before the first
	CostUSD  float64 // of its run so far, subagents included
	Unpriced bool    // CostUSD is too low

	Waiting agent.Outage // for the end of which requests wait; NoOutage: they do not
	Since   time.Time    // they began to
}

// InUse is the error for a run directory or a session that another flower, or another run of this process, has.
type InUse struct {
	Session string // "": it is the run directory
	Owner   Owner
}

// Error implements error.
func (e *InUse) Error() string {
	what, by := "the run directory", "another flower"
	if e.Session != "" {
		what = "session " + e.Session
	}
	if e.Owner.PID != 0 {
		by += fmt.Sprintf(" (pid %d on %s, since %s)", e.Owner.PID, e.Owner.Host, e.Owner.Started.Format(time.DateTime))
	}
	return what + " is in use by " + by
}

// ErrLeaseLost ends an attempt whose lease keeps nobody out any more, because its file was removed or replaced. Another
// flower may be at work by then.
var ErrLeaseLost = errors.New("the lock file that keeps other flowers out was removed or replaced")

// ownerRecord is the shape on disk.
type ownerRecord struct {
	PID       int     `json:"pid"`
	Host      string  `json:"host"`
	StartedAt float64 `json:"started_at"`
	Run       string  `json:"run"`
	Workspace string  `json:"workspace,omitempty"`
	Step      string  `json:"step"`
	CostUSD   float64 `json:"cost_usd"`
	Unpriced  bool    `json:"unpriced,omitempty"`
	Waiting   string  `json:"waiting,omitempty"`
	Since     float64 `json:"waiting_since,omitempty"`
}

// note is the owner as it stands in the lease's file. What makes it too long is left out.
func (o Owner) note() []byte {
	record := ownerRecord{
		PID: o.PID, Host: o.Host, StartedAt: unixSeconds(o.Started), Run: o.Run, Workspace: o.Workspace, Step: o.Step,
		CostUSD: o.CostUSD, Unpriced: o.Unpriced,
	}
	if o.Waiting != agent.NoOutage {
		record.Waiting, record.Since = o.Waiting.String(), unixSeconds(o.Since)
	}
	data, err := marshal(record)
	if err == nil && len(data) > disk.MaxNote {
		record.Workspace = ""
		data, err = marshal(record)
	}
	if err != nil || len(data) > disk.MaxNote {
		return nil
	}
	return data
}

// parseOwner reads a note; false if it is none.
func parseOwner(note []byte) (Owner, bool) {
	var r ownerRecord
	if json.Unmarshal(note, &r) != nil || r.PID <= 0 {
		return Owner{}, false
	}
	o := Owner{
		PID: r.PID, Host: r.Host, Started: fromUnix(r.StartedAt).Local(), Run: r.Run, Workspace: r.Workspace, Step: r.Step,
		CostUSD: r.CostUSD, Unpriced: r.Unpriced,
	}
	for _, outage := range []agent.Outage{agent.Offline, agent.Portal, agent.Busy} {
		if r.Waiting == outage.String() {
			o.Waiting, o.Since = outage, fromUnix(r.Since).Local()
		}
	}
	return o, true
}

// Running says whether a flower works through a workflow in a run directory ("" is DefaultRunDir), and which. It writes
// nothing, and works on a read-only disk and where there is no such directory.
func Running(runDir string) (Owner, bool) {
	if runDir == "" {
		runDir = DefaultRunDir
	}
	return holder(filepath.Join(runDir, runLeaseFile))
}

// Using says whether a flower is at work in a session of a run directory, and which. It writes nothing, like Running.
func Using(runDir, session string) (Owner, bool) {
	if runDir == "" {
		runDir = DefaultRunDir
	}
	return holder(filepath.Join(runDir, leasesDir, leaseName(session)))
}

// Busy says whether a flower is at work in a run directory at all, in a workflow or in a session alone, and which. It
// writes nothing, like Running.
func Busy(runDir string) (Owner, bool) {
	if runDir == "" {
		runDir = DefaultRunDir
	}
	if owner, runs := Running(runDir); runs {
		return owner, true
	}
	files, _ := os.ReadDir(filepath.Join(runDir, leasesDir)) // where there is none nobody has one
	for _, f := range files {
		if owner, held := holder(filepath.Join(runDir, leasesDir, f.Name())); held {
			return owner, true
		}
	}
	return Owner{}, false
}

// Hold keeps others from working in a session of a run directory ("" is DefaultRunDir) until release is called. The error
// is *InUse if a flower is at work in it, or one of the system, as of a full disk. Where the file system has no locks nobody
// is kept from anything.
func Hold(runDir, session string) (release func(), err error) {
	if runDir == "" {
		runDir = DefaultRunDir
	}
	host, _ := os.Hostname() // "" says as much
	lease, err := takeLease(filepath.Join(runDir, leasesDir, leaseName(session)), session, Owner{PID: os.Getpid(), Host: host, Started: time.Now()})
	var busy *InUse
	if errors.As(err, &busy) || exhausted(err) {
		return nil, err
	}
	return func() {
		if lease != nil {
			_ = lease.Release() // it is free in any case
		}
	}, nil
}

// Whoever has just taken a lease needs a moment to say who it is.
const (
	ownerTries = 50
	ownerPause = 2 * time.Millisecond
)

// ghostTries is how often it is looked whether a dead owner's lease is free: a child that a process was about to start
// when it was killed has the lock too, until the system has started it.
const ghostTries = 500

// holder says whether somebody holds a lease, and who.
func holder(path string) (Owner, bool) {
	for try := 1; ; try++ {
		note, held, err := disk.PeekLease(path)
		if !held {
			return Owner{}, false
		}
		owner, ok := parseOwner(note)
		most := ownerTries
		if ok {
			most = ghostTries
		}
		if ok && !owner.gone() || err != nil || try >= most {
			return owner, true
		}
		time.Sleep(ownerPause)
	}
}

// gone says that an owner's process has ended for sure. One of another host may live.
func (o Owner) gone() bool {
	host, err := os.Hostname()
	return err == nil && o.Host == host && errors.Is(syscall.Kill(o.PID, 0), syscall.ESRCH)
}

// takeLease takes the lease at path for o. The error is *InUse if another has it; any other one says that leases do not work there.
func takeLease(path, session string, o Owner) (*disk.Lease, error) {
	const most = 10 // times that a holder goes away at this moment
	for try := 1; ; try++ {
		if err := disk.PrivateDir(filepath.Dir(path)); err != nil {
			return nil, err
		}
		lease, err := disk.TakeLease(path, o.note())
		if errors.Is(err, fs.ErrNotExist) && try < most {
			continue // the directory went away with another's claim
		}
		if !errors.Is(err, disk.ErrLocked) {
			return lease, err
		}
		owner, held := holder(path)
		if held || try == most {
			return nil, &InUse{Session: session, Owner: owner}
		}
	}
}

// owner is what this process says of itself.
func (rt *Runtime) owner(step string) Owner {
	host, _ := os.Hostname() // "" says as much
	o := Owner{PID: os.Getpid(), Host: host, Started: rt.opts.Now(), Run: rt.opts.RunID, Workspace: rt.workspace, Step: step}
	o.CostUSD, o.Unpriced = rt.Spent()
	return o
}

// Claim makes this run the one that works through the workflow in its run directory, until Release or Close. The error is
// *InUse if another does. Where the file system has no locks the run goes on without, and Unguarded says so; where the
// lease cannot be had for another reason (no space, no file handles, a broken disk) that is the error. Claiming again
// changes nothing.
//
// Workflow.Run claims by itself; a program calls Claim to know before it does something that another would notice.
func (rt *Runtime) Claim() error {
	if rt.claimed() {
		return nil
	}
	o, made := rt.owner(""), !disk.Exists(rt.opts.RunDir)
	dead, last, died := deadOwner(rt.opts.RunDir)
	lease, err := takeLease(filepath.Join(rt.opts.RunDir, runLeaseFile), "", o)
	var busy *InUse
	switch {
	case errors.As(err, &busy) || exhausted(err):
		return err
	case err != nil:
		rt.unguarded(err)
		return nil
	}
	if died {
		rt.bookDead(dead, last)
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.claim, rt.claimant, rt.madeDir = lease, o, made
	return nil
}

func (rt *Runtime) claimed() bool {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.claim != nil
}

// Release gives the run directory free again, if this run has claimed it. A directory that was made for the claim and
// holds nothing goes as well.
func (rt *Runtime) Release() {
	rt.mu.Lock()
	lease, made := rt.claim, rt.madeDir
	rt.claim = nil
	rt.mu.Unlock()
	if lease == nil {
		return
	}
	_ = lease.Release() // it is free in any case
	if made {
		_ = os.Remove(rt.opts.RunDir) // refused if anything is in it
	}
}

// exhausted says whether a lease failed for a reason that passes, or that must end the run: to go on without it would let
// two flowers into one session. Anything else means that leases do not work here at all.
func exhausted(err error) bool {
	if agent.NoSpace(err) {
		return true
	}
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO, syscall.EINTR} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// enter takes the lease of the session in which an attempt is about to run, waiting for room on a full disk; leave gives
// it back.
func (rt *Runtime) enter(ctx context.Context, session, label string) error {
	var lease *disk.Lease
	err := rt.opts.Room.Keep(ctx, func() (err error) {
		lease, err = takeLease(filepath.Join(rt.opts.RunDir, leasesDir, leaseName(session)), session, rt.owner(label))
		return err
	})
	var busy *InUse
	if errors.As(err, &busy) || exhausted(err) {
		return err
	}
	rt.unguarded(err)
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.lease = lease
	return nil
}

func (rt *Runtime) leave() {
	rt.mu.Lock()
	lease := rt.lease
	rt.lease = nil
	rt.mu.Unlock()
	if lease != nil {
		_ = lease.Release() // it is free in any case
	}
}

// report says in the run directory's lease where the run is, and fails if one of the leases is lost.
func (rt *Runtime) report(label string) error {
	usd, unpriced := rt.Spent()
	rt.mu.Lock()
	claim, lease := rt.claim, rt.lease
	rt.claimant.Step, rt.claimant.CostUSD, rt.claimant.Unpriced = label, usd, unpriced
	note := rt.claimant.note()
	rt.mu.Unlock() // a disk that hangs must not keep a signal handler from its work
	if (claim != nil && claim.Lost()) || (lease != nil && lease.Lost()) {
		return ErrLeaseLost
	}
	if claim != nil {
		_ = claim.SetNote(note) // what others read is a little old then
	}
	return nil
}

// waits says in the run directory's lease that the run waits for the end of an outage, or that it goes on.
func (rt *Runtime) waits(label string, ev agent.Event) {
	p, ok := ev.(agent.Progress)
	if !ok {
		return
	}
	switch d := p.Delta.(type) {
	case agent.Waiting:
		if d.Known {
			return
		}
		rt.edit(func() { rt.claimant.Waiting, rt.claimant.Since = d.Outage, d.Since })
	case agent.OutageOver:
		rt.edit(func() { rt.claimant.Waiting = agent.NoOutage })
	default:
		return
	}
	_ = rt.report(label) // that a lease is lost is said at the next answer
}

// unguarded says once that leases do not work.
func (rt *Runtime) unguarded(err error) {
	if err == nil {
		return
	}
	rt.mu.Lock()
	said := rt.saidLeases
	rt.saidLeases = true
	rt.mu.Unlock()
	if !said {
		rt.emit(Unguarded{Err: err})
	}
}

var plainName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$`)

// leaseName is the file of a session's lease. An id that is no good file name is hashed.
func leaseName(session string) string {
	if plainName.MatchString(session) {
		return session + ".lock"
	}
	sum := sha256.Sum256([]byte(session))
	return "." + hex.EncodeToString(sum[:16]) + ".lock"
}
