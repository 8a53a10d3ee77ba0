package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"flower"
	"flower/agent"
	"flower/document"
	"flower/internal/disk"
	"flower/internal/text"
	"flower/internal/workbench"
	"flower/sqlite"
)

// beside does what can be done where another flower works already: a request is handed to it, without one it is shown.
// done is false if that flower has ended before it took the request; then it is ours to do.
func (g *goRun) beside(ctx context.Context, owner flower.Owner) (done bool, err error) {
	busy := &flower.InUse{Owner: owner}
	if g.fresh || (owner.Workspace != "" && owner.Workspace != g.place.workspace) {
		return false, busy
	}
	if g.ask == "" && !g.heard && !g.input.terminal {
		g.heard = true
		said, _, err := g.input.next(ctx)
		if err != nil {
			return false, err
		}
		if g.events == nil {
			wanted, err := g.wish(said)
			if err != nil {
				return false, err
			}
			if wanted.fresh {
				return false, busy
			}
			said = wanted.text
		}
		g.ask = said
	}
	switch g.ask {
	case "":
		if g.events != nil {
			g.events.running(owner)
			return true, nil
		}
		g.marked(g.out, "== ", g.Say("beside.shown", text.Data{"Who": who(g.Printer, owner), "At": g.at(owner)}))
		g.marked(g.out, "   ", g.Say("beside.next"))
		return true, nil
	}
	// Who does not say where it works, or works through nothing, as flower adopt, may never look into our inbox.
	if owner.Run == "" || owner.Workspace != g.place.workspace {
		return false, busy
	}
	return g.handOver(ctx, owner)
}

// handOver puts the request into the store's inbox, from where the other flower takes it, and says so in one line.
func (g *goRun) handOver(ctx context.Context, owner flower.Owner) (done bool, err error) {
	store, err := g.openStore(ctx, g.place, nil)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if g.receipt == nil {
		human, err := flower.NewHuman(flower.HumanOptions{
			Workspace: g.place.workspace, Store: noting{store, &g.note}, Now: g.Now, Observe: func(ev flower.Event) {
				if taken, ok := ev.(flower.NoteTaken); ok {
					g.receipt = &taken
				}
			},
		})
		if err != nil {
			return false, err
		}
		if err := human.Say(ctx, g.ask); err != nil {
			return false, err
		}
	}
	if _, runs := flower.Running(g.place.runDir); !runs {
		// It may have read the remark as the last thing it did.
		if waits, err := g.waits(ctx, store); err != nil || waits {
			return false, err
		}
	}
	if g.events != nil {
		g.events.running(owner)
		g.events.Event(*g.receipt)
		return true, nil
	}
	id, data := "beside.taken", text.Data{"Who": who(g.Printer, owner), "Text": oneLine(g.ask)}
	switch {
	case g.receipt.InBrief:
		id = "beside.inbrief"
	case g.receipt.BriefErr != nil:
		id, data["Err"] = "beside.notinbrief", g.explainer().explain(g.receipt.BriefErr)
	}
	g.marked(g.out, "+ ", g.Say(id, data))
	return true, nil
}

// noting is a store that remembers the last remark put into it.
type noting struct {
	flower.Store
	last *agent.Note
}

// AddNote implements flower.Store.
func (n noting) AddNote(ctx context.Context, project string, note agent.Note) error {
	*n.last = note
	return n.Store.AddNote(ctx, project, note)
}

// waits says whether the request that was handed over is still in the inbox.
func (g *goRun) waits(ctx context.Context, store flower.Store) (bool, error) {
	waiting, err := store.PendingNotes(ctx, flower.ProjectKey(g.place.workspace))
	return slices.ContainsFunc(waiting, func(n agent.Note) bool { return n.ID == g.note.ID }), err
}

