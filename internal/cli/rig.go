package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"flower"
	"flower/agent"
	"flower/internal/config"
	"flower/internal/disk"
	"flower/internal/mcp"
	"flower/internal/proc"
	"flower/internal/workbench"
	"flower/messages"
	"flower/sqlite"
	"flower/tools"
	"flower/transcript"
)

// storeFile is the store's name in the run directory.
const storeFile = "sessions.db"

// rig is everything one run needs, put together.
type rig struct {
	rt    *flower.Runtime
	human *flower.Human
	store *sqlite.Store
	room  *agent.Room
	model *messages.Client
	box   *tools.Box
	print reporter

	windows  *windows
	commands *proc.Supervisor
	servers  *mcp.Set // nil: there are none
}

// rigOptions are what commands want of a rig.
type rigOptions struct {
	place   place
	human   flower.HumanOptions // Store and the like are filled in
	bench   bool                // long results go to the workbench
	confine confineFlags
	reach   reachFlags
	trim    bool
	// window in tokens, as the person says; 0: config or what is found out.
	window    int
	noHandoff bool
	evidence  bool       // checks of the goal that are commands are run for the judge
	trees     *isolation // nil is none
	permits   bool       // the person is asked about calls that an agent's mode does not allow; else those are refused

	print     reporter
	observe   func(flower.Event)
	interrupt func(context.Context) (string, bool)
	budget    float64
	meter     *agent.Meter    // what is spent counts there too; nil: nowhere else
	private   []string        // directories that are nobody's business, besides the run directory
	hurry     <-chan struct{} // closed when there is no time left to stop commands in stages
	retry     agent.Retry
}

// loadConfig finds endpoint, credentials and model, and keeps every secret it has seen, and those of MCP servers, from
// being shown.
func (a *app) loadConfig() (config.Config, *config.Redactor, error) {
	cfg, err := config.Load(config.Options{Environ: a.env, Dir: a.Dir})
	redactor := config.NewRedactor(slices.Concat(cfg.Secrets(), a.secrets)...)
	a.out.hide(redactor.Redact)
	a.err.hide(redactor.Redact)
	if a.events != nil {
		a.events.screen.hide(redactor.Redact)
		if a.events.pieces != nil {
			a.events.pieces.longest = redactor.Longest()
		}
	}
	a.redact = redactor.Redact
	own, bad := prices(cfg.Prices)
	a.prices = own
	if err == nil {
		err = bad
	}
	return cfg, redactor, err
}

// newRig opens the store, which makes the run directory, and puts the parts together. The caller closes it.
func (a *app) newRig(ctx context.Context, cfg config.Config, redactor *config.Redactor, opts rigOptions) (_ *rig, err error) {
	r := &rig{print: opts.print}
	r.model, err = messages.New(messages.Options{
		BaseURL: cfg.BaseURL.Value, APIKey: cfg.APIKey.Value, AuthToken: cfg.AuthToken.Value,
		Prices: a.prices, UserAgent: "flower/" + release(), Now: a.Now,
	})
	if err != nil {
		return nil, err
	}
	if _, known := a.prices.Cost(cfg.Model.Value, transcript.Usage{}); !known && opts.budget > 0 {
		opts.print.unkeptBudget(cfg.Model.Value)
	}
	r.room = newRoom(opts)
	err = r.room.Keep(ctx, func() error {
		if r.store == nil {
			if r.store, err = a.openStore(ctx, opts.place, opts.print); err != nil {
				return err
			}
		}
		return opts.place.ignoreBooks(opts.print)
	})
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if err != nil {
		return nil, err
	}
	if r.commands, err = opts.place.supervise(opts.print); err != nil {
		return nil, err
	}
	kept := redacting{Store: r.store, redact: redactor.Redact}
	h := opts.human
	h.Workspace, h.Store, h.Room, h.Lang, h.Now, h.Observe = opts.place.workspace, kept, r.room, a.promptLang(), a.Now, opts.observe
	h.Redact = redactor.Redact
	if r.human, err = flower.NewHuman(h); err != nil {
		return nil, err
	}
	r.windows = a.newWindows(cfg, r.model, opts.window)
	if r.servers, err = opts.reach.open(ctx, a, opts.place, opts.confine, mcp.Options{
		Environ: proc.ScrubEnv(a.env, cfg.Secrets()...), Commands: r.commands, Hurry: opts.hurry,
	}, opts.print); err != nil {
		return nil, err
	}
	engine, err := a.newEngine(r, kept, cfg, redactor, opts)
	if err != nil {
		return nil, err
	}
	var checks flower.Checker
	if opts.evidence {
		checks = checker{r.box, opts.trees}
	}
	var isolated flower.Isolation
	if opts.trees != nil {
		isolated = opts.trees
	}
	r.rt, err = flower.NewRuntime(flower.RuntimeOptions{
		Workspace: opts.place.workspace, RunDir: opts.place.runDir, Engine: engine, Store: kept, Redact: redactor.Redact, Room: r.room, Human: r.human,
		Windows: r.windows, NoHandoff: opts.noHandoff, Checker: checks, Isolation: isolated,
		OnInterrupt: opts.interrupt, Observe: opts.observe, Lang: a.promptLang(), BudgetUSD: opts.budget, Meter: opts.meter, Now: a.Now,
	})
	if err == nil && a.events != nil && opts.print == reporter(a.events) { // side questions are a run of their own
		a.events.of(r.rt.RunID())
	}
	return r, err
}

