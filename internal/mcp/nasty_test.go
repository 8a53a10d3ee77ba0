//go:build unix

package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"flower/internal/proc"
)

// rawTools are what the raw server offers: schemas as no library would let one write them.
var rawTools = map[string]string{
	"object":    `{"type":"object"}`,
	"none":      `null`,
	"typeless":  `{"properties":{"a":{"type":"string"}}}`,
	"either":    `{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]}]}`,
	"list":      `{"type":"array","items":{}}`,
	"text":      `"object"`,
	"true":      `true`,
	"types":     `{"type":["object","null"]}`,
	"spaced":    `{"type":"object","properties":{"a b":{}}}`,
	"enormous":  `{"type":"object","description":"` + strings.Repeat("x", maxSchema) + `"}`,
	"circular":  `{"type":"object","$ref":"#/nowhere"}`,
	"broken":    `{"type":"object","properties":7}`,
	"recursive": `{"type":"object","properties":{"a":{"$ref":"#"}}}`,
}

// rawAnswers are results as they go over the wire, behind the name that asks for them.
func rawAnswers(name string, w io.Writer, id json.RawMessage) {
	answer := func(result string) { _, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result) }
	switch name {
	case "bytes":
		answer(`{"content":[{"type":"text","text":"a` + "\xff\xfe" + `b\u0000\ud83d"}]}`)
	case "none":
		answer(`{"content":[]}`)
	case "null":
		answer(`{"content":null,"isError":true}`)
	case "odd":
		answer(`{"content":[{"type":"hologram","x":1}]}`)
	case "images":
		image := `{"type":"image","mimeType":"image/png","data":"` + base64.StdEncoding.EncodeToString([]byte("\x89PNG")) + `"}`
		answer(`{"content":[` + strings.Repeat(image+",", 99) + image + `]}`)
	case "junk":
		_, _ = io.WriteString(w, "Traceback (most recent call last)\n")
	case "stranger":
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"nobody","result":{}}`+"\n")
		answer(`{"content":[{"type":"text","text":"after all"}]}`)
	case "list":
		_, _ = io.WriteString(w, "[1,2]\n")
	case "endless":
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"content":"`)
		for {
			if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<16)); err != nil {
				return
			}
		}
	case "loud":
		for range 64 {
			_, _ = os.Stderr.Write(bytes.Repeat([]byte("\x1b[31mno\x07 "), 1<<12))
		}
		os.Exit(3)
	case "deaf":
		select {}
	}
}

