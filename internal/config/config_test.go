package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// place is a directory with files in it: name → content.
func place(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLoad(t *testing.T) {
	const user = "home/.config/flower/.env"
	tests := []struct {
		name    string
		environ []string // "@/" in a value is the directory
		files   map[string]string
		want    string // "what=value<source" of all that is set, files as base of the directory
		noCreds bool
	}{
		{name: "nothing", want: "url=https://api.anthropic.com<default model=claude-opus-5-5<default", noCreds: true},
		{
			name: "all from the environment",
			environ: []string{
				"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=http://localhost:8080/x/", "ANTHROPIC_MODEL=m", "FLOWER_WINDOW=5",
				"ANTHROPIC_API_KEY=second",
			},
			want: "key=k<environment url=http://localhost:8080/x<environment model=m<environment window=5<environment",
		},
		{
			name:    "every source, name by name; empty values do not count",
			environ: []string{"ANTHROPIC_API_KEY=", "ANTHROPIC_MODEL=  ", "FLOWER_ENV=named", "HOME=@/home"},
			files: map[string]string{
				"named": "ANTHROPIC_BASE_URL=https://named\nANTHROPIC_API_KEY=",
				".env":  "ANTHROPIC_API_KEY=dir\nANTHROPIC_BASE_URL=https://dir\n",
				user:    "ANTHROPIC_API_KEY=user\nANTHROPIC_MODEL=user-model\n",
			},
			want: "key=dir<.env url=https://named<named model=user-model<" + user,
		},
		{
			name:    "absolute FLOWER_ENV, XDG_CONFIG_HOME before HOME",
			environ: []string{"FLOWER_ENV=@/sub/f", "HOME=@/home", "XDG_CONFIG_HOME=@/xdg"},
			files: map[string]string{
				"sub/f": "ANTHROPIC_MODEL=f", user: "ANTHROPIC_API_KEY=home", "xdg/flower/.env": "ANTHROPIC_API_KEY=xdg",
			},
			want: "key=xdg<xdg/flower/.env url=https://api.anthropic.com<default model=f<sub/f",
		},
		{
			name:    "relative XDG_CONFIG_HOME is none",
			environ: []string{"HOME=@/home", "XDG_CONFIG_HOME=home/.config"},
			files:   map[string]string{user: "ANTHROPIC_AUTH_TOKEN=t"},
			want:    "token=t<" + user + " url=https://api.anthropic.com<default model=claude-opus-5-5<default",
		},
		{
			name:    "a key in an earlier source beats a token in a later one",
			environ: []string{"ANTHROPIC_API_KEY=k", "ANTHROPIC_MODEL=m", "ANTHROPIC_BASE_URL=https://h"},
			files:   map[string]string{".env": "ANTHROPIC_AUTH_TOKEN=t"},
			want:    "key=k<environment url=https://h<environment model=m<environment",
		},
		{
			name:    "in one source the token",
			environ: []string{"ANTHROPIC_API_KEY=k", "ANTHROPIC_AUTH_TOKEN=t", "ANTHROPIC_MODEL=m", "ANTHROPIC_BASE_URL=https://h"},
			want:    "token=t<environment url=https://h<environment model=m<environment",
		},
		{
			name:    "the settings of Claude Code come last, and only what they may say",
			environ: []string{"HOME=@/home", "ANTHROPIC_MODEL="},
			files: map[string]string{
				user:                         "ANTHROPIC_MODEL=user-model\nANTHROPIC_API_KEY=",
				"home/.claude/settings.json": `{"model":"opus","env":{"ANTHROPIC_AUTH_TOKEN":" t ","ANTHROPIC_BASE_URL":"https://gate","ANTHROPIC_MODEL":"claude-model","FLOWER_WINDOW":"7","ANTHROPIC_API_KEY":5}}`,
			},
			want: "token=t<home/.claude/settings.json url=https://gate<home/.claude/settings.json model=user-model<" + user,
		},
		{
			name:    "settings of Claude Code in a directory of their own",
			environ: []string{"HOME=@/home", "CLAUDE_CONFIG_DIR=@/own", "ANTHROPIC_MODEL=m", "ANTHROPIC_BASE_URL=https://h"},
			files: map[string]string{
				"own/settings.json": `{"env":{"ANTHROPIC_API_KEY":"own"}}`, "home/.claude/settings.json": `{"env":{"ANTHROPIC_API_KEY":"home"}}`,
			},
			want: "key=own<own/settings.json url=https://h<environment model=m<environment",
		},
		{
			name:    "a directory of settings without any is no reason to look in the usual one",
			environ: []string{"HOME=@/home", "CLAUDE_CONFIG_DIR=@/own", "ANTHROPIC_MODEL=m", "ANTHROPIC_BASE_URL=https://h"},
			files:   map[string]string{"home/.claude/settings.json": `{"env":{"ANTHROPIC_API_KEY":"home"}}`},
			want:    "url=https://h<environment model=m<environment", noCreds: true,
		},
		{
			name:    "a relative directory of settings",
			environ: []string{"CLAUDE_CONFIG_DIR=own", "ANTHROPIC_MODEL=m", "ANTHROPIC_BASE_URL=https://h"},
			files:   map[string]string{"own/settings.json": `{"env":{"ANTHROPIC_AUTH_TOKEN":"own"}}`},
			want:    "token=own<own/settings.json url=https://h<environment model=m<environment",
		},
		{
			name:    "settings of Claude Code that are none",
			environ: []string{"HOME=@/home", "ANTHROPIC_MODEL=m", "ANTHROPIC_BASE_URL=https://h"},
			files:   map[string]string{"home/.claude/settings.json": `{"env":["ANTHROPIC_API_KEY"`},
			want:    "url=https://h<environment model=m<environment", noCreds: true,
		},
		{
			name:    "an endpoint of the directory with its own key",
			environ: []string{"HOME=@/home", "ANTHROPIC_MODEL=m"},
			files:   map[string]string{".env": "ANTHROPIC_BASE_URL=https://dir\nANTHROPIC_API_KEY=dir", user: "ANTHROPIC_API_KEY=user"},
			want:    "key=dir<.env url=https://dir<.env model=m<environment foreign=true<",
		},
		{
			name:    "a file that is named is the person's own, also the one of the directory",
			environ: []string{"FLOWER_ENV=.env", "ANTHROPIC_MODEL=m", "ANTHROPIC_API_KEY=k"},
			files:   map[string]string{".env": "ANTHROPIC_BASE_URL=https://dir"},
			want:    "key=k<environment url=https://dir<.env model=m<environment",
		},
		{
			name:    "a directory called .env",
			environ: []string{"ANTHROPIC_MODEL=m", "ANTHROPIC_BASE_URL=https://h"},
			files:   map[string]string{".env/bin/python": ""},
			want:    "url=https://h<environment model=m<environment", noCreds: true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := place(t, tt.files)
			environ := slices.Clone(tt.environ)
			for i := range environ {
				environ[i] = strings.Replace(environ[i], "@/", dir+"/", 1)
			}
			c, err := Load(Options{Environ: environ, Dir: dir})
			if (err != nil) != tt.noCreds || (tt.noCreds && !errors.Is(err, ErrNoCredentials)) {
				t.Fatal(err)
			}
			var got []string
			add := func(what, value, source string) {
				if value != "" {
					got = append(got, what+"="+value+"<"+strings.TrimPrefix(source, dir+"/"))
				}
			}
			add("key", c.APIKey.Value, c.APIKey.Source)
			add("token", c.AuthToken.Value, c.AuthToken.Source)
			add("url", c.BaseURL.Value, c.BaseURL.Source)
			add("model", c.Model.Value, c.Model.Source)
			if c.Window.Value != 0 {
				add("window", fmt.Sprint(c.Window.Value), c.Window.Source)
			}
			if c.Foreign {
				add("foreign", "true", "")
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("got  %s\nwant %s", s, tt.want)
			}
		})
	}
}

