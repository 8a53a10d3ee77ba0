package cli

import (
	"github.com/spf13/pflag"

	"flower/internal/config"
	"flower/tools"
)

// reachFlags say what agents can reach besides the workspace.
type reachFlags struct {
	privateNet bool
}

func (a *app) addReach(f *pflag.FlagSet, o *reachFlags) {
	f.BoolVar(&o.privateNet, "allow-private-net", false, a.Say("flag.privatenet"))
}

// web is how WebFetch reaches the network: through the proxy that the environment names, as everything else does.
func (o reachFlags) web(a *app) tools.WebOptions {
	return tools.WebOptions{AllowPrivate: o.privateNet, Proxy: config.Proxy(a.env), UserAgent: "flower/" + release()}
}