// serveRaw speaks the protocol by hand.
func serveRaw(in io.Reader, out io.Writer) int {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return 0
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Name string `json:"name"`
			} `json:"params"`
		}
		_ = json.Unmarshal(line, &m)
		switch m.Method {
		case "initialize":
			_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}}`+"\n", m.ID)
		case "tools/list":
			var list []string
			for name, schema := range rawTools {
				list = append(list, fmt.Sprintf(`{"name":%q,"inputSchema":%s}`, name, schema))
			}
			slices.Sort(list)
			_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`+"\n", m.ID, strings.Join(list, ","))
		case "tools/call":
			rawAnswers(m.Params.Name, out, m.ID)
		default:
			if m.ID != nil {
				_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`+"\n", m.ID)
			}
		}
	}
}

// TestSchemas: what the API takes is offered, also if it has to be mended; what it would refuse every request for is left out.
func TestSchemas(t *testing.T) {
	s := open(t, Options{}, local("srv", "raw"))
	got := map[string]string{}
	for _, tool := range s.Tools() {
		got[tool.Name] = string(tool.Schema) + tool.Description
	}
	want := map[string]string{
		"object": `{"type":"object"}`, "none": `{"type":"object"}`, "recursive": `{"properties":{"a":{"$ref":"#"}},"type":"object"}`,
		"typeless": `{"properties":{"a":{"type":"string"}},"type":"object"}`,
		"either":   `{"properties":{"a":{"type":"string"}},"type":"object"}` + "\n" + `Besides, the input must fit: "anyOf": [{"required":["a"]}]`,
	}
	for name := range rawTools {
		if got[name] != want[name] {
			t.Errorf("%s is offered as %.200s, want %s", name, got[name], want[name])
		}
	}
	if n := len(s.Faults()); n != len(rawTools)-len(want) {
		t.Errorf("%d faults: %v", n, s.Faults())
	}
}

// TestNastyAnswers: whatever a server says, a call comes back, and the next one finds a server that works.
func TestNastyAnswers(t *testing.T) {
	s := open(t, Options{CallTimeout: time.Minute}, local("srv", "raw"))
	for _, test := range []struct {
		name string
		want string // of the texts
		err  string
	}{
		{"bytes", "a\uFFFD", ""},
		{"none", "", ""},
		{"null", "", ""},
		{"odd", "", "hologram"},
		{"images", "80 more images", ""},
		{"stranger", "after all", ""},
		{"junk", "", "has ended"},
		{"list", "", "has ended"},
		{"endless", "", "exceeded"},
		{"loud", "", "no"},
	} {
		r, err := s.Call(context.Background(), Tool{Server: "srv", Name: test.name}, json.RawMessage(`{}`))
		var texts strings.Builder
		for _, p := range r.Parts {
			texts.WriteString(p.Text)
		}
		if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) || !strings.Contains(texts.String(), test.want) {
			t.Errorf("%s: %.200q, %v", test.name, texts.String(), err)
		}
		if err != nil && (len(err.Error()) > 1000 || strings.ContainsAny(err.Error(), "\x1b\x07\n")) {
			t.Errorf("%s: %.2000q", test.name, err)
		}
		if _, err := s.Call(context.Background(), Tool{Server: "srv", Name: "stranger"}, json.RawMessage(`{}`)); err != nil {
			t.Errorf("behind %s: %v", test.name, err)
		}
	}
}

// TestDeafServer: a server that does not read what it is sent, or answers nothing any more, holds up nobody for ever, and the
// next call has another one.
func TestDeafServer(t *testing.T) {
	ask := func(s *Set, name string, size int) error {
		_, err := s.Call(context.Background(), Tool{Server: "srv", Name: name}, json.RawMessage(`{"text":"`+strings.Repeat("x", size)+`"}`))
		return err
	}
	t.Run("hung", func(t *testing.T) {
		s := open(t, Options{CallTimeout: 100 * time.Millisecond}, local("srv", "raw"))
		if err := ask(s, "deaf", 0); err == nil || !strings.Contains(err.Error(), "no answer within 100ms") || !strings.Contains(err.Error(), "starts it again") {
			t.Errorf("it says %v", err)
		}
		if err := ask(s, "stranger", 0); err != nil {
			t.Errorf("the next call: %v", err)
		}
	})
	t.Run("not reading", func(t *testing.T) {
		s := open(t, Options{}, local("srv", "raw"))
		failed := make(chan error) // of two calls larger than a pipe: the server reads the one, and then no more
		for range 2 {
			go func() { failed <- ask(s, "deaf", 1<<20) }()
		}
		for range 2 {
			if err := <-failed; err == nil || !strings.Contains(err.Error(), "has ended") {
				t.Errorf("it says %v", err)
			}
		}
	})
}

// TestHTTPNasties are answers over HTTP that never end, are too large, or lead elsewhere.
func TestHTTPNasties(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("headers went to %s: %v", r.URL, r.Header) }))
	defer elsewhere.Close()
	stop := make(chan struct{})
	defer close(stop)
	good := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newServer(stop) }, nil)
	flood := func(w io.Writer) {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<16)); err != nil {
				return
			}
		}
	}
	for name, answer := range map[string]func(w http.ResponseWriter){
		"redirect": func(w http.ResponseWriter) {
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
		"flood": func(w http.ResponseWriter) { w.Header().Set("Content-Type", "application/json"); flood(w) },
		"events": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: ")
			flood(w)
		},
		"page": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<p>Sign in")
		},
		"nothing": func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if bytes.Contains(body, []byte(`"tools/call"`)) {
					answer(w)
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				good.ServeHTTP(w, r)
			}))
			defer server.Close()
			s := open(t, Options{CallTimeout: time.Minute}, Server{Name: "srv", URL: server.URL, Headers: map[string]string{"Authorization": "Bearer abc"}})
			defer s.Close()
			if _, err := call(t, s, "mcp__srv__echo", `{}`); err == nil || strings.Contains(err.Error(), "no answer within") {
				t.Errorf("it says %v", err)
			}
		})
	}
}

// litter is a server that leaves a program of another session running, which does not mind SIGTERM, and then stays when its
// input ends.
func litter() {
	signal.Ignore(syscall.SIGTERM)
	child := exec.Command("sleep", "600")
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		os.Exit(1)
	}
	_ = os.WriteFile(os.Getenv("PIDS"), []byte(fmt.Sprintf("%d\n%d\n", os.Getpid(), child.Process.Pid)), 0o600)
	_ = newServer(nil).Run(context.Background(), &sdk.StdioTransport{})
	select {}
}

// pidsOf reads what litter has noted.
func pidsOf(t *testing.T, path string) (pids []int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range strings.Fields(string(data)) {
		pid, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// TestNothingIsLeft: when the set is closed nothing of a server runs any more, whatever it has started and whatever it
// ignores; and while it runs it is noted for the flower that comes after a kill.
func TestNothingIsLeft(t *testing.T) {
	if os.Getenv("GOOS") == "darwin" {
		t.Skip("another session is out of reach there")
	}
	dir := t.TempDir()
	pids := filepath.Join(dir, "pids")
	server := local("srv", "litter")
	server.Env["PIDS"] = pids
	commands := &proc.Supervisor{Records: filepath.Join(dir, "records")}
	s := Open(context.Background(), []Server{server}, Options{Commands: commands, Environ: []string{"PATH=" + os.Getenv("PATH")}})
	if len(s.Tools()) == 0 {
		t.Fatal(s.Faults())
	}
	if records, err := os.ReadDir(commands.Records); err != nil || len(records) != 1 {
		t.Errorf("%d records, %v", len(records), err)
	}
	running := pidsOf(t, pids)
	s.Close()
	commands.Close()
	for _, pid := range running {
		if alive(pid) {
			t.Errorf("%d is alive", pid)
		}
	}
	if records, err := os.ReadDir(commands.Records); err != nil || len(records) != 0 {
		t.Errorf("%d records are left, %v", len(records), err)
	}
}

// FuzzOffered: what is offered keeps the API's rules for schemas.
func FuzzOffered(f *testing.F) {
	for _, schema := range rawTools {
		f.Add(schema)
	}
	name := regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	f.Fuzz(func(t *testing.T, schema string) {
		if !json.Valid([]byte(schema)) {
			return
		}
		raw, rest, bad := offered(json.RawMessage(schema))
		if bad != nil {
			return
		}
		var v map[string]json.RawMessage
		if err := json.Unmarshal(raw, &v); err != nil || string(v["type"]) != `"object"` || v["anyOf"] != nil || v["oneOf"] != nil || v["allOf"] != nil {
			t.Fatalf("%s is offered as %s (%v)", schema, raw, err)
		}
		var properties map[string]json.RawMessage
		_ = json.Unmarshal(v["properties"], &properties)
		for p := range properties {
			if !name.MatchString(p) {
				t.Fatalf("%s has a property %q", raw, p)
			}
		}
		if len(rest) > maxDescription {
			t.Fatalf("%d bytes of rest", len(rest))
		}
	})
}