func (a *app) newWindows(cfg config.Config, model *messages.Client, window int) *windows {
	said := cfg.Window
	if window > 0 {
		said = config.Setting[int]{Value: window, Source: "--window"}
	}
	return &windows{
		said: said, baseURL: cfg.BaseURL.Value, model: cfg.Model.Value, calibration: config.CalibrationIn(config.UserDir(a.env)),
		ask: model.ModelWindow, say: a.Printer, now: a.Now,
		endpoint: make(map[string]int), overflow: make(map[string]int),
	}
}

// newRoom watches the disk of the run directory.
func newRoom(opts rigOptions) *agent.Room {
	dir := opts.place.runDir
	return agent.NewRoom(agent.RoomOptions{
		Free:    func() (int64, error) { return disk.Free(dir) },
		Observe: func(c agent.RoomChange) { opts.observe(flower.RoomChanged{Path: dir, RoomChange: c}) },
	})
}

func (a *app) newEngine(r *rig, log agent.Log, cfg config.Config, redactor *config.Redactor, opts rigOptions) (*agent.Engine, error) {
	bench := workbench.Open(opts.place.workspace).Redacting(redactor.Redact)
	boxOptions := tools.Options{
		Workspace: opts.place.workspace, Environ: proc.ScrubEnv(a.env, cfg.Secrets()...), Redact: redactor.Redact,
		Ask: r.human.Ask, Inbox: r.human.Inbox, Private: append([]string{opts.place.runDir}, opts.private...), Hurry: opts.hurry,
		Commands: r.commands, Sandbox: opts.confine.sandbox(a), Granted: opts.confine.granted,
		Web: opts.reach.web(a), Servers: r.servers, Search: cfg.Searches(opts.reach.search),
	}
	if opts.permits {
		boxOptions.Permit = a.permits(r.human, opts.human.Timeout)
	}
	if opts.bench {
		boxOptions.Bench = bench
	}
	box, err := tools.New(boxOptions)
	if err != nil {
		return nil, err
	}
	opts.confine.sayConfined(opts.print, box.Confined())
	r.box = box
	var toolbox agent.Toolbox = box
	if opts.trees != nil {
		toolbox = tools.Isolate(box, opts.trees)
	}
	retry := opts.retry
	retry.Room = r.room
	return agent.New(agent.Options{
		Model: agent.WithRetry(r.model, retry), Log: log, Room: r.room, Toolbox: toolbox, ModelName: cfg.Model.Value, Price: a.prices.Cost,
		Window: r.windows.size, Trim: opts.trim, Spill: func(s transcript.Spill) error { _, err := bench.Spill(s.Text); return err },
		CWD: opts.place.workspace, GitBranch: gitBranch(opts.place.workspace), Version: "flower " + release(), Now: a.Now,
	})
}

// close releases what newRig has opened.
func (r *rig) close() error {
	r.model.Close()
	r.servers.Close()
	if r.commands != nil {
		r.commands.Close() // before anybody else may take the run directory
	}
	if r.rt != nil {
		r.rt.Release()
	}
	if r.store == nil {
		return nil
	}
	if err := r.store.Close(); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

// promptLang is the language spoken with models: the interface's.
func (a *app) promptLang() flower.Lang { return flower.Lang(a.Lang()) }
