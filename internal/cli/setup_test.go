package cli

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"flower/agent"
	"flower/internal/config"
	"flower/internal/text"
)

// The endpoint of a directory does not get a key from elsewhere; the line says what to do, and nothing is written.
func TestEndpointOfTheDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte("ANTHROPIC_BASE_URL=http://127.0.0.1:9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"", "ANTHROPIC_API_KEY=a-key-of-the-person"} {
		var out, errs strings.Builder
		code := Main([]string{"x"}, []string{"HOME=" + dir + "/home", "LANG=C", key}, Stdio{In: strings.NewReader(""), Out: &out, Err: &errs}, Options{Dir: dir})
		said := errs.String()
		if code != exitConfig || strings.Count(said, "\n") != 1 || !strings.Contains(said, "FLOWER_ENV="+dir+"/.env") {
			t.Errorf("%d: %s%s", code, out.String(), said)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("there is %v, %v", entries, err)
	}
}

func TestVerdictOf(t *testing.T) {
	lost := &net.DNSError{Name: "x", IsNotFound: true}
	tests := []struct {
		err error
		url string
		id  string
	}{
		{&agent.ModelError{Kind: agent.Fatal, Status: 401}, "", "setup.rejected"},
		{&agent.ModelError{Kind: agent.Fatal, Status: 403}, "", "setup.rejected"},
		{&agent.ModelError{Kind: agent.Fatal, Status: 404}, "", "setup.wrong"},
		{&agent.ModelError{Kind: agent.Fatal, Status: 400, Type: "invalid_request_error"}, "", "setup.wrong"},
		{&agent.ModelError{Kind: agent.Transient, Status: 200, Outage: agent.Portal}, "", "setup.wrong"},
		{&agent.ModelError{Kind: agent.Transient, Outage: agent.Offline, Err: lost}, "https://nowhere.example", "setup.wrong"},
		{&agent.ModelError{Kind: agent.Transient, Outage: agent.Offline, Err: lost}, config.DefaultBaseURL, "setup.offline"},
		{&agent.ModelError{Kind: agent.Transient, Status: 529, Outage: agent.Busy}, "", "setup.busy"},
		{&agent.ModelError{Kind: agent.Transient, Outage: agent.Offline}, "", "setup.offline"},
		{errors.New("context deadline exceeded"), "", "setup.offline"},
	}
	for _, tt := range tests {
		if id, _ := verdictOf(fmt.Errorf("wrapped: %w", tt.err), tt.url); id != tt.id {
			t.Errorf("%v at %s: %s, want %s", tt.err, tt.url, id, tt.id)
		}
	}
}

// The first help fits a terminal of 80 columns and 24 rows, the prompt of the shell included, with nothing cut off.
func TestFirstHelpFits(t *testing.T) {
	for _, lang := range text.Languages() {
		var out strings.Builder
		Main([]string{"help"}, []string{"FLOWER_LANG=" + string(lang)}, Stdio{Out: &out, Err: &out}, Options{Dir: t.TempDir()})
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) > 22 {
			t.Errorf("%s: %d lines", lang, len(lines))
		}
		for _, line := range lines {
			if w := text.Width(line); w > 80 || strings.HasSuffix(line, "...") {
				t.Errorf("%s: %d cells: %s", lang, w, line)
			}
		}
		for _, want := range []string{"flower demo ", "flower setup ", `flower "`, "flower --help"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is not in\n%s", lang, want, out.String())
			}
		}
	}
}

// Every command that can be seen has a page with all its flags.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	var out strings.Builder
	if code := Main([]string{"man", "pages"}, []string{"LANG=C"}, Stdio{Out: &out, Err: &out}, Options{Dir: dir}); code != exitOK {
		t.Fatalf("%d: %s", code, out.String())
	}
	for name, want := range map[string][]string{
		"flower": {`--budget`, `--workspace`, "flower-setup(1)"}, "flower-once": {`--permission`}, "flower-setup": {"gateway"}, "flower-sessions-delete": {`--force`},
	} {
		data, err := os.ReadFile(filepath.Join(dir, "pages", name+".1"))
		if err != nil {
			t.Error(err)
		}
		for _, w := range want {
			if !strings.Contains(string(data), w) {
				t.Errorf("%s is not in %s.1:\n%s", w, name, data)
			}
		}
	}
}
