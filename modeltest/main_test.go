package modeltest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"flower/transcript"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// body is a request; set replaces a top-level key by JSON, "" removes it.
type body map[string]string

func good() body {
	return body{
		"model": `"claude-opus-5-5"`, "max_tokens": `1000`,
		"messages": `[{"role":"user","content":"hello"}]`,
	}
}

func (b body) set(pairs ...string) body {
	out := maps.Clone(b)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			delete(out, pairs[i])
		} else {
			out[pairs[i]] = pairs[i+1]
		}
	}
	return out
}

func (b body) String() string {
	raw := map[string]json.RawMessage{}
	for k, v := range b {
		raw[k] = json.RawMessage(v)
	}
	data, err := json.Marshal(raw)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// client speaks HTTP by hand; every test has its own connections.
type client struct {
	t      *testing.T
	url    string
	header http.Header
	http   *http.Client
}

func newClient(t *testing.T, s *Server) *client {
	tr := &http.Transport{DialContext: s.Dial}
	t.Cleanup(tr.CloseIdleConnections)
	return &client{t: t, url: s.URL, http: &http.Client{Transport: tr}, header: http.Header{
		"X-Api-Key": {s.Key}, "Anthropic-Version": {"2023-06-01"}, "Content-Type": {"application/json"},
	}}
}

func (c *client) do(body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url+"/v1/messages", strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header = c.header
	return c.http.Do(req)
}

// fail sends a body that must not reach the server, and returns why it did not; nil if it did.
func (c *client) fail(body string) error {
	res, err := c.do(body)
	if err == nil {
		_ = res.Body.Close()
	}
	return err
}

// post sends a body and reads the whole answer.
func (c *client) post(body string) (int, []byte) {
	c.t.Helper()
	res, err := c.do(body)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return res.StatusCode, data
}

// ask sends a body that must be answered with a message.
func (c *client) ask(body string) transcript.Message {
	c.t.Helper()
	status, data := c.post(body)
	if status != 200 {
		c.t.Fatalf("answered %d: %s", status, data)
	}
	var m transcript.Message
	if err := json.Unmarshal(data, &m); err != nil {
		c.t.Fatal(err)
	}
	return m
}

// refused sends a body that must be refused with a text.
func (c *client) refused(body, text string) {
	c.t.Helper()
	status, data := c.post(body)
	if status == 200 || !strings.Contains(errorText(c.t, data), text) {
		c.t.Fatalf("answered %d %s\nwant a refusal with %q", status, data, text)
	}
}

func errorText(t *testing.T, data []byte) string {
	t.Helper()
	var e struct {
		Type  string
		Error struct{ Type, Message string }
		ID    string `json:"request_id"`
	}
	if err := json.Unmarshal(data, &e); err != nil || e.Type != "error" || e.Error.Type == "" || e.ID == "" {
		t.Fatalf("not an error of the API: %s (%v)", data, err)
	}
	return e.Error.Message
}

func start(t *testing.T, opts Options) (*Server, *client) {
	s := Start(t, opts)
	return s, newClient(t, s)
}

// tolerant does not fail the test for refusals.
func tolerant(opts Options) Options {
	opts.Allow = func(Problem) bool { return true }
	return opts
}

type sse struct {
	name string
	data map[string]any
}

// readEvents reads a stream until it ends and says how it ended.
func readEvents(r io.Reader) ([]sse, error) {
	var out []sse
	var cur sse
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return out, err
		}
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "":
			out = append(out, cur)
			cur = sse{}
		case strings.HasPrefix(line, "event: "):
			cur.name = line[len("event: "):]
		case strings.HasPrefix(line, "data: "):
			dec := json.NewDecoder(bytes.NewReader([]byte(line[len("data: "):])))
			dec.UseNumber()
			if err := dec.Decode(&cur.data); err != nil {
				return out, fmt.Errorf("event %q: %w", line, err)
			}
		default:
			return out, fmt.Errorf("unexpected line %q", line)
		}
	}
}

// messages spells a list of messages.
func messages(list ...transcript.Message) string { return string(encode(list)) }

func user(blocks ...transcript.Block) transcript.Message {
	return transcript.Message{Role: "user", Content: blocks}
}

// back is an answer as a client sends it back.
func back(m transcript.Message) transcript.Message {
	return transcript.Message{Role: "assistant", Content: m.Content}
}

func result(id, text string) transcript.Block {
	return transcript.ToolResult(id, false, transcript.Text(text))
}
