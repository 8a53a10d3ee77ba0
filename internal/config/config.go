// Package config finds out which endpoint to talk to, with which credentials
// and model, and where each of these values came from.
//
// Terms: a source is a place where values are looked up by name; the first
// source that has a value that is not empty wins, name by name. A secret is a
// credential; it is printed only masked.
//
// Trust model: the process environment and the person's own files are trusted.
// A .env file in a directory may have come with the directory, so an endpoint
// it names gets only a key that stands in the same file: a directory from
// elsewhere must not lead the person's key to a place of its own. A file that
// the person names by FLOWER_ENV is the person's own. Files and values are untrusted as text: what is malformed is an error
// that names the place and never repeats the value.
package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Names that are looked up.
const (
	envAPIKey    = "ANTHROPIC_API_KEY"
	envAuthToken = "ANTHROPIC_AUTH_TOKEN"
	envBaseURL   = "ANTHROPIC_BASE_URL"
	envModel     = "ANTHROPIC_MODEL"
	envWindow    = "FLOWER_WINDOW"
	envSearch    = "FLOWER_WEB_SEARCH"
	envFile      = "FLOWER_ENV"
)

// What holds when no source says anything.
const (
	firstParty     = "api.anthropic.com"
	DefaultBaseURL = "https://" + firstParty
	DefaultModel   = "claude-opus-5-5"
)

// Names of sources that are no files. The source of a value from a file is the
// file's path.
const (
	SourceEnvironment = "environment"
	SourceDefault     = "default"
)

// Options say where to look. Nothing else is consulted: not the process's own
// environment, not its current directory.
type Options struct {
	// Environ is the environment as "NAME=value"; of a name that is there
	// twice the first counts. Nil is an empty one.
	Environ []string
	// Dir is the directory whose .env file is read, and to which a relative
	// FLOWER_ENV refers. Empty: no .env file, and relative to the process.
	Dir string
	// Own leaves out what may have come with a directory: its .env file, unless FLOWER_ENV names it.
	Own bool
}

// Setting is a value and where it came from; Source is "" when nothing set it
// and there is no default.
type Setting[T any] struct {
	Value  T
	Source string
}

// Secret is a credential and where it came from. Printing it by any verb, or
// as JSON, shows it masked.
type Secret struct {
	Value  string
	Source string
}

// String masks the value.
func (s Secret) String() string { return Masked(s.Value) }

// GoString masks the value.
func (s Secret) GoString() string { return strconv.Quote(Masked(s.Value)) }

// MarshalText masks the value.
func (s Secret) MarshalText() ([]byte, error) { return []byte(Masked(s.Value)), nil }

// Config is what Load found.
type Config struct {
	// APIKey and AuthToken: at most one is set. When the sources have both,
	// the one of the earlier source is taken, within one source the token:
	// who sets a token has a gateway in front of the API.
	APIKey    Secret
	AuthToken Secret

	BaseURL Setting[string] // http or https, without user, query and trailing slash
	Model   Setting[string]
	Window  Setting[int] // tokens; 0 = not set

	// Search says whether the endpoint searches the web for its models: auto, on or off; "" = not set.
	Search Setting[string]

	// Prices is the person's own table of prices.
	Prices File

	// Foreign says that the endpoint was named by the .env file of the
	// directory, which the person may not know of.
	Foreign bool

	// Headers is ANTHROPIC_CUSTOM_HEADERS, which is not sent: gateways take keys in it, so it is kept from being shown.
	Headers Secret

	// Found is every credential in any source, also those not used, in the
	// order of sources.
	Found []Secret
}

// File is one of the person's own files.
type File struct {
	Path string // also when there is none, for the person to make it; "" when the environment does not say where
	Data []byte // nil: there is no such file
}

// Secrets returns the values of Found, for [NewRedactor] and for keeping them
// from child processes.
func (c Config) Secrets() []string {
	values := make([]string, len(c.Found))
	for i, s := range c.Found {
		values[i] = s.Value
	}
	return values
}

