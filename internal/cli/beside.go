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
	"flower/internal/text"
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
		if g.ask, _, err = g.input.next(ctx); err != nil {
			return false, err
		}
	}
	switch g.ask {
	case "":
		g.out.Line("== " + g.Say("beside.shown", text.Data{"Who": g.who(owner), "At": g.at(owner)}))
		g.out.Line("   " + g.Say("beside.next"))
		return true, nil
	case "/new":
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
			Workspace: g.place.workspace, Store: store, Now: g.Now, Observe: func(ev flower.Event) {
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
		waiting, err := store.PendingNotes(ctx, flower.ProjectKey(g.place.workspace))
		if err != nil || slices.ContainsFunc(waiting, func(n agent.Note) bool { return n.Text == g.ask }) {
			return false, err
		}
	}
	id := "beside.taken"
	if g.receipt.InBrief {
		id = "beside.inbrief"
	}
	g.out.Line("+ " + g.Say(id, text.Data{"Who": g.who(owner), "Text": oneLine(g.ask)}))
	return true, nil
}

// claim makes the run directory ours. done says that another flower has it and that there is nothing left to do.
func (g *goRun) claim(ctx context.Context, r *rig) (done bool, err error) {
	for {
		err := r.rt.Claim()
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
func (a *app) who(o flower.Owner) string {
	if o.PID == 0 {
		return a.Say("owner.unknown")
	}
	return a.Say("owner", text.Data{"PID": fmt.Sprint(o.PID), "Host": oneLine(o.Host), "Since": o.Started.In(time.Local).Format(time.DateTime)})
}

// at says where a flower's run is and what it has cost.
func (a *app) at(o flower.Owner) string {
	step := a.Say("owner.nostep")
	if o.Step != "" {
		step = newPrinter(a.Printer, printOptions{}).label(o.Step)
	}
	return oneLine(step) + " · " + dollars(o.CostUSD, o.Unpriced)
}

// inUse says what another flower has, and what to do.
func (a *app) inUse(busy *flower.InUse) string {
	if busy.Session != "" {
		return a.Say("inuse.session", text.Data{"Session": busy.Session, "Who": a.who(busy.Owner)})
	}
	return a.Say("inuse.rundir", text.Data{"Who": a.who(busy.Owner), "Where": oneLine(busy.Owner.Workspace)})
}

// openStore opens the store, which makes the run directory. What is in its place and cannot be used is put aside, which
// show says, unless show is nil or a flower is at work with it.
func (a *app) openStore(ctx context.Context, where place, show *printer) (*sqlite.Store, error) {
	path := filepath.Join(where.runDir, storeFile)
	open := func() (*sqlite.Store, error) {
		return sqlite.Open(ctx, path, sqlite.Options{Workspace: where.workspace, Now: a.Now})
	}
	store, err := open()
	if damaged := err; show != nil && errors.Is(err, sqlite.ErrNotDatabase) && !errors.Is(err, sqlite.ErrForeign) {
		if _, runs := flower.Running(where.runDir); runs {
			return nil, unusableStore(err)
		}
		kept, err := sqlite.PutAside(ctx, path, a.Now())
		if err != nil {
			return nil, err
		}
		if store, err = open(); err != nil {
			return nil, unusableStore(err)
		}
		if strings.HasPrefix(kept, path+"-") { // only what lay beside it
			show.Event(flower.NotContinued{Reason: flower.Unreadable, Detail: filepath.Base(kept), Kept: kept})
			return store, nil
		}
		show.storeLost(errors.Unwrap(damaged), kept)
		return store, nil
	}
	if err != nil {
		return nil, unusableStore(err)
	}
	if copied := store.Copied(); copied != "" && show != nil {
		show.storeCopied(copied)
	}
	return store, nil
}
