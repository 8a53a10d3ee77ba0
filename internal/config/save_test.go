package config

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A directory cannot lead the person's key to an endpoint of its own.
func TestEndpointOfTheDirectory(t *testing.T) {
	const user = "home/.config/flower/.env"
	tests := []struct {
		name    string
		environ []string
		files   map[string]string
		from    string // source of the key that was not sent
	}{
		{"key of the environment", []string{"ANTHROPIC_API_KEY=k"}, map[string]string{".env": "ANTHROPIC_BASE_URL=https://evil"}, "environment"},
		{"key of the person's file", nil, map[string]string{".env": "ANTHROPIC_BASE_URL=https://evil", user: "ANTHROPIC_API_KEY=k"}, user},
		{"token of the environment beside a key of the directory", []string{"ANTHROPIC_AUTH_TOKEN=k"},
			map[string]string{".env": "ANTHROPIC_BASE_URL=https://evil\nANTHROPIC_API_KEY=x"}, "environment"},
		{"key of Claude Code", nil, map[string]string{".env": "ANTHROPIC_BASE_URL=https://evil",
			"home/.claude/settings.json": `{"env":{"ANTHROPIC_API_KEY":"k"}}`}, "home/.claude/settings.json"},
		{"no key", nil, map[string]string{".env": "ANTHROPIC_BASE_URL=https://evil"}, ""},
	}
	for _, tt := range tests {
		dir := place(t, tt.files)
		_, err := Load(Options{Environ: append(tt.environ, "HOME="+dir+"/home"), Dir: dir})
		var refused *EndpointError
		if !errors.As(err, &refused) {
			t.Errorf("%s: got %v", tt.name, err)
			continue
		}
		if got := strings.TrimPrefix(refused.Credential, dir+"/"); got != tt.from || refused.BaseURL != "https://evil" || refused.File != dir+"/.env" {
			t.Errorf("%s: got %+v", tt.name, refused)
		}
	}
}

func TestOriginsAreMasked(t *testing.T) {
	const key = "sk-ant-api03-0123456789abcdef"
	c, err := Load(Options{Environ: []string{"ANTHROPIC_API_KEY=" + key, "FLOWER_WINDOW=9"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Origin{
		{"ANTHROPIC_API_KEY", "sk-ant-…cdef", "environment"}, {"ANTHROPIC_BASE_URL", DefaultBaseURL, "default"},
		{"ANTHROPIC_MODEL", DefaultModel, "default"}, {"FLOWER_WINDOW", "9", "environment"},
	}
	got := c.Origins()
	if len(got) != len(want) {
		t.Fatalf("got %v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %v, want %v", got[i], want[i])
		}
	}
}

// Secrets of Claude Code that flower has no use for are kept from being shown all the same.
func TestForeignSecretsAreKnown(t *testing.T) {
	dir := place(t, map[string]string{".claude/settings.json": `{"env":{"CLAUDE_CODE_OAUTH_TOKEN":"a-long-oauth-token"}}`})
	c, err := Load(Options{Environ: []string{"HOME=" + dir}})
	if !errors.Is(err, ErrNoCredentials) || len(c.Secrets()) != 1 || c.Secrets()[0] != "a-long-oauth-token" {
		t.Errorf("got %v, %v", c.Secrets(), err)
	}
}

var editTests = []struct {
	name, old, want string
	bad             bool
}{
	{name: "an empty file", want: "ANTHROPIC_API_KEY=k\nANTHROPIC_BASE_URL=https://h\n"},
	{
		name: "other lines stay, in their order",
		old:  "# mine\nOTHER='a b'\n\nexport ANTHROPIC_API_KEY=old\nANTHROPIC_AUTH_TOKEN=old\nLAST=1",
		want: "# mine\nOTHER='a b'\n\nANTHROPIC_API_KEY=k\nLAST=1\nANTHROPIC_BASE_URL=https://h\n",
	},
	{name: "twice becomes once", old: "ANTHROPIC_API_KEY=a\nX=1\nANTHROPIC_API_KEY: b\n", want: "ANTHROPIC_API_KEY=k\nX=1\nANTHROPIC_BASE_URL=https://h\n"},
	{name: "a line inside a value", old: "X=\"one\nANTHROPIC_MODEL=two\"\n", bad: true},
	{name: "a value over two lines", old: "ANTHROPIC_MODEL=\"a\nb\"\n", bad: true},
	{name: "what is no such file", old: "nonsense\n", bad: true},
	{name: "what another refers to", old: "ANTHROPIC_MODEL=m\nX=$ANTHROPIC_MODEL\n", bad: true},
}

func TestEdit(t *testing.T) {
	values := Answers{APIKey: "k", BaseURL: "https://h"}.values()
	for _, tt := range editTests {
		got, bad := edit([]byte(tt.old), values)
		if string(got) != tt.want || (bad != nil) != tt.bad {
			t.Errorf("%s: got %q, %v", tt.name, got, bad)
		}
	}
}

// Whatever is in the file, what is written reads as it should, and nothing else has changed.
func FuzzEdit(f *testing.F) {
	for _, tt := range editTests {
		f.Add(tt.old, "k")
	}
	f.Add("A=1", `it's "quoted" $HOME \ #`)
	f.Fuzz(func(t *testing.T, old, key string) {
		values := map[string]string{envAPIKey: strings.TrimSpace(key), envModel: ""}
		got, bad := edit([]byte(old), values)
		if bad != nil {
			return
		}
		before, _ := parseDotenv([]byte(old))
		after, fault := parseDotenv(got)
		if fault != nil || after[envAPIKey] != values[envAPIKey] {
			t.Fatalf("%q reads as %q, %v", got, after, fault)
		}
		delete(before, envModel)
		delete(before, envAPIKey)
		delete(after, envAPIKey)
		if !maps.Equal(before, after) {
			t.Fatalf("%q became %q", before, after)
		}
	})
}

func TestSave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "flower", ".env")
	for _, key := range []string{`od$d"k'ey\#`, "plain"} {
		if err := Save(path, Answers{AuthToken: key, Model: "m"}); err != nil {
			t.Fatal(err)
		}
		c, err := Load(Options{Environ: []string{"XDG_CONFIG_HOME=" + filepath.Dir(filepath.Dir(path))}})
		if err != nil || c.AuthToken.Value != key || c.Model.Value != "m" || c.Model.Source != path {
			t.Errorf("%s reads as %q, %v", key, c.AuthToken.Value, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		if err := os.Chmod(path, 0o644); err != nil { // it is mended with the next change
			t.Fatal(err)
		}
	}
	var bad *ValueError
	if err := Save(path, Answers{APIKey: "two words"}); !errors.As(err, &bad) || bad.Name != envAPIKey {
		t.Errorf("got %v", err)
	}
	var file *FileError
	if err := os.WriteFile(path, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Save(path, Answers{APIKey: "k"}); !errors.As(err, &file) {
		t.Errorf("got %v", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "torn" {
		t.Errorf("the file has become %q, %v", data, err)
	}
}