// ErrNoCredentials says that no source holds a credential. Its text tells the
// person what to do.
var ErrNoCredentials = errors.New("no credentials: set " + envAPIKey + " (or " + envAuthToken +
	" for a gateway) in the environment or in a .env file in this directory")

// EndpointError says that the .env file of a directory names an endpoint, and
// the credential, if there is one, would come from elsewhere.
type EndpointError struct {
	File       string
	BaseURL    string
	Credential string // its source; "" if there is none
}

func (e *EndpointError) Error() string {
	key := "no key that goes with it"
	if e.Credential != "" {
		key = "not the key, which is from " + e.Credential
	}
	return fmt.Sprintf("%s names the endpoint %s and %s", e.File, e.BaseURL, key)
}

// Load looks up everything. The order of sources is the process environment,
// the file $FLOWER_ENV names, .env in Dir, flower's .env in the person's
// configuration directory, the env block of the settings of Claude Code.
//
// Errors: [FileError], [ValueError], and [EndpointError] and
// [ErrNoCredentials], with which the rest of the Config is valid, for those who
// need no credentials.
func Load(opts Options) (Config, error) {
	sources, err := openSources(opts)
	if err != nil {
		return Config{}, err
	}
	var c Config
	if err := c.loadCredentials(sources); err != nil {
		return Config{}, err
	}
	if c.BaseURL, err = loadBaseURL(sources); err != nil {
		return Config{}, err
	}
	if c.Model, err = loadModel(sources); err != nil {
		return Config{}, err
	}
	if c.Window, err = loadWindow(sources); err != nil {
		return Config{}, err
	}
	if c.Search, err = loadSearch(sources); err != nil {
		return Config{}, err
	}
	if c.Prices, err = LoadPrices(opts); err != nil {
		return Config{}, err
	}
	credential := c.APIKey.Source + c.AuthToken.Source // one of them is empty
	c.Foreign = slices.ContainsFunc(sources, func(s source) bool { return s.foreign && s.name == c.BaseURL.Source })
	switch {
	case c.Foreign && credential != c.BaseURL.Source:
		return c, &EndpointError{File: c.BaseURL.Source, BaseURL: c.BaseURL.Value, Credential: credential}
	case credential == "":
		return c, ErrNoCredentials
	}
	return c, nil
}

// Origin is a setting as it can be shown, and where it came from.
type Origin struct{ Name, Value, Source string }

// Origins lists what is set, defaults included, credentials masked.
func (c Config) Origins() []Origin {
	window := ""
	if c.Window.Value > 0 {
		window = strconv.Itoa(c.Window.Value)
	}
	all := []Origin{
		{envAPIKey, c.APIKey.String(), c.APIKey.Source},
		{envAuthToken, c.AuthToken.String(), c.AuthToken.Source},
		{envBaseURL, c.BaseURL.Value, c.BaseURL.Source},
		{envModel, c.Model.Value, c.Model.Source},
		{envWindow, window, c.Window.Source},
		{envCustomHeaders, maskedHeaders(c.Headers.Value), c.Headers.Source},
		{envSearch, c.Search.Value, c.Search.Source},
	}
	return slices.DeleteFunc(all, func(o Origin) bool { return o.Value == "" })
}

func (c *Config) loadCredentials(sources []source) error {
	for _, s := range sources {
		for _, name := range []string{envAuthToken, envAPIKey} {
			value := s.get(name)
			if value == "" {
				continue
			}
			if why := checkSecret(value); why != 0 {
				return &ValueError{Name: name, Source: s.name, Why: why}
			}
			secret := Secret{Value: value, Source: s.name}
			c.Found = append(c.Found, secret)
			switch {
			case c.APIKey.Value != "" || c.AuthToken.Value != "": // taken from an earlier place
			case name == envAuthToken:
				c.AuthToken = secret
			default:
				c.APIKey = secret
			}
		}
		for _, name := range foreignSecrets {
			if value := s.get(name); value != "" {
				c.Found = append(c.Found, Secret{Value: value, Source: s.name})
			}
		}
		if text := s.get(envCustomHeaders); text != "" {
			if c.Headers.Value == "" {
				c.Headers = Secret{Value: text, Source: s.name}
			}
			for _, h := range headersIn(text) {
				for _, value := range h.secrets() {
					c.Found = append(c.Found, Secret{Value: value, Source: s.name})
				}
			}
		}
	}
	return nil
}

