package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"flower"
	"flower/agent"
	"flower/internal/text"
	"flower/sqlite"
)

// sessionsCommand is what can be done with conversations by hand.
func (a *app) sessionsCommand() *cobra.Command {
	c := &cobra.Command{Use: "sessions", Short: a.Say("cmd.sessions"), Long: a.Say("cmd.sessions.long"), Args: cobra.NoArgs}
	id, file := a.Say("usage.id"), a.Say("usage.file")
	var force bool
	list := func(*cobra.Command, []string) error {
		return a.supervise(func(ctx context.Context, _ *watch) error { return a.listSessions(ctx, a.global.json) })
	}
	c.RunE = list
	sub := func(use, short string, least, most int, run func(context.Context, []string) error) *cobra.Command {
		s := &cobra.Command{
			Use: use, Short: a.Say(short), Args: cobra.RangeArgs(least, most),
			RunE: func(_ *cobra.Command, args []string) error {
				return a.supervise(func(ctx context.Context, _ *watch) error { return run(ctx, args) })
			},
		}
		c.AddCommand(s)
		return s
	}
	l := sub("list", "cmd.sessions.list", 0, 0, nil)
	l.RunE = list
	sub("show "+id, "cmd.sessions.show", 1, 1, func(ctx context.Context, args []string) error { return a.showSession(ctx, args[0]) })
	sub("export "+id+" "+file, "cmd.sessions.export", 1, 2, func(ctx context.Context, args []string) error {
		return a.exportSession(ctx, args[0], strings.Join(args[1:], ""))
	})
	sub("import "+a.Say("usage.infile"), "cmd.sessions.import", 1, 1, func(ctx context.Context, args []string) error {
		return a.importSession(ctx, args[0])
	})
	d := sub("delete "+id, "cmd.sessions.delete", 1, 1, func(ctx context.Context, args []string) error {
		return a.deleteSession(ctx, args[0], force)
	})
	d.Flags().BoolVar(&force, "force", false, a.Say("flag.force"))
	return c
}

// shelf is the sessions of a workspace, to be read.
type shelf struct {
	*app
	*sqlite.Reader
	workspace, runDir string
}

