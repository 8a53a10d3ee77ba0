package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"flower"
	"flower/agent"
	"flower/internal/config"
	"flower/internal/disk"
	"flower/internal/mcp"
	"flower/internal/shell"
	"flower/internal/text"
	"flower/messages"
	"flower/sqlite"
	"flower/tools"
)

// raw is what nobody but the system or the endpoint has said: it stays as it is in every language.
const raw = "RAW-DETAIL"

// flagErrors makes the errors that the flag library makes.
func flagErrors(t *testing.T) []error {
	t.Helper()
	var list []error
	for _, args := range [][]string{{"--none"}, {"-x"}, {"--n"}, {"-s"}, {"--n", "many"}, {"--f", "x"}, {"--b=perhaps"}, {"--d", "soon"}, {"--=x"}} {
		set := pflag.NewFlagSet("flower", pflag.ContinueOnError)
		set.Int("n", 0, "")
		set.StringP("short", "s", "", "")
		set.Float64("f", 0, "")
		set.Bool("b", false, "")
		set.Var(new(patience), "d", "")
		err := set.Parse(args)
		if err == nil {
			t.Fatalf("%q is no error", args)
		}
		list = append(list, &usageError{&flagError{err}})
	}
	return list
}

// mapped are errors of every type and every case that has a message.
func mapped(t *testing.T) []error {
	t.Helper()
	cause := errors.New(raw)
	list := flagErrors(t)
	for _, s := range sentinels {
		list = append(list, s.err)
	}
	for errno := range errnos {
		list = append(list, &fs.PathError{Op: "open", Path: "/p", Err: errno})
	}
	for _, f := range config.Faults() {
		list = append(list, &config.ValueError{Name: "N", Source: config.SourceEnvironment, Why: f}, &config.ValueError{Name: "N", Why: f},
			&config.FileError{Path: "/p", Line: 3, Why: f}, &config.FileError{Path: "/p", Why: f, Err: cause})
	}
	for _, f := range messages.PriceFaults() {
		bad := &messages.PriceError{Line: 2, Model: "m", Why: f, Key: "k", Detail: raw}
		list = append(list, bad, &config.FileError{Path: "/p", Line: 2, Why: config.BadPrices, Err: bad})
	}
	for _, f := range mcp.Faults() {
		list = append(list, &mcp.Error{Why: f, Detail: raw}, &mcp.Error{Server: "s", Why: f, Detail: raw, Err: cause}, &mcp.Error{Server: "s", Tool: "t", Why: f, Detail: raw})
	}
	for f := flower.RoundsUsed; aborts[f] != ""; f++ {
		list = append(list, &flower.Abort{Cause: f, Rounds: 1}, &flower.Abort{Cause: f, Rounds: 2, Judge: raw}, &flower.Abort{Cause: f, Unclear: true})
	}
	for name := range endpointTypes {
		list = append(list, &agent.ModelError{Type: name, Message: raw}, &agent.ModelError{Type: name, Kind: agent.Fatal, Message: raw})
	}
	for _, status := range []int{200, 400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529} {
		list = append(list, &agent.ModelError{Status: status, Message: raw}, &agent.ModelError{Status: status, Kind: agent.Fatal, Message: raw})
	}
	for _, err := range []error{nil, messages.ErrStalled, messages.ErrAsleep, syscall.ECONNREFUSED, &net.DNSError{IsNotFound: true}} {
		list = append(list, &agent.ModelError{Message: raw, Err: err})
	}
	for _, outage := range []agent.Outage{agent.NoOutage, agent.Offline, agent.Portal, agent.Busy} {
		list = append(list, &agent.OutageError{Outage: outage, Waited: time.Hour, Err: &agent.ModelError{Message: raw}})
	}
	return append(list,
		&agent.ModelError{Kind: agent.Overflow, Status: 400, Message: raw}, &agent.ModelError{Outage: agent.Portal, Message: raw},
		&agent.ModelError{Err: &agent.TooLargeError{What: "prompt", Bytes: 9, Max: 3}},
		&agent.OutageError{Outage: agent.Busy, Until: time.Unix(0, 0), Err: cause},
		&agent.RefusalError{}, &agent.RefusalError{Details: raw}, &agent.CutOffError{Stop: "max_tokens", Times: 3},
		&agent.LimitError{Turns: 3}, &agent.LimitError{CostUSD: 1, SpentUSD: 2}, &agent.StuckError{Tool: "Bash", Times: 5},
		&agent.StoreError{Session: "s", Err: cause}, &budgetError{limit: &agent.LimitError{CostUSD: 1, SpentUSD: 2}, err: cause},
		&shell.UnfitError{Harm: shell.Idle}, &shell.UnfitError{Harm: shell.Deletes}, &shell.UnfitError{Harm: shell.Writes},
		&shell.UnfitError{Harm: shell.Git}, &shell.UnfitError{Harm: shell.Sends}, &shell.UnfitError{Harm: shell.System},
		&shell.UnfitError{Harm: shell.Waits}, &shell.UnfitError{Harm: shell.Hidden},
		&tools.CheckError{Signal: "SIGKILL"}, &tools.CheckError{After: time.Minute}, &tools.CheckError{Err: cause},
		&flower.InUse{}, &flower.InUse{Session: "s"}, &flower.StepError{Step: flower.StepWork, Err: cause},
		&flower.RejectedError{Reason: raw}, &flower.RejectedError{Reason: "lacks " + raw, Missing: raw}, &flower.JudgeError{Err: cause},
		&flower.FullError{Err: &agent.ModelError{Kind: agent.Overflow, Message: raw}},
		&flower.WindowError{Agent: "worker", Window: 9000, Floor: 20000, Source: "--window"},
		&flower.HandoffError{Path: "/p", Generations: 8}, &flower.HandoffError{Path: "/p", Degraded: true},
		&config.EndpointError{File: "/f", BaseURL: "https://h"}, &config.EndpointError{File: "/f", BaseURL: "https://h", Credential: config.SourceEnvironment},
		&text.UnknownLangError{Lang: "tlh"}, &disk.NotRegularError{Path: "/p"}, &disk.TooLargeError{Path: "/p", Size: 9, Max: 3},
		&os.LinkError{Op: "rename", Old: "/a", New: "/b", Err: syscall.EXDEV}, &exec.Error{Name: "x", Err: exec.ErrNotFound},
		errors.Join(flower.ErrNoSession, &agent.LimitError{Turns: 1}), fmt.Errorf("open store /p: %w: %s", sqlite.ErrNotDatabase, raw),
		fmt.Errorf("open: %w: %w", sqlite.ErrNotDatabase, sqlite.ErrForeign),
	)
}