// checkSecret says what is wrong with a value that goes into an HTTP header; 0 is nothing.
func checkSecret(value string) Fault {
	for _, r := range value {
		switch {
		case r == '\n' || r == '\r':
			return LineBreak
		case r > unicode.MaxASCII:
			return NotASCII
		case unicode.IsControl(r):
			return ControlCharacter
		case r == ' ':
			return BlankInKey
		}
	}
	return 0
}

func loadBaseURL(sources []source) (Setting[string], error) {
	raw := lookup(sources, envBaseURL, DefaultBaseURL)
	bad := func(why Fault) (Setting[string], error) {
		return Setting[string]{}, &ValueError{Name: envBaseURL, Source: raw.Source, Why: why}
	}
	u, err := url.Parse(raw.Value)
	switch {
	case err != nil: // err repeats the value, which may hold a password
		return bad(NotURL)
	case u.Scheme != "http" && u.Scheme != "https":
		return bad(NotHTTP)
	case u.Hostname() == "" || u.Opaque != "":
		return bad(NoHost)
	case u.User != nil:
		return bad(UserInURL)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return bad(QueryInURL)
	case !validPort(u):
		return bad(BadPort)
	}
	raw.Value = strings.TrimRight(raw.Value, "/#")
	return raw, nil
}

func validPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.Atoi(u.Port())
	return err == nil && n > 0 && n < 1<<16
}

func loadModel(sources []source) (Setting[string], error) {
	m := lookup(sources, envModel, DefaultModel)
	for _, r := range m.Value {
		if !unicode.IsGraphic(r) || r == unicode.ReplacementChar || unicode.IsSpace(r) {
			return Setting[string]{}, &ValueError{Name: envModel, Source: m.Source, Why: BadModel}
		}
	}
	return m, nil
}

func loadWindow(sources []source) (Setting[int], error) {
	raw := lookup(sources, envWindow, "")
	if raw.Value == "" {
		return Setting[int]{}, nil
	}
	n, err := strconv.Atoi(raw.Value)
	if err != nil || n <= 0 {
		return Setting[int]{}, &ValueError{Name: envWindow, Source: raw.Source, Why: BadWindow}
	}
	return Setting[int]{Value: n, Source: raw.Source}, nil
}

// SearchModes are the values that Config.Search has.
var SearchModes = []string{"auto", "on", "off"}

func loadSearch(sources []source) (Setting[string], error) {
	s := lookup(sources, envSearch, "")
	if s.Value != "" && !slices.Contains(SearchModes, s.Value) {
		return Setting[string]{}, &ValueError{Name: envSearch, Source: s.Source, Why: BadSearch}
	}
	return s, nil
}

// Searches says whether the endpoint is to be asked to search the web. mode, if it is not empty, goes before what was found.
// By default that is what is known of the endpoint: the vendor's own has a search.
func (c Config) Searches(mode string) bool {
	if mode == "" {
		mode = c.Search.Value
	}
	switch mode {
	case "on":
		return true
	case "off":
		return false
	}
	u, err := url.Parse(c.BaseURL.Value)
	return err == nil && u.Scheme == "https" && strings.EqualFold(u.Hostname(), firstParty)
}

func lookup(sources []source, name, otherwise string) Setting[string] {
	for _, s := range sources {
		if value := s.get(name); value != "" {
			return Setting[string]{Value: value, Source: s.name}
		}
	}
	if otherwise == "" {
		return Setting[string]{}
	}
	return Setting[string]{Value: otherwise, Source: SourceDefault}
}
