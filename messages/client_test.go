package messages

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"flower/agent"
	"flower/transcript"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sse writes events the way the API does.
func sse(events ...string) string {
	var out strings.Builder
	for _, e := range events {
		var head struct{ Type string }
		_ = json.Unmarshal([]byte(e), &head)
		fmt.Fprintf(&out, "event: %s\ndata: %s\n\n", head.Type, e)
	}
	return out.String()
}

var conversation = []string{
	evStart, `{"type":"ping"}`,
	evBlock(0, startThink), evDelta(0, "thinking_delta", "thinking", "hm <&> é"), evDelta(0, "signature_delta", "signature", "Eq=="), evEnd(0),
	evBlock(1, startText), evText(1, "Hello "), evText(1, "世界"), evEnd(1),
	evBlock(2, startTool), evInput(2, `{"file_`), evInput(2, `path":"a"}`), evEnd(2),
	evReason("tool_use"), evStop,
}

const conversationText = "Hello 世界"

// server serves handler on 127.0.0.1 and returns a client for it.
func server(t testing.TB, opts Options, handler http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	opts.BaseURL = s.URL + opts.BaseURL
	return client(t, opts)
}

func client(t testing.TB, opts Options) *Client {
	t.Helper()
	if opts.Transport == nil {
		opts.Transport = &http.Transport{}
	}
	c, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func says(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func ask(c *Client) (*agent.Response, error) {
	return c.Generate(context.Background(), &agent.ModelRequest{
		Model: "claude-opus-5-5", MaxTokens: 100, Messages: []transcript.Message{user(transcript.Text("hi"))},
	}, nil)
}

func failed(t testing.TB, c *Client) *agent.ModelError {
	t.Helper()
	res, err := ask(c)
	var e *agent.ModelError
	if !errors.As(err, &e) || res != nil {
		t.Fatalf("got %+v, %v; want a ModelError and nothing else", res, err)
	}
	return e
}

func TestGenerate(t *testing.T) {
	var deltas []agent.Delta
	c := server(t, Options{APIKey: "k"}, says(200, sse(conversation...), "content-type", "text/event-stream", "request-id", "req_9"))
	res, err := c.Generate(context.Background(), &agent.ModelRequest{Model: "m"}, func(d agent.Delta) { deltas = append(deltas, d) })
	if err != nil {
		t.Fatal(err)
	}
	m := res.Message
	if m.ID != "msg_1" || m.Role != "assistant" || m.Model != "claude-opus-5-5" || m.StopReason != "tool_use" || m.PlainText() != conversationText || len(m.ToolUses()) != 1 {
		t.Errorf("message %+v", m)
	}
	if want := (transcript.Usage{Input: 10, Output: 42, CacheRead: 100, CacheWrite: 20}); m.Usage != want {
		t.Errorf("usage %+v", m.Usage)
	}
	want, _ := Cost("claude-opus-5-5", m.Usage)
	if res.CostUSD != want || want == 0 || res.Unpriced || res.RequestID != "req_9" || res.Cut != 0 {
		t.Errorf("response %+v", res)
	}
	if len(deltas) != 7 {
		t.Errorf("deltas %v", deltas)
	}
}

// TestRequestOverTheLimit is not sent: the API takes 32 MB.
func TestRequestOverTheLimit(t *testing.T) {
	sent := 0
	c := server(t, Options{}, func(http.ResponseWriter, *http.Request) { sent++ })
	req := &agent.ModelRequest{Model: "m", MaxTokens: 1, Messages: []transcript.Message{{Role: transcript.RoleUser, Content: []transcript.Block{
		transcript.Text(strings.Repeat("a", transcript.MaxRequestBytes)),
	}}}}
	_, err := c.Generate(t.Context(), req, nil)
	var failure *agent.ModelError
	var large *agent.TooLargeError
	if !errors.As(err, &failure) || failure.Kind != agent.Fatal || !errors.As(err, &large) || large.Bytes <= large.Max || sent > 0 {
		t.Errorf("%v after %d requests", err, sent)
	}
	if err != nil && !strings.Contains(err.Error(), "the request has 335") {
		t.Errorf("says %q", err)
	}
}

func TestStopReasons(t *testing.T) {
	for _, reason := range []string{
		agent.StopEndTurn, agent.StopToolUse, agent.StopMaxTokens, agent.StopSequence, agent.StopPauseTurn, agent.StopRefusal, agent.StopContextWindow, "of_tomorrow",
	} {
		c := server(t, Options{}, says(200, sse(evStart, evBlock(0, startText), evText(0, "x"), evEnd(0), evReason(reason), evStop)))
		if res, err := ask(c); err != nil || res.Message.StopReason != reason || res.Message.PlainText() != "x" {
			t.Errorf("%s: %+v, %v", reason, res, err)
		}
	}
}

func TestHeaders(t *testing.T) {
	for name, c := range map[string]struct {
		opts Options
		want map[string]string
	}{
		"key":     {Options{APIKey: "sk-1", UserAgent: "flower/1"}, map[string]string{"X-Api-Key": "sk-1", "User-Agent": "flower/1"}},
		"token":   {Options{AuthToken: "tok"}, map[string]string{"Authorization": "Bearer tok", "User-Agent": "flower"}},
		"neither": {Options{}, map[string]string{"User-Agent": "flower"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("ANTHROPIC_API_KEY", "from-the-environment")
			t.Setenv("ANTHROPIC_AUTH_TOKEN", "from-the-environment")
			t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
			t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "x-strange: 1")
			var got http.Header
			cl := server(t, c.opts, func(w http.ResponseWriter, r *http.Request) {
				got = r.Header
				says(200, sse(conversation...))(w, r)
			})
			if _, err := ask(cl); err != nil {
				t.Fatal(err)
			}
			want := http.Header{
				"Accept": {"application/json"}, "Accept-Encoding": {"gzip"}, "Anthropic-Version": {"2023-06-01"},
				"Content-Type": {"application/json"}, "Content-Length": got["Content-Length"],
			}
			for k, v := range c.want {
				want.Set(k, v)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("got  %v\nwant %v", got, want)
			}
		})
	}
}

func TestBaseURL(t *testing.T) {
	for suffix, want := range map[string]string{
		"": "/v1/messages", "/": "/v1/messages", "/proxy/claude": "/proxy/claude/v1/messages", "/proxy/claude/": "/proxy/claude/v1/messages", "/a//": "/a/v1/messages",
	} {
		var got string
		c := server(t, Options{BaseURL: suffix}, func(w http.ResponseWriter, r *http.Request) {
			got = r.URL.RequestURI()
			says(200, sse(conversation...))(w, r)
		})
		if _, err := ask(c); err != nil || got != want {
			t.Errorf("%q: asked %s, %v; want %s", suffix, got, err, want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for name, opts := range map[string]Options{
		"both":        {APIKey: "a", AuthToken: "b"},
		"scheme":      {BaseURL: "ftp://h"},
		"no scheme":   {BaseURL: "localhost:8080"},
		"no host":     {BaseURL: "http:///v1"},
		"user":        {BaseURL: "http://u:pass@h"},
		"query":       {BaseURL: "http://h/?a=b"},
		"unreadable":  {BaseURL: "http://u:pass@h:x"},
		"line break":  {APIKey: "pass\n"},
		"stall limit": {StallTimeout: -1},
	} {
		if _, err := New(opts); err == nil || strings.Contains(err.Error(), "pass") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// slow sends body in pieces of n bytes, each in a packet of its own.
func slow(body string, n int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("content-type", "text/event-stream")
		for rest := body; len(rest) > 0; {
			k := min(n, len(rest))
			_, _ = io.WriteString(w, rest[:k])
			_ = http.NewResponseController(w).Flush()
			rest = rest[k:]
		}
	}
}

// pieces is a transport that answers with the given reads.
type pieces [][]byte

func (p *pieces) RoundTrip(req *http.Request) (*http.Response, error) {
	readers := make([]io.Reader, len(*p))
	for i, b := range *p {
		readers[i] = bytes.NewReader(b)
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(io.MultiReader(readers...)), Request: req}, nil
}

func TestEverySplit(t *testing.T) {
	for name, stream := range map[string]string{
		"LF":   sse(conversation...),
		"CRLF": strings.ReplaceAll(sse(conversation...), "\n", "\r\n"),
		"BOM, comments, ids": "\ufeff: hello\n\nid: 1\nretry: 5\n" +
			strings.ReplaceAll(sse(conversation...), "event: ", "id: 7\n: ping\nevent:"),
		"no event names": strings.ReplaceAll(sse(conversation...), "event: ", ": "),
	} {
		reads := new(pieces)
		c := client(t, Options{Transport: reads})
		for i := range len(stream) {
			*reads = pieces{[]byte(stream[:i]), []byte(stream[i:])}
			res, err := ask(c)
			if err != nil || res.Message.PlainText() != conversationText {
				t.Fatalf("%s, split at %d: %+v, %v", name, i, res, err)
			}
		}
	}
	c := server(t, Options{}, slow(sse(conversation...), 1))
	if res, err := ask(c); err != nil || res.Message.PlainText() != conversationText {
		t.Errorf("byte by byte: %+v, %v", res, err)
	}
}

// Whatever is missing at the end, nothing is returned.
func TestEveryCut(t *testing.T) {
	stream := sse(conversation...)
	whole := strings.Index(stream, "event: message_stop")
	reads := new(pieces)
	c := client(t, Options{Transport: reads})
	for i := range whole {
		*reads = pieces{[]byte(stream[:i])}
		if e := failed(t, c); e.Kind != agent.Transient || e.Status != 200 {
			t.Fatalf("cut at %d: %#v", i, e)
		}
	}
	for _, events := range [][]string{conversation[:1], conversation[:5], conversation[:len(conversation)-1]} {
		c := server(t, Options{}, func(w http.ResponseWriter, _ *http.Request) { // the connection breaks, in place of a clean end
			_, _ = io.WriteString(w, sse(events...))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})
		if e := failed(t, c); e.Kind != agent.Transient || e.Err == nil {
			t.Errorf("broken after %d events: %#v", len(events), e)
		}
	}
}

func TestErrorEvents(t *testing.T) {
	for i := range len(conversation) {
		events := append(append([]string{}, conversation[:i]...), `{"type":"error","error":{"type":"overloaded_error","message":"Over\nloaded"},"request_id":"req_e"}`)
		e := failed(t, server(t, Options{}, says(200, sse(events...))))
		if e.Kind != agent.Transient || e.Type != "overloaded_error" || e.Message != "Over loaded" || e.RequestID != "req_e" || e.Status != 200 {
			t.Fatalf("after %d events: %#v", i, e)
		}
	}
	for body, want := range map[string]agent.ErrorKind{
		`{"type":"error","error":{"type":"authentication_error","message":"no"}}`:                                                        agent.Fatal,
		`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}`:                 agent.Overflow,
		`{"type":"error","error":{"type":"rate_limit_error","message":"limit","details":{"error_code":"enforced_spend_limit_reached"}}}`: agent.Fatal,
		`{"error":"service is busy, try again"}`:                        agent.Transient,
		`not JSON, but: connection reset`:                               agent.Transient,
		`{"type":"error","error":{"type":"of_tomorrow","message":"?"}}`: agent.Unknown,
	} {
		if e := failed(t, server(t, Options{}, says(200, "event: error\ndata: "+body+"\n\n"))); e.Kind != want {
			t.Errorf("%s: %v, want %v", body, e.Kind, want)
		}
	}
}

func TestJSONInPlaceOfAStream(t *testing.T) {
	message := `{"id":"msg_2","type":"message","role":"assistant","model":"glm-5","content":[{"type":"text","text":"Hi"},{"type":"tool_use","id":"t1","name":"Read","input":{"a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}}`
	var text string
	c := server(t, Options{Prices: map[string]Price{"glm-5": {Input: 1, Output: 2}}}, says(200, message, "content-type", "application/json"))
	res, err := c.Generate(context.Background(), &agent.ModelRequest{Model: "glm-5"}, func(d agent.Delta) {
		if d, ok := d.(agent.TextDelta); ok {
			text += d.Text
		}
	})
	if err != nil || text != "Hi" || res.Message.ID != "msg_2" || string(res.Message.Content[1].Input) != `{"a":1}` || res.CostUSD != 11e-6 || res.Unpriced {
		t.Errorf("%+v, %v", res, err)
	}
	if res, err := ask(server(t, Options{}, says(200, message))); err != nil || !res.Unpriced || res.CostUSD != 0 {
		t.Errorf("without a price: %+v, %v", res, err)
	}
	for body, want := range map[string]agent.ErrorKind{
		message[:60]: agent.Transient,
		"":           agent.Transient,
		" \n":        agent.Transient,
		`{"code":401,"message":"Invalid API key"}`:                          agent.Fatal,
		`{"error":{"type":"overloaded_error","message":"Overloaded"}}`:      agent.Transient,
		`{"object":"chat.completion","choices":[]}`:                         agent.Unknown,
		"<!DOCTYPE html><title>Guest &amp; Wi-Fi</title><p>401 sign in</p>": agent.Transient,
	} {
		if e := failed(t, server(t, Options{}, says(200, body))); e.Kind != want {
			t.Errorf("%q: %#v, want %v", body, e, want)
		}
	}
	if e := failed(t, server(t, Options{}, says(200, "<html><title>Guest &amp; Wi-Fi</title></html>", "content-type", "text/event-stream"))); !strings.Contains(e.Message, `"Guest & Wi-Fi"`) {
		t.Errorf("a page is named %q", e.Message)
	}
}

func TestGzip(t *testing.T) {
	c := server(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("content-encoding", "gzip")
		z := gzip.NewWriter(w)
		for _, e := range conversation {
			_, _ = io.WriteString(z, sse(e))
			_ = z.Flush()
			_ = http.NewResponseController(w).Flush()
		}
		_ = z.Close()
	})
	if res, err := ask(c); err != nil || res.Message.PlainText() != conversationText {
		t.Errorf("%+v, %v", res, err)
	}
}

// What a model thought goes back byte for byte.
func TestRoundTrip(t *testing.T) {
	var bodies []string
	c := server(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		says(200, sse(conversation...))(w, r)
	})
	res, err := ask(c)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := json.Marshal(res.Message)
	if err != nil {
		t.Fatal(err)
	}
	var loaded transcript.Message
	if err := json.Unmarshal(stored, &loaded); err != nil {
		t.Fatal(err)
	}
	for _, m := range []transcript.Message{res.Message, loaded} {
		req := &agent.ModelRequest{Model: "m", Messages: []transcript.Message{user(transcript.Text("hi")), m, user(transcript.ToolResult("toolu_1", false))}}
		if _, err := c.Generate(context.Background(), req, nil); err != nil {
			t.Fatal(err)
		}
	}
	var sent struct {
		Messages []struct {
			Content []struct{ Thinking, Signature string }
		}
	}
	for _, body := range bodies[1:] {
		if err := json.Unmarshal([]byte(body), &sent); err != nil {
			t.Fatal(err)
		}
		if b := sent.Messages[1].Content[0]; b.Thinking != "hm <&> é" || b.Signature != "Eq==" {
			t.Errorf("sent back %+v", b)
		}
	}
}

func BenchmarkStream(b *testing.B) {
	events := []string{evStart, evBlock(0, startText)}
	for size := 0; size < 1<<20; {
		e := evText(0, "some twenty letters.")
		size += len(sse(e))
		events = append(events, e)
	}
	stream := []byte(sse(append(events, evReason("end_turn"), evStop)...))
	c := client(b, Options{Transport: &pieces{stream}})
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ask(c); err != nil {
			b.Fatal(err)
		}
	}
}