// Every error that has a message has it in every language, and in another language it is said in other words: what is the
// same as in English is what the endpoint or the system said.
func TestErrorsAreExplained(t *testing.T) {
	english := explainer{Printer: text.NewPrinter(text.English)}
	for _, lang := range text.Languages() {
		x := explainer{Printer: text.NewPrinter(lang)}
		for _, err := range mapped(t) {
			said := x.alone(err)
			if said == "" || strings.Contains(said, "[[") || strings.Contains(said, "<no value>") || strings.Contains(said, "\n") {
				t.Errorf("%s: %T is said as %q", lang, err, said)
			}
			if _, known := x.tree(err); !known {
				t.Errorf("%T (%v) has no message", err, err)
			}
			if lang != text.English && said == english.alone(err) {
				t.Errorf("%s: %T is said in English: %q", lang, err, said)
			}
			if strings.Contains(err.Error(), raw) != strings.Contains(said, raw) && !hides(err) {
				t.Errorf("%s: %T keeps no detail, or has one: %q of %q", lang, err, said, err)
			}
		}
	}
}

// hides tells the errors whose message leaves out what they wrap: the message of the type says it all.
func hides(err error) bool {
	var file *config.FileError
	var price *messages.PriceError
	var server *mcp.Error
	var budget *budgetError
	var abort *flower.Abort
	return errors.As(err, &file) || errors.As(err, &price) || errors.As(err, &server) || errors.As(err, &budget) || errors.As(err, &abort)
}

