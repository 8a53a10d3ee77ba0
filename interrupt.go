package flower

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"flower/agent"
	"flower/transcript"
)

// ErrInterrupted ends an attempt that the person has interrupted.
var ErrInterrupted = errors.New("interrupted")

// Interrupt makes the attempt in flight end at its next message boundary, and OnInterrupt is asked. Commands are stopped
// at once and what they printed is kept. An answer on its way is finished while the person decides what to say; when
// that is decided it is not waited for any longer, and one that is not complete by then is dropped as if it had not been
// asked for. It returns false if nothing runs that has not been interrupted yet.
func (rt *Runtime) Interrupt() bool {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.interrupt == nil {
		return false
	}
	rt.interrupt(ErrInterrupted)
	rt.interrupt = nil
	return true
}

// reply is what the person said to an interrupt.
type reply struct {
	remark string
	goOn   bool
	kept   bool  // the remark is in the inbox
	err    error // it could not be put there
}

// askPerson asks how to go on after an interrupt. The remark is one like any other: durable before anything follows from
// it, in the brief, and delivered through the inbox.
func (rt *Runtime) askPerson(ctx context.Context, a Attempt) (r reply) {
	rt.emit(Interrupted{Label: a.Label})
	if rt.opts.OnInterrupt == nil {
		return r
	}
	r.remark, r.goOn = rt.opts.OnInterrupt(ctx)
	r.remark = remarkText(r.remark)
	if !r.goOn || r.remark == "" || !(a.Inbox || rt.readsInbox()) {
		return r
	}
	taken, err := notebook{rt.opts.Store, ProjectKey(rt.workspace), rt.bench, rt.opts.Now}.take(ctx, rt.opts.Room, r.remark)
	if err != nil {
		r.err = err
		return r
	}
	r.kept = true
	rt.emit(taken)
	return r
}

// afterInterrupt is the request with which an interrupted session goes on. A prompt that the interrupt has kept from
// being stored is in it: the agent has never seen it. Without a remark the calls that were cut off and may be run again
// are: subagents go on where they were. With one they are not, because the agent has to hear it first.
func (rt *Runtime) afterInterrupt(ctx context.Context, req agent.Request, said reply) (agent.Request, error) {
	remark, follows := said.remark, said.kept && req.Inbox != nil
	if follows {
		remark = ""
	}
	words := rt.text("interrupted", map[string]any{"Remark": remark, "Follows": follows})
	lines, err := rt.opts.Store.Load(ctx, req.Key)
	if err != nil {
		return req, fmt.Errorf("load session %s: %w", req.Key.Session, err)
	}
	entries, _ := transcript.ParseHistory(lines)
	if !slices.ContainsFunc(entries, func(e transcript.Entry) bool { return e.UUID == req.PromptID }) {
		words = req.Prompt + "\n\n" + words
	}
	req.Prompt, req.PromptID, req.Abandon = words, rt.opts.NewID(), said.remark != ""
	return req, nil
}

// interruptible says what Interrupt calls; nil: nothing runs.
func (rt *Runtime) interruptible(interrupt context.CancelCauseFunc) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.interrupt = interrupt
}

// readsInbox says whether a step of the workflow that runs reads the inbox.
func (rt *Runtime) readsInbox() bool {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.inboxed
}

// together is what was said before and what was said then, which may begin with the same words.
func together(before, then string) string {
	if before == "" || strings.HasPrefix(then, before) {
		return then
	}
	return before + "\n\n" + then
}
