package cli

import (
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"flower"
	"flower/agent"
	"flower/internal/config"
	"flower/internal/text"
	"flower/messages"
	"flower/transcript"
)

const (
	// checkTokens and checkTime bound the request that checks the settings.
	checkTokens = 16
	checkTime   = 20 * time.Second

	// vendorKey is how keys of the vendor begin: there is no doubt how they are sent.
	vendorKey = "sk-ant-"
	// found is what a person types for a window that is to be found out.
	found = "auto"
)

// setupCommand asks for the settings, keeps them, and checks them.
func (a *app) setupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "setup", Short: a.Say("cmd.setup"), Long: a.Say("cmd.setup.long"), Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if !a.talks() {
				return config.ErrNoCredentials
			}
			return a.supervise(func(ctx context.Context, _ *watch) error { return a.setUp(ctx, false) })
		},
	}
}

// talks says whether there is a person at a terminal to be asked.
func (a *app) talks() bool {
	return !a.global.json && isTerminal(a.stdio.In) && isTerminal(a.stdio.Out)
}

// configure is loadConfig for a command that talks to a model: where there are no credentials and somebody to ask, they
// are asked for first.
func (a *app) configure() (config.Config, *config.Redactor, error) {
	cfg, redactor, err := a.loadConfig()
	if errors.Is(err, config.ErrNoCredentials) && a.talks() {
		if err := a.supervise(func(ctx context.Context, _ *watch) error { return a.setUp(ctx, true) }); err != nil {
			return cfg, redactor, err
		}
		cfg, redactor, err = a.loadConfig()
	}
	if err == nil {
		a.sayOrigins(cfg)
	}
	return cfg, redactor, err
}

// runs says whether another flower is at work in the run directory: talking to that one needs no credentials.
func (p place) runs() bool {
	_, runs := flower.Running(p.runDir)
	return runs
}

// sayOrigins says, to who wants to know more, where each setting came from; and to everybody that the directory has its
// own endpoint.
func (a *app) sayOrigins(cfg config.Config) {
	home := a.getenv("HOME")
	if a.global.verbose {
		for _, o := range cfg.Origins() {
			a.marked(a.err, ". ", a.Say("config.origin", text.Data{"Name": o.Name, "Value": o.Value, "Source": a.explainer().source(o.Source)}))
		}
	}
	if cfg.Foreign {
		a.marked(a.err, "! ", a.Say("config.foreign", text.Data{"URL": cfg.BaseURL.Value, "Path": tilde(cfg.BaseURL.Source, home)}))
	}
}

// setUp asks for the settings and writes them. first says that a run waits for it: that one deals itself with a network
// that is away.
func (a *app) setUp(ctx context.Context, first bool) error {
	path := config.UserFile(a.env)
	if path == "" {
		return &usageError{spoken(a.Say("setup.nohome"))}
	}
	d := &dialogue{app: a}
	shown := tilde(path, a.getenv("HOME"))
	_, _, _ = a.loadConfig() // for the secrets of the directory
	now, err := a.ownConfig()
	if err != nil && !errors.Is(err, config.ErrNoCredentials) {
		return err
	}
	a.marked(a.out, "", a.Say("setup.intro", text.Data{"Path": shown}))
	answers, err := d.settings(ctx, now)
	if errors.Is(err, errLeft) {
		a.marked(a.err, "! ", a.Say("setup.left"))
		return &stopError{exitConfig}
	}
	if err != nil {
		return err
	}
	if err := config.Save(path, answers); err != nil {
		return err
	}
	a.marked(a.out, "+ ", a.Say("setup.saved", text.Data{"Path": shown}))
	kept, err := a.ownConfig()
	if err != nil {
		return err
	}
	// Here the directory's own may count instead; what is wrong with it is said when it is to be used.
	here, _, _ := a.loadConfig()
	entered := answers.Origins()
	for _, o := range here.Origins() {
		if o.Source != path && o.Source != config.SourceDefault && !slices.ContainsFunc(entered, func(e config.Origin) bool { return e.Name == o.Name && e.Value == o.Value }) {
			a.marked(a.err, "! ", a.Say("setup.over", text.Data{"Name": o.Name, "Source": a.explainer().source(o.Source)}))
		}
	}
	return a.check(ctx, kept, first)
}

// ownConfig is loadConfig without what may have come with the directory: that must not get into the person's settings,
// which count everywhere.
func (a *app) ownConfig() (config.Config, error) {
	return config.Load(config.Options{Environ: a.env, Dir: a.Dir, Own: true})
}

// check sends one small request and says what came of it.
func (a *app) check(ctx context.Context, cfg config.Config, first bool) error {
	a.marked(a.out, ". ", a.Say("setup.checking", text.Data{"Time": text.Span(checkTime)}))
	err := a.tryEndpoint(ctx, cfg)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil {
		a.marked(a.out, "+ ", a.Say("setup.good", text.Data{"URL": cfg.BaseURL.Value, "Model": cfg.Model.Value}))
		if !first {
			a.out.Line("  " + a.Say("setup.next"))
		}
		return nil
	}
	id, code := verdictOf(err, cfg.BaseURL.Value)
	a.marked(a.err, "! ", a.Say(id, text.Data{"URL": cfg.BaseURL.Value, "Model": cfg.Model.Value, "Err": technical(err)}))
	if first && code == exitNetwork {
		return nil
	}
	return &stopError{code}
}