func TestLoadRefusesValues(t *testing.T) {
	const secret = "SEKRIT"
	for _, tt := range []struct{ entry, reason string }{
		{"ANTHROPIC_API_KEY=a\nSEKRIT", "line break"},
		{"ANTHROPIC_API_KEY=SEKRIT\r", "line break"},
		{"ANTHROPIC_API_KEY=SEKRIT\x1b", "control"},
		{"ANTHROPIC_API_KEY=SEKRIT键", "ASCII"},
		{"ANTHROPIC_API_KEY=SEKRIT\xff", "ASCII"},
		{"ANTHROPIC_AUTH_TOKEN=Bearer SEKRIT", "blank"},
		{"ANTHROPIC_BASE_URL=https://SEKRIT:SEKRIT@h", "user or password"},
		{"ANTHROPIC_BASE_URL=ftp://SEKRIT", "http"},
		{"ANTHROPIC_BASE_URL=SEKRIT:8080", "http"},
		{"ANTHROPIC_BASE_URL=//SEKRIT", "http"},
		{"ANTHROPIC_BASE_URL=https:SEKRIT", "host"},
		{"ANTHROPIC_BASE_URL=https:///SEKRIT", "host"},
		{"ANTHROPIC_BASE_URL=https://h/?key=SEKRIT", "query"},
		{"ANTHROPIC_BASE_URL=https://h/#SEKRIT", "fragment"},
		{"ANTHROPIC_BASE_URL=https://h:99999/SEKRIT", "port"},
		{"ANTHROPIC_BASE_URL=https://SEKRIT\n", "not a URL"},
		{"ANTHROPIC_BASE_URL=https://a:SEKRIT@[::1", "not a URL"},
		{"ANTHROPIC_MODEL=two SEKRIT", "model"},
		{"ANTHROPIC_MODEL=\x1bSEKRIT", "model"},
		{"FLOWER_WINDOW=SEKRIT", "tokens"},
		{"FLOWER_WINDOW=-1", "tokens"},
		{"FLOWER_WEB_SEARCH=SEKRIT", "auto, on or off"},
		{"FLOWER_WINDOW=99999999999999999999", "tokens"},
	} {
		_, err := Load(Options{Environ: []string{tt.entry, "ANTHROPIC_API_KEY=good"}})
		var bad *ValueError
		if !errors.As(err, &bad) || !strings.Contains(bad.Why.String(), tt.reason) {
			t.Errorf("%q: %v", tt.entry, err)
			continue
		}
		name, _, _ := strings.Cut(tt.entry, "=")
		if bad.Name != name || bad.Source != SourceEnvironment || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", tt.entry, err)
		}
	}
}