// takeBack keeps a request from being heard twice that was handed over to a flower that ended before it took it. The run
// directory is ours by now.
func (g *goRun) takeBack(ctx context.Context, r *rig) error {
	if g.receipt == nil {
		return nil
	}
	waits, err := g.waits(ctx, r.store)
	if err != nil {
		return err
	}
	if !waits {
		g.ask = "" // a third flower has taken it meanwhile
		return nil
	}
	brief, _, err := workbench.Open(g.place.workspace).ReadNote(workbench.Brief)
	if err == nil && document.ParseBrief(brief).Complete() {
		return nil // a remark: it waits where it belongs
	}
	return r.room.Keep(ctx, func() error {
		return r.store.MarkDelivered(ctx, flower.ProjectKey(g.place.workspace), []string{g.note.ID})
	})
}

// claim makes the run directory ours. done says that another flower has it and that there is nothing left to do.
func (g *goRun) claim(ctx context.Context, r *rig) (done bool, err error) {
	for {
		err := r.rt.Claim()
		if err == nil {
			return false, g.takeBack(ctx, r)
		}
		var busy *flower.InUse
		if !errors.As(err, &busy) {
			return false, err
		}
		if done, err := g.beside(ctx, busy.Owner); done || err != nil {
			return done, err
		}
	}
}

// who says which flower has something.
func who(p *text.Printer, o flower.Owner) string {
	if o.PID == 0 {
		return p.Say("owner.unknown")
	}
	return p.Say("owner", text.Data{"PID": fmt.Sprint(o.PID), "Host": oneLine(o.Host), "Since": o.Started.In(time.Local).Format(time.DateTime)})
}

// at says where a flower's run is and what it has cost.
func (a *app) at(o flower.Owner) string {
	step := a.Say("owner.nostep")
	if o.Step != "" {
		step = newPrinter(a.Printer, printOptions{}).label(o.Step)
	}
	at := oneLine(step) + " · " + text.Dollars(o.CostUSD, o.Unpriced)
	if id := map[agent.Outage]string{
		agent.Offline: "owner.offline", agent.Portal: "owner.portal", agent.Busy: "owner.busy",
	}[o.Waiting]; id != "" {
		at += " · " + a.Say(id, text.Data{"Time": text.Elapsed(a.Now().Sub(o.Since))})
	}
	return at
}

// inUse says what another flower has, and what to do.
func inUse(p *text.Printer, busy *flower.InUse) string {
	if busy.Session != "" {
		return p.Say("inuse.session", text.Data{"Session": busy.Session, "Who": who(p, busy.Owner)})
	}
	return p.Say("inuse.rundir", text.Data{"Who": who(p, busy.Owner), "Where": oneLine(busy.Owner.Workspace)})
}

// openStore opens the store, which makes the run directory. What is in its place and cannot be used is put aside, which
// show says, unless show is nil or a flower is at work with it.
func (a *app) openStore(ctx context.Context, where place, show reporter) (*sqlite.Store, error) {
	path := filepath.Join(where.runDir, storeFile)
	open := func() (*sqlite.Store, error) {
		return sqlite.Open(ctx, path, sqlite.Options{Workspace: where.workspace, Now: a.Now})
	}
	store, err := open()
	if show != nil && errors.Is(err, sqlite.ErrNotDatabase) && !errors.Is(err, sqlite.ErrForeign) {
		if _, busy := flower.Busy(where.runDir); busy {
			return nil, unusableStore(err)
		}
		if err := a.putStoreAside(ctx, path, err, show); err != nil {
			return nil, err
		}
		store, err = open()
	}
	if err != nil {
		return nil, unusableStore(err)
	}
	if copied := store.Copied(); copied != "" && show != nil {
		show.storeCopied(copied)
	}
	return store, nil
}

// putStoreAside makes room for a new store, and says so at once: whatever comes next, the old one is not there any more.
func (a *app) putStoreAside(ctx context.Context, path string, damaged error, show reporter) error {
	there := disk.Exists(path)
	kept, err := sqlite.PutAside(ctx, path, a.Now())
	if err != nil {
		return err
	}
	if there && strings.HasPrefix(kept, path+"-") { // only what lay beside it
		show.Event(flower.NotContinued{Reason: flower.Unreadable, Detail: filepath.Base(kept), Kept: kept})
		return nil
	}
	show.storeLost(errors.Unwrap(damaged), kept)
	return nil
}