// Of every fault there is a message: one that is added without has none.
func TestFaultsHaveMessages(t *testing.T) {
	for _, f := range config.Faults() {
		if faults[f] == "" {
			t.Errorf("settings: %v", f)
		}
	}
	for _, f := range messages.PriceFaults() {
		if priceFaults[f] == "" {
			t.Errorf("prices: %v", f)
		}
	}
	for _, f := range mcp.Faults() {
		if serverFaults[f] == "" {
			t.Errorf("servers: %v", f)
		}
	}
	for f := flower.RoundsUsed; f <= flower.GoalChangedTooLate; f++ {
		if aborts[f] == "" {
			t.Errorf("aborts: %v", f)
		}
	}
}

func TestExplain(t *testing.T) {
	_, missing := os.ReadFile(filepath.Join(t.TempDir(), "none"))
	tests := []struct {
		lang text.Lang
		err  error
		want string // regular expression
	}{
		{"en", fmt.Errorf("read notes: %w", missing), `^/.*/none: not there \(ENOENT\) \(read notes\)$`},
		{"de", fmt.Errorf("read notes: %w", missing), `^/.*/none: nicht vorhanden \(ENOENT\) \(read notes\)$`},
		{"de", errors.New("what nobody has thought of"), `^Fehler: what nobody has thought of$`},
		{"en", errors.New("what nobody has thought of"), `^what nobody has thought of$`},
		{"fr", &flower.StepError{Step: flower.StepWork, Err: fmt.Errorf("x: %w", &agent.ModelError{Status: 529, Type: "overloaded_error", Message: "Overloaded"})},
			`^travail a échoué : le point d'accès est surchargé : 529 overloaded_error: Overloaded \(x\)$`},
		{"zh", &flower.StepError{Step: flower.StepWork, Err: &flower.Abort{Cause: flower.RoundsUsed, Rounds: 3, Judge: "缺文件"}}, `^干活失败:做了 3 轮仍未达成:缺文件$`},
		{"fr", &agent.LimitError{Turns: 1}, `^la limite de 1 échange est atteinte$`},
		{"es", errors.Join(flower.ErrNoSession, errors.New("other")), `^no existe esa sesión; other$`},
		{"de", fmt.Errorf("open store /p: %w: %w: table x has columns y", sqlite.ErrNotDatabase, sqlite.ErrForeign), `^das ist kein Sitzungsspeicher von flower: es enthält die Tabellen eines anderen Programms`},
		{"en", fmt.Errorf("load session s: %w", context.DeadlineExceeded), `^time was up \(load session s\)$`},
		{"en", &agent.ModelError{Kind: agent.Fatal, Status: 429, Type: "rate_limit_error", Message: "spend cap"}, `^a spending limit is reached: 429 rate_limit_error: spend cap$`},
		{"en", &agent.ModelError{Kind: agent.Transient, Status: 200, Type: "overloaded_error", Message: "x"}, `^the endpoint is overloaded: overloaded_error: x$`},
		{"en", &usageError{&aboutError{"the list", &mcp.Error{Server: "s", Why: mcp.NoVariable, Detail: "KEY"}}}, `^the list: MCP server s: the environment has no KEY$`},
		{"en", &usageError{spoken("as it was said")}, `^as it was said$`},
		{"ja", &flower.RejectedError{Reason: "x", Missing: "目標"}, `^受け入れられません:文書に 目標 がありません$`},
	}
	for _, tt := range tests {
		if got := (explainer{Printer: text.NewPrinter(tt.lang)}).alone(tt.err); !regexp.MustCompile(tt.want).MatchString(got) {
			t.Errorf("%s: got  %s\nwant %s", tt.lang, got, tt.want)
		}
	}
}

// What a goal guard of the product says is typed: a verdict's own words are the only text in it.
func TestAbortOfAnotherGate(t *testing.T) {
	x := explainer{Printer: text.NewPrinter("de")}
	if got := x.alone(&flower.Abort{Reason: "a gate's own words"}); got != "a gate's own words" {
		t.Errorf("got %q", got)
	}
}

// What is in the person's language already is marked as such: an error made of it would be said once more as one that
// nobody knows.
func TestSpokenErrorsAreMarked(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	wrong := regexp.MustCompile(`(errors\.New|fmt\.Errorf)\(.*\.Say\(`)
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(data), "\n") {
			if wrong.MatchString(line) && !strings.HasSuffix(name, "_test.go") && name != "orders.go" && name != "order.go" {
				t.Errorf("%s:%d: %s", name, i+1, strings.TrimSpace(line))
			}
		}
	}
}