func TestLoadRefusesFiles(t *testing.T) {
	dir := place(t, map[string]string{
		"torn/.env": "A=1\nANTHROPIC_API_KEY='SEKRIT\n", "torn-user/flower/.env": "SEKRIT", "big/.env": strings.Repeat("#", maxFile+1),
	})
	for _, name := range []string{"pipe", "empty"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(dir+"/pipe/.env", 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		dir     string
		environ string
		want    string
	}{
		{dir: "torn", want: "torn/.env, line 2: a quote"},
		{dir: "empty", environ: "XDG_CONFIG_HOME=" + dir + "/torn-user", want: "torn-user/flower/.env, line 1: not of the form"},
		{dir: "big", want: "big/.env: too large"},
		{dir: "pipe", want: "pipe/.env: not a regular file"},
		{dir: "empty", environ: "FLOWER_ENV=none", want: "empty/none: there is no such file"},
		{dir: "empty", environ: "FLOWER_ENV=" + dir, want: dir + ": not a regular file"},
		{dir: "empty", environ: "FLOWER_ENV=" + dir + "/torn/.env/x", want: "torn/.env/x: cannot be read"},
	} {
		_, err := Load(Options{Environ: []string{"ANTHROPIC_API_KEY=good", tt.environ}, Dir: filepath.Join(dir, tt.dir)})
		var bad *FileError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "SEKRIT") {
			t.Errorf("%s %s: %v, want %s", tt.dir, tt.environ, err, tt.want)
		}
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	const key, token = "sk-ant-0123456789abcdefghij", "0123456789-the-gateways-token"
	c, err := Load(Options{Environ: []string{"ANTHROPIC_API_KEY=" + key, "ANTHROPIC_AUTH_TOKEN=" + token}})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Secrets(); !slices.Equal(got, []string{token, key}) {
		t.Errorf("secrets %q", got)
	}
	data, err := json.Marshal(c.AuthToken)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{
		fmt.Sprint(c.AuthToken), fmt.Sprintf("%+v", c.AuthToken), fmt.Sprintf("%#v", c.AuthToken),
		fmt.Sprintf("%q %s", c.AuthToken, &c.AuthToken), string(data),
	} {
		if strings.Contains(out, token) || !strings.Contains(out, "oken") {
			t.Errorf("printed %s", out)
		}
	}
	if out := fmt.Sprintf("%v %+v", c, c); strings.Contains(out, token[:10]) || strings.Contains(out, key[10:]) {
		t.Errorf("printed %s", out)
	}
}

func TestLoadPrices(t *testing.T) {
	const table = "{\"m\": {}}"
	at := func(dir string) Options { return Options{Environ: []string{"HOME=" + dir + "/home"}} }
	dir := place(t, map[string]string{"home/.config/flower/prices.json": table, "other/flower/prices.json": "", "home/x": ""})
	path := filepath.Join(dir, "home/.config/flower/prices.json")
	if f, err := LoadPrices(at(dir)); err != nil || string(f.Data) != table || f.Path != path {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err := LoadPrices(Options{Environ: []string{"XDG_CONFIG_HOME=" + dir + "/other"}}); err != nil || f.Data == nil || len(f.Data) != 0 {
		t.Errorf("an empty file is there: %+v, %v", f, err)
	}
	if f, err := LoadPrices(at(t.TempDir())); err != nil || f.Data != nil || f.Path == "" {
		t.Errorf("no file: %+v, %v", f, err)
	}
	if f, err := LoadPrices(Options{}); err != nil || f.Data != nil || f.Path != "" {
		t.Errorf("no place: %+v, %v", f, err)
	}
	for what, build := range map[string]func() error{
		"not a regular file": func() error { return os.Mkdir(path, 0o700) },
		"too large":          func() error { return os.WriteFile(path, make([]byte, maxFile+1), 0o600) },
		"pipe":               func() error { return syscall.Mkfifo(path, 0o600) },
	} {
		if err := errors.Join(os.RemoveAll(path), build()); err != nil {
			t.Fatal(err)
		}
		var bad *FileError
		if _, err := Load(at(dir)); !errors.As(err, &bad) || bad.Path != path {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestSearches(t *testing.T) {
	for _, test := range []struct {
		environ []string
		mode    string
		want    bool
	}{
		{nil, "", true},
		{nil, "off", false},
		{[]string{"FLOWER_WEB_SEARCH=off"}, "", false},
		{[]string{"FLOWER_WEB_SEARCH=off"}, "on", true},
		{[]string{"FLOWER_WEB_SEARCH=off"}, "auto", true},
		{[]string{"ANTHROPIC_BASE_URL=https://API.anthropic.com:443/"}, "", true},
		{[]string{"ANTHROPIC_BASE_URL=http://api.anthropic.com"}, "", false},
		{[]string{"ANTHROPIC_BASE_URL=https://api.anthropic.com.gate.example"}, "", false},
		{[]string{"ANTHROPIC_BASE_URL=https://gate.example/api.anthropic.com"}, "", false},
		{[]string{"ANTHROPIC_BASE_URL=https://gate.example", "FLOWER_WEB_SEARCH=on"}, "", true},
		{[]string{"ANTHROPIC_BASE_URL=https://gate.example", "FLOWER_WEB_SEARCH=auto"}, "", false},
	} {
		c, err := Load(Options{Environ: append(test.environ, "ANTHROPIC_API_KEY=k")})
		if got := c.Searches(test.mode); err != nil || got != test.want {
			t.Errorf("%v with %q: %v, %v", test.environ, test.mode, got, err)
		}
	}
}

// The values of ANTHROPIC_CUSTOM_HEADERS are secrets, wherever they stand and whatever the headers are called.
func TestCustomHeadersAreSecrets(t *testing.T) {
	const gate, basic, bare = "gate-0123456789abcdef", "dXNlcjpwYXNzd29yZA==", "only-a-value-0123456789"
	headers := "X-Gate: " + gate + "\nProxy-Authorization: Basic " + basic + "\r\n" + bare + "\n: \nX-Empty:\n"
	settings, err := json.Marshal(map[string]any{"env": map[string]string{envCustomHeaders: headers}})
	if err != nil {
		t.Fatal(err)
	}
	dir := place(t, map[string]string{"home/.claude/settings.json": string(settings)})
	for name, opts := range map[string]Options{
		"environment": {Environ: []string{envCustomHeaders + "=" + headers, "ANTHROPIC_API_KEY=k"}},
		"settings":    {Environ: []string{"HOME=" + dir + "/home", "ANTHROPIC_API_KEY=k"}},
	} {
		c, err := Load(opts)
		if err != nil {
			t.Fatal(err)
		}
		shown := ""
		for _, o := range c.Origins() {
			shown += o.Name + " = " + o.Value + "\n"
		}
		r := NewRedactor(c.Secrets()...)
		printed := r.Redact("a " + gate + " b " + basic + " c " + bare + " d Basic " + basic)
		for _, secret := range []string{gate, basic, bare} {
			if strings.Contains(printed, secret) || strings.Contains(shown, secret) {
				t.Errorf("%s: %s is shown:\n%s\n%s", name, secret, printed, shown)
			}
		}
		if !strings.Contains(shown, "ANTHROPIC_CUSTOM_HEADERS = X-Gate: …cdef, Proxy-Authorization: …ZA==, …6789") {
			t.Errorf("%s: shown as\n%s", name, shown)
		}
		if out := fmt.Sprintf("%v %+v", c, c.Headers); strings.Contains(out, gate) {
			t.Errorf("%s: printed %s", name, out)
		}
	}
}

// What may be somebody else's is left out on demand, and nothing else is.
func TestLoadOwn(t *testing.T) {
	dir := place(t, map[string]string{
		".env":                     "ANTHROPIC_API_KEY=dir\nANTHROPIC_BASE_URL=https://dir\nANTHROPIC_MODEL=theirs\nFLOWER_WINDOW=7\n",
		"home/.config/flower/.env": "ANTHROPIC_API_KEY=user\nANTHROPIC_MODEL=mine\n",
	})
	for named, want := range map[string]string{
		"":     "user https://api.anthropic.com mine 0",
		".env": "dir https://dir theirs 7",
	} {
		c, err := Load(Options{Environ: []string{"HOME=" + dir + "/home", "FLOWER_ENV=" + named}, Dir: dir, Own: true})
		if got := fmt.Sprint(c.APIKey.Value, " ", c.BaseURL.Value, " ", c.Model.Value, " ", c.Window.Value); err != nil || got != want || c.Foreign {
			t.Errorf("FLOWER_ENV=%s: %s, %v, want %s", named, got, err, want)
		}
	}
}