// onShelf runs f with the sessions of the workspace.
func (a *app) onShelf(ctx context.Context, f func(*shelf) error) (err error) {
	s := &shelf{app: a, workspace: a.abs(a.global.workspace), runDir: a.abs(a.global.runDir)}
	if real, err := flower.ResolveWorkspace(s.workspace); err == nil {
		s.workspace = real
	}
	s.Reader, err = sqlite.OpenReadOnly(ctx, filepath.Join(s.runDir, storeFile), sqlite.Options{Workspace: s.workspace})
	if err != nil {
		return unusableStore(err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return f(s)
}

// unusableStore makes a run directory with a file that is no store of ours an error of usage.
func unusableStore(err error) error {
	if errors.Is(err, sqlite.ErrNotDatabase) {
		return &usageError{err}
	}
	return err
}

// shelved is a session where it stands.
type shelved struct {
	sqlite.Thread
	key agent.Key
}

// all lists the sessions under every spelling of the workspace's key, the one written last first.
func (s *shelf) all(ctx context.Context) ([]shelved, error) {
	var list []shelved
	for _, project := range flower.ProjectKeys(s.workspace) {
		threads, err := s.Sessions(ctx, project)
		if err != nil {
			return nil, err
		}
		for _, t := range threads {
			list = append(list, shelved{t, agent.Key{Project: project, Session: t.ID}})
		}
	}
	slices.SortStableFunc(list, func(a, b shelved) int { return b.Changed.Compare(a.Changed) })
	return list, nil
}

// find returns the one session whose id is id, or begins with it.
func (s *shelf) find(ctx context.Context, id string) (shelved, error) {
	list, err := s.all(ctx)
	if err != nil {
		return shelved{}, err
	}
	var found []shelved
	for _, t := range list {
		if t.ID == id {
			return t, nil
		}
		if id != "" && strings.HasPrefix(t.ID, id) {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 0:
		return shelved{}, spoken(s.Say("session.unknown", text.Data{"Session": id}))
	case 1:
		return found[0], nil
	}
	return shelved{}, spoken(s.Say("session.ambiguous", text.Data{"Session": id, "N": len(found)}))
}

// steps says which steps know which session: by lineage, and by the rows of the manifest.
func (s *shelf) steps() (lineage, all map[string][]string) {
	lineage, all = map[string][]string{}, map[string][]string{}
	add := func(to map[string][]string, id, step string) {
		if id != "" && !slices.Contains(to[id], step) {
			to[id] = append(to[id], step)
		}
	}
	steps := flower.WakeState(s.workspace, s.runDir).Steps
	for _, step := range stepOrder(steps) {
		add(lineage, steps[step], step)
		add(all, steps[step], step)
	}
	rows, _ := flower.ReadManifest(s.runDir) // without it less is known, and status says why
	for _, row := range rows {
		for _, id := range append(row.Retired, row.SessionID) {
			add(all, id, row.Step)
		}
	}
	for id, steps := range all { // a label says more than its step
		all[id] = slices.DeleteFunc(steps, func(step string) bool {
			return !slices.Contains(lineage[id], step) && slices.Contains(steps, stepOf(step)) && stepOf(step) != step
		})
	}
	return lineage, all
}

// listedSession is one element of what sessions list --json writes; docs/cli.md describes it.
type listedSession struct {
	ID        string   `json:"id"`
	Entries   int      `json:"entries"`
	Changed   *string  `json:"changed"`
	Steps     []string `json:"steps"`
	Current   bool     `json:"current"` // lineage names it
	Subagents []string `json:"subagents"`
}

func (a *app) listSessions(ctx context.Context, asJSON bool) error {
	return a.onShelf(ctx, func(s *shelf) error {
		list, err := s.all(ctx)
		if err != nil {
			return err
		}
		lineage, steps := s.steps()
		if asJSON {
			out := make([]listedSession, 0, len(list))
			for _, t := range list {
				out = append(out, listedSession{
					ID: t.ID, Entries: t.Entries, Changed: stampJSON(t.Changed), Current: len(lineage[t.ID]) > 0,
					Steps: append([]string{}, steps[t.ID]...), Subagents: append([]string{}, t.Subagents...),
				})
			}
			return a.out.writeJSON(out)
		}
		if len(list) == 0 {
			a.out.Line(a.Say("session.none"))
		}
		p := newPrinter(a.Printer, printOptions{screen: a.out, width: func() int { return a.lineWidth(a.stdio.Out) }, now: a.Now})
		s.write(p, list, lineage, steps)
		return nil
	})
}

// write writes sessions, one on each line; on a terminal that is too narrow for that, one on two lines. Elsewhere a line
// is there to be taken apart, whatever its width.
func (s *shelf) write(p *printer, list []shelved, lineage, steps map[string][]string) {
	narrow := false
	for _, t := range list {
		mark, words := s.parts(p, t, lineage, steps)
		narrow = narrow || text.Width(mark+strings.Join(words, "  ")) > p.width()
	}
	narrow = narrow && isTerminal(s.stdio.Out)
	for _, t := range list {
		mark, words := s.parts(p, t, lineage, steps)
		if !narrow {
			s.out.Line(mark + strings.Join(words, "  "))
			continue
		}
		s.out.Line(mark + words[0])
		p.block("    ", strings.Join(words[1:], " · "))
	}
}

// parts are what there is to say of a session, its id first. The mark "*" is one that a step goes on in.
func (s *shelf) parts(p *printer, t shelved, lineage, steps map[string][]string) (mark string, words []string) {
	mark = "  "
	if len(lineage[t.ID]) > 0 {
		mark = "* "
	}
	words = []string{t.ID, minuteOf(t.Changed), s.Say("status.entries", text.Data{"N": t.Entries})}
	if n := len(t.Subagents); n > 0 {
		words = append(words, s.Say("session.subagents", text.Data{"N": n}))
	}
	var names []string
	for _, label := range steps[t.ID] {
		names = append(names, p.label(label))
	}
	if len(names) > 0 {
		words = append(words, strings.Join(names, " / "))
	}
	for i := range words {
		words[i] = oneLine(words[i])
	}
	return mark, words
}

// deleteSession holds the session from before it looks whether it is needed until it is gone.
func (a *app) deleteSession(ctx context.Context, id string, force bool) error {
	var closed *shelf // what it knows of the books is read from them
	var t shelved
	err := a.onShelf(ctx, func(s *shelf) (err error) {
		closed = s
		t, err = s.find(ctx, id)
		return err
	})
	if err != nil {
		return err
	}
	release, err := flower.Hold(closed.runDir, t.ID)
	if err != nil {
		return err
	}
	defer release()
	lineage, _ := closed.steps()
	if steps := lineage[t.ID]; len(steps) > 0 && !force {
		return spoken(a.Say("session.needed", text.Data{"Session": t.ID, "Step": strings.Join(steps, ", ")}))
	}
	err = a.withStore(ctx, func(store *sqlite.Store, _ place) error { return store.Delete(ctx, t.key) })
	if err == nil {
		a.out.Line(a.Say("session.deleted", text.Data{"Session": t.ID}))
	}
	return err
}

// withStore opens the store for a change.
func (a *app) withStore(ctx context.Context, f func(*sqlite.Store, place) error) (err error) {
	where, err := a.findPlace()
	if err != nil {
		return err
	}
	store, err := a.openStore(ctx, where, newPrinter(a.Printer, printOptions{
		screen: a.err, width: func() int { return a.lineWidth(a.stdio.Err) }, now: a.Now, workspace: where.workspace,
	}))
	if err != nil {
		return err
	}
	defer func() {
		if failed := store.Close(); failed != nil {
			err = errors.Join(err, fmt.Errorf("close store: %w", failed))
		}
	}()
	return f(store, where)
}

// threadsOf loads a session: its main thread, and its subagents by id.
func (s *shelf) threadsOf(ctx context.Context, t shelved) (*conversation, error) {
	c := &conversation{key: t.key, subagents: map[string]*thread{}}
	var err error
	if c.main, err = s.load(ctx, t.key); err != nil {
		return nil, err
	}
	for _, id := range t.Subagents {
		if c.subagents[id], err = s.load(ctx, t.key.Sub(id)); err != nil {
			return nil, err
		}
	}
	c.place(slices.Clone(t.Subagents))
	return c, nil
}

func (c *conversation) damaged() int {
	n := c.main.damaged
	for t := range maps.Values(c.subagents) {
		n += t.damaged
	}
	return n
}
