package shell

import (
	"fmt"
	"strings"
)

// Programs that talk to a service: what may be asked, and never of another machine
// or with another configuration than the person's own.

var dockerGlobal = &program{}

var dockerCommands = map[string]*program{
	"ps":        dockerPs,
	"images":    dockerImages,
	"stats":     dockerStats,
	"version":   {none: true, short: "f:", long: "format:"},
	"info":      {none: true, short: "f:", long: "format:"},
	"port":      {},
	"diff":      {max: 1},
	"top":       {max: 1}, // what follows the name goes to ps
	"context":   {whole: dockerGroup(map[string]*program{"ls": dockerContexts, "list": dockerContexts, "show": {none: true}})},
	"history":   {short: "Hq", long: "format: human no-trunc quiet"},
	"logs":      {short: "n:t", long: "tail: since: until: timestamps details"},
	"container": {whole: dockerGroup(map[string]*program{"ls": dockerPs, "list": dockerPs, "ps": dockerPs, "stats": dockerStats})},
	"image":     {whole: dockerGroup(map[string]*program{"ls": dockerImages, "list": dockerImages})},
	"volume":    {whole: dockerGroup(map[string]*program{"ls": dockerList, "list": dockerList})},
	"network":   {whole: dockerGroup(map[string]*program{"ls": dockerList, "list": dockerList})},
	"system":    {whole: dockerGroup(map[string]*program{"df": {none: true, short: "v", long: "format: verbose"}})},
}

var (
	dockerPs       = &program{none: true, short: "af:n:lqs", long: "all filter: format: last: latest no-trunc quiet size"}
	dockerImages   = &program{short: "af:q", long: "all digests filter: format: no-trunc quiet tree"}
	dockerList     = &program{none: true, short: "f:q", long: "filter: format: no-trunc quiet"}
	dockerContexts = &program{none: true, short: "q", long: "format: quiet"}
	dockerStats    = &program{short: "a", long: "all format: no-stream no-trunc", check: func(c call) string {
		if !c.has("no-stream") {
			return "without --no-stream it never ends"
		}
		return ""
	}}
)

func dockerGroup(table map[string]*program) func([]word) string {
	return func(args []word) string { return subcommand(table, dockerGlobal, args) }
}

func judgeDocker(args []word) string {
	if len(args) == 1 && (args[0].text == "--version" || args[0].text == "-v") {
		return ""
	}
	return subcommand(dockerCommands, dockerGlobal, args)
}

// kubeOutputs are the ways kubectl may print. Those that end in -file read one.
var kubeOutputs = set("yaml json wide name jsonpath jsonpath-as-json go-template custom-columns")

const (
	kubeShort = "n:"
	kubeLong  = "namespace: request-timeout:"
)

var kubeGet = &program{
	short: kubeShort + "o:Al:L:R",
	long: kubeLong + ` output: all-namespaces selector: show-labels show-kind no-headers
		label-columns: field-selector: sort-by: ignore-not-found show-managed-fields chunk-size:
		output-watch-events subresource: recursive template:`,
	check: func(c call) string {
		for _, o := range c.operands {
			if o.glob || strings.Contains(strings.ToLower(o.text), "secret") {
				return "it could show keys"
			}
		}
		for _, f := range c.flags {
			if f.name != "o" && f.name != "output" {
				continue
			}
			kind, _, _ := strings.Cut(strings.TrimPrefix(f.value.text, "="), "=")
			if !kubeOutputs[kind] {
				return fmt.Sprintf("the output %s is not on the list", clip(kind))
			}
		}
		return ""
	},
}

var kubectlCommands = map[string]*program{
	"get":           kubeGet,
	"describe":      {short: kubeShort + "Al:", long: kubeLong + " all-namespaces selector: show-events"},
	"top":           {short: kubeShort + "Al:", long: kubeLong + " all-namespaces selector: sort-by: no-headers containers sum"},
	"version":       {none: true, short: "o:", long: "output: client short"},
	"api-resources": {none: true, short: "o:", long: "output: api-group: namespaced no-headers sort-by: verbs:"},
	"api-versions":  {none: true},
	"cluster-info":  {none: true},
	"explain":       {long: "recursive api-version:"},
	"logs": {short: kubeShort + "c:pl:", long: kubeLong + ` container: previous tail: since: since-time:
		timestamps all-containers selector: limit-bytes: prefix`},
	"rollout": {whole: func(args []word) string { return subcommand(kubeRollout, &program{}, args) }},
	"config": {whole: func(args []word) string {
		if len(args) == 1 {
			return only(args, "current-context get-contexts get-clusters view") // view hides keys
		}
		return "only its questions are on the list"
	}},
}

var kubeRollout = map[string]*program{
	"history": {short: kubeShort, long: kubeLong + " revision:"},
	"status": {short: kubeShort, long: kubeLong + " watch::", check: func(c call) string {
		for _, f := range c.flags {
			if f.name == "watch" && f.value.text == "false" {
				return ""
			}
		}
		return "without --watch=false it waits"
	}},
}

func judgeKubectl(args []word) string {
	return subcommand(kubectlCommands, &program{short: kubeShort, long: kubeLong}, args)
}

const (
	unitShort = "alqn:t:o:"
	unitLong  = `all full quiet no-pager no-legend plain type: state: lines: output: failed system user
		recursive reverse value no-ask-password with-dependencies`
)

var unitQuestion = &program{short: unitShort, long: unitLong}

// systemctlCommands leave out what shows the environment of a unit.
var systemctlCommands = map[string]*program{
	"":                  unitQuestion,
	"status":            unitQuestion,
	"is-active":         unitQuestion,
	"is-enabled":        unitQuestion,
	"is-failed":         unitQuestion,
	"is-system-running": {none: true, short: "q", long: "quiet"},
	"list-units":        unitQuestion,
	"list-unit-files":   unitQuestion,
	"list-timers":       unitQuestion,
	"list-sockets":      unitQuestion,
	"list-jobs":         unitQuestion,
	"list-dependencies": unitQuestion,
	"get-default":       {none: true},
}

func judgeSystemctl(args []word) string {
	return subcommand(systemctlCommands, unitQuestion, args)
}