// tryEndpoint is nil if the endpoint takes the credentials and knows the model.
func (a *app) tryEndpoint(ctx context.Context, cfg config.Config) error {
	model, err := messages.New(messages.Options{
		BaseURL: cfg.BaseURL.Value, APIKey: cfg.APIKey.Value, AuthToken: cfg.AuthToken.Value, UserAgent: "flower/" + release(), Now: a.Now,
	})
	if err != nil {
		return err
	}
	defer model.Close()
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	_, err = model.Generate(ctx, &agent.ModelRequest{
		Model: cfg.Model.Value, MaxTokens: checkTokens,
		Messages: []transcript.Message{{Role: transcript.RoleUser, Content: []transcript.Block{transcript.Text("Say ok.")}}},
	}, nil)
	return err
}

// verdictOf tells apart what a failed check means: the message that says it, and the exit code.
func verdictOf(err error, baseURL string) (id string, code int) {
	var model *agent.ModelError
	if !errors.As(err, &model) {
		return "setup.offline", exitNetwork // our own limit of time
	}
	var dns *net.DNSError
	switch {
	case refusesUs(model) && model.Status != 404 && model.Type != "not_found_error":
		return "setup.rejected", exitConfig
	case model.Kind != agent.Transient && model.Status != 0, model.Outage == agent.Portal,
		// The vendor's own name is never mistyped: it is the network that does not know it.
		errors.As(err, &dns) && dns.IsNotFound && hostOf(baseURL) != hostOf(config.DefaultBaseURL):
		return "setup.wrong", exitConfig
	case model.Status != 0:
		return "setup.busy", exitNetwork
	}
	return "setup.offline", exitNetwork
}

func hostOf(baseURL string) string {
	u, err := url.Parse(baseURL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// settings asks for everything. What the person's own sources say is the default, and where it is from is said.
func (d *dialogue) settings(ctx context.Context, now config.Config) (config.Answers, error) {
	secret := now.APIKey.Value + now.AuthToken.Value
	key, err := d.ask(ctx, question{label: "setup.key", secret: true, otherwise: secret, shown: config.Masked(secret), from: now.APIKey.Source + now.AuthToken.Source, check: func(s string) error {
		return config.Answers{APIKey: s}.Check()
	}})
	if err != nil {
		return config.Answers{}, err
	}
	answers := config.Answers{APIKey: key}
	if answers.BaseURL, err = d.ask(ctx, question{label: "setup.address", otherwise: now.BaseURL.Value, from: now.BaseURL.Source, check: func(s string) error {
		return config.Answers{BaseURL: s}.Check()
	}}); err != nil {
		return answers, err
	}
	if !strings.HasPrefix(key, vendorKey) {
		kind := "2"
		if hostOf(answers.BaseURL) == hostOf(config.DefaultBaseURL) || key == now.APIKey.Value {
			kind = "1"
		}
		if kind, err = d.ask(ctx, question{label: "setup.kind", otherwise: kind, check: func(s string) error {
			if s != "1" && s != "2" {
				return spoken(d.Say("setup.kind.bad"))
			}
			return nil
		}}); err != nil {
			return answers, err
		}
		if kind == "2" {
			answers.APIKey, answers.AuthToken = "", key
		}
	}
	if answers.Model, err = d.ask(ctx, question{label: "setup.model", otherwise: now.Model.Value, from: now.Model.Source, check: func(s string) error {
		return config.Answers{Model: s}.Check()
	}}); err != nil {
		return answers, err
	}
	window := found
	if now.Window.Value > 0 {
		window = strconv.Itoa(now.Window.Value)
	}
	answers.Window, err = d.ask(ctx, question{label: "setup.window", otherwise: window, from: now.Window.Source, check: func(s string) error {
		return config.Answers{Window: strings.TrimPrefix(s, found)}.Check()
	}})
	answers.Window = strings.TrimPrefix(answers.Window, found)
	return answers, err
}

// marked writes a text under a mark, in one piece: wrapped to the terminal, and as it is where there is none.
func (a *app) marked(s *screen, mark, words string) {
	stream := any(a.stdio.Out)
	if s == a.err {
		stream = a.stdio.Err
	}
	lines := strings.Split(words, "\n")
	if isTerminal(stream) {
		lines = text.Lines(s.Clean(words), max(leastWidth, a.lineWidth(stream))-text.Width(mark))
	}
	lead := mark
	var out strings.Builder
	for _, line := range lines {
		if line = lead + line; a.styled() && isTerminal(stream) {
			line = styled(mark, line)
		}
		out.WriteString(line + "\n")
		lead = strings.Repeat(" ", text.Width(mark))
	}
	s.Text(out.String())
}
