package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"flower/internal/config"
	"flower/internal/mcp"
	"flower/internal/proc"
	"flower/internal/sandbox"
	"flower/internal/text"
	"flower/tools"
)

// serversFile lists the person's MCP servers, in the directory of flower's own settings. One in the workspace is not
// looked at: it came with a repository, and would start programs.
const serversFile = "mcp.json"

// reachFlags say what agents can reach besides the workspace.
type reachFlags struct {
	privateNet bool
	search     string       // auto, on, off; "" is what the environment says
	files      []string     // of --mcp
	servers    []mcp.Server // read from the files
}

func (a *app) addReach(f *pflag.FlagSet, o *reachFlags) {
	f.BoolVar(&o.privateNet, "allow-private-net", false, a.Say("flag.privatenet"))
	f.StringVar(&o.search, "web-search", "", a.Say("flag.websearch"))
	f.StringArrayVar(&o.files, "mcp", nil, a.Say("flag.mcp"))
}

// check reads the lists of servers. Of two with one name the one of the later file counts, the person's own file being
// the first. What they hold that must not be shown is the app's to keep.
func (o *reachFlags) check(a *app) error {
	if o.search != "" && !slices.Contains(config.SearchModes, o.search) {
		return &usageError{spoken("--web-search " + o.search + ": " + a.Say("value.websearch"))}
	}
	o.servers = nil
	if dir := config.UserDir(a.env); dir != "" {
		if err := o.read(a, filepath.Join(dir, serversFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, name := range o.files {
		if err := o.read(a, a.abs(name)); err != nil {
			return err
		}
	}
	for _, s := range o.servers {
		a.secrets = append(a.secrets, s.Secrets(func(name, value string) bool { return len(proc.ScrubEnv([]string{name + "=" + value})) == 0 })...)
	}
	return nil
}

func (o *reachFlags) read(a *app, path string) error {
	data, err := os.ReadFile(path)
	var list []mcp.Server
	if err == nil {
		list, err = mcp.ParseConfig(data, func(name string) (string, bool) { v := a.getenv(name); return v, v != "" })
	}
	if err != nil {
		return &usageError{&aboutError{a.Say("servers.file", text.Data{"Path": tilde(path, a.getenv("HOME"))}), err}}
	}
	for _, s := range list {
		o.servers = slices.DeleteFunc(o.servers, func(old mcp.Server) bool { return old.Name == s.Name })
		o.servers = append(o.servers, s)
	}
	return nil
}

// offers says whether a name is that of a server, of one of its tools, or of all of them.
func (o reachFlags) offers(name string) bool {
	return tools.FromServer(name) && (name == tools.AllServers || slices.ContainsFunc(o.servers, func(s mcp.Server) bool { return s.Offers(name) }))
}

// only keeps the servers that some name stands for: the others need not be started.
func (o *reachFlags) only(names []string) {
	o.servers = slices.DeleteFunc(o.servers, func(s mcp.Server) bool {
		return !slices.Contains(names, tools.AllServers) && !slices.ContainsFunc(names, s.Offers)
	})
}

// web is how WebFetch reaches the network: through the proxy that the environment names, as everything else does.
func (o reachFlags) web(a *app) tools.WebOptions {
	return tools.WebOptions{AllowPrivate: o.privateNet, Proxy: config.Proxy(a.env), UserAgent: "flower/" + release()}
}

// open starts the servers, confined as commands are, and says which do not work.
func (o reachFlags) open(ctx context.Context, a *app, p place, confine confineFlags, opts mcp.Options, show reporter) (*mcp.Set, error) {
	if len(o.servers) == 0 {
		return nil, nil
	}
	opts.Dir, opts.Proxy, opts.Version = p.workspace, config.Proxy(a.env), release()
	if box := confine.sandbox(a); box != nil {
		box.Places = slices.Concat(box.Places, []string{p.workspace}, confine.granted, sandbox.Repository(p.workspace))
		confined, err := sandbox.New(*box)
		if err != nil {
			return nil, fmt.Errorf("confine servers: %w", err)
		}
		opts.Confine = confined.Start
	}
	set := mcp.Open(ctx, o.servers, opts)
	for _, fault := range set.Faults() {
		show.Notice("! ", "servers.fault", text.Data{"Error": a.explainer().explain(fault)})
	}
	return set, nil
}
