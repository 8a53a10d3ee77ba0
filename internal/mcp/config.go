package mcp

import (
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Server says how to reach a server: either a program to start or a URL.
type Server struct {
	Name string // letters, digits, - and single _

	Command string            // a program, looked up in PATH
	Args    []string          // its arguments
	Env     map[string]string // added to its environment

	URL     string            // http or https, "streamable HTTP" of the protocol
	Headers map[string]string // sent with every request, to the host of URL only
}

var serverName = regexp.MustCompile(`^[A-Za-z0-9]+([_-]?[A-Za-z0-9]+)*$`)

// reserved is the name under which flower offers tools of its own.
const reserved = "human"

// ParseConfig reads the servers of a file in the form that Claude Code has: {"mcpServers": {name: {command, args, env} or
// {type, url, headers}}}, sorted by name. ${NAME} and ${NAME:-else} stand for what lookup knows; a name it does not know
// is an error. Errors name the server and never repeat a value.
func ParseConfig(data []byte, lookup func(name string) (string, bool)) ([]Server, error) {
	var file struct {
		Servers map[string]struct {
			Type    string            `json:"type"`
			Command string            `json:"command"`
			Args    []string          `json:"args"`
			Env     map[string]string `json:"env"`
			URL     string            `json:"url"`
			Headers map[string]string `json:"headers"`
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, &Error{Why: NotJSON, Err: err}
		}
		return nil, &Error{Why: NotList} // the cause could show a value
	}
	if file.Servers == nil {
		return nil, &Error{Why: NoServers}
	}
	var list []Server
	for _, name := range slices.Sorted(maps.Keys(file.Servers)) {
		in := file.Servers[name]
		x := expander{lookup: lookup}
		s := Server{
			Name: name, Command: x.text(in.Command), Args: x.list(in.Args), Env: x.values(in.Env),
			URL: x.text(in.URL), Headers: x.values(in.Headers),
		}
		bad := x.bad
		if bad == nil {
			bad = s.check(in.Type)
		}
		if bad != nil {
			bad.Server = name
			return nil, bad
		}
		list = append(list, s)
	}
	return list, nil
}

// Offers says whether a name is mcp__NAME of the server, or may be one of its tools: mcp__NAME__TOOL.
func (s Server) Offers(name string) bool {
	return name == "mcp__"+s.Name || strings.HasPrefix(name, "mcp__"+s.Name+"__")
}

// check says what is wrong with a server; nil is nothing.
func (s Server) check(kind string) *Error {
	switch {
	case !serverName.MatchString(s.Name) || len(s.Name) > 40:
		return &Error{Why: BadName}
	case s.Name == reserved:
		return &Error{Why: TakenName}
	case (s.Command == "") == (s.URL == ""):
		return &Error{Why: NeitherNor}
	case s.Command != "" && kind != "" && kind != "stdio",
		s.URL != "" && kind != "" && kind != "http" && kind != "streamable-http":
		return &Error{Why: UnknownType, Detail: kind}
	}
	if s.URL == "" {
		return nil
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return &Error{Why: BadURL}
	}
	return nil
}

// expander puts values in for names; bad is about the first unknown one.
type expander struct {
	lookup func(string) (string, bool)
	bad    *Error
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}`)

func (x *expander) text(s string) string {
	return variable.ReplaceAllStringFunc(s, func(ref string) string {
		m := variable.FindStringSubmatch(ref)
		if v, ok := x.lookup(m[1]); ok && (v != "" || m[2] == "") {
			return v
		}
		if m[2] == "" && x.bad == nil {
			x.bad = &Error{Why: NoVariable, Detail: m[1]}
		}
		return m[3]
	})
}

func (x *expander) list(in []string) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = x.text(s)
	}
	return out
}

func (x *expander) values(in map[string]string) map[string]string {
	out := make(map[string]string, len(in))
	for k, v := range in {
		out[k] = x.text(v)
	}
	return out
}

// Secrets are values that must not be shown: those of headers, and of variables whose names isSecret takes for one.
func (s Server) Secrets(isSecret func(name, value string) bool) []string {
	var out []string
	for _, v := range s.Headers {
		out = append(out, v)
		if _, token, ok := strings.Cut(v, " "); ok { // behind "Bearer"
			out = append(out, token)
		}
	}
	for k, v := range s.Env {
		if isSecret(k, v) {
			out = append(out, v)
		}
	}
	return out
}
