package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"flower/transcript"
)

// assemble puts a stream together again, checking that events come in the order the API has.
func assemble(t *testing.T, events []sse) (blocks []transcript.Block, end map[string]any) {
	t.Helper()
	var text strings.Builder
	var start map[string]any
	open := false
	for i, e := range events {
		if e.name != e.data["type"] {
			t.Errorf("event %d: name %q, type %v", i, e.name, e.data["type"])
		}
		if (i == 0) != (e.name == "message_start") || (i == len(events)-1) != (e.name == "message_stop") {
			t.Errorf("event %d of %d is %s", i, len(events), e.name)
		}
		switch e.name {
		case "content_block_start":
			if open || e.data["index"] != json.Number(itoa(len(blocks))) {
				t.Errorf("event %d: block %v starts, open %v", i, e.data["index"], open)
			}
			open = true
			start = e.data["content_block"].(map[string]any)
			text.Reset()
		case "content_block_delta":
			delta := e.data["delta"].(map[string]any)
			kind := strings.TrimSuffix(delta["type"].(string), "_delta")
			switch kind {
			case "signature":
				start["signature"] = delta["signature"]
			case "input_json":
				text.WriteString(delta["partial_json"].(string))
			default:
				text.WriteString(delta[kind].(string))
			}
		case "content_block_stop":
			open = false
			switch start["type"] {
			case "tool_use":
				start["input"] = json.RawMessage(text.String())
			case "text", "thinking":
				start[start["type"].(string)] = text.String()
			}
			var b transcript.Block
			if err := json.Unmarshal(encode(start), &b); err != nil {
				t.Fatal(err)
			}
			blocks = append(blocks, b)
		case "message_delta":
			end = e.data
		}
	}
	return blocks, end
}

func itoa(n int) string { return string(encode(n)) }

func TestStreamSaysTheSameAsTheMessage(t *testing.T) {
	long := strings.Repeat("日本語 <b>&amp; 😀\n", 20)
	_, c := start(t, Options{BindThinking: true, Player: PlayerFunc(func(*Request) Reply {
		return Answer(Think("first "+long), Redacted(), Text(long), Call("Read", map[string]string{"p": long}), Call("Read", nil))
	})})
	whole := c.ask(good().String())
	res, err := c.do(good().set("stream", "true").String())
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got := res.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/event-stream") {
		t.Errorf("content type %q", got)
	}
	if res.Header.Get("Request-Id") == "" {
		t.Error("no request id")
	}
	events, err := readEvents(res.Body)
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	blocks, end := assemble(t, events)
	if len(events) < 50 {
		t.Errorf("%d events: the text did not come in pieces", len(events))
	}
	for i := range blocks {
		a, _ := canonical(encode(blocks[i]))
		b, _ := canonical(encode(whole.Content[i]))
		if !bytes.Equal(a, b) {
			t.Errorf("block %d\nstream %s\nwhole  %s", i, a, b)
		}
	}
	if got := end["delta"].(map[string]any)["stop_reason"]; got != "tool_use" || whole.StopReason != "tool_use" {
		t.Errorf("stop reasons %v, %s", got, whole.StopReason)
	}
	if ids := whole.ToolUses(); ids[0].ID == ids[1].ID || !toolUseID.MatchString(ids[0].ID) {
		t.Errorf("ids %s, %s", ids[0].ID, ids[1].ID)
	}
}

func TestEndings(t *testing.T) {
	_, c := start(t, Options{Player: PlayerFunc(func(r *Request) Reply {
		switch r.LastUser() {
		case "nothing":
			return Answer()
		case "refusal":
			r := Say("no").Stopping("refusal")
			r.StopDetails = "not allowed"
			return r
		}
		return Say("x").Stopping("max_tokens").From("other").Spending(transcript.Usage{Input: 7, Output: 8})
	})})
	ask := func(text string) (transcript.Message, string) {
		_, data := c.post(good().set("messages", `[`+say("user", text)+`]`).String())
		var m transcript.Message
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatal(err)
		}
		return m, string(data)
	}
	if m, _ := ask("nothing"); m.StopReason != "end_turn" || len(m.Content) != 0 {
		t.Errorf("nothing: %+v", m)
	}
	if m, raw := ask("refusal"); m.StopReason != "refusal" || !strings.Contains(raw, "not allowed") {
		t.Errorf("refusal: %s", raw)
	}
	if m, _ := ask("x"); m.StopReason != "max_tokens" || m.Model != "other" || m.Usage.Input != 7 || m.Usage.Output != 8 {
		t.Errorf("overridden: %+v", m)
	}
}

func TestFailures(t *testing.T) {
	rows := []struct {
		name         string
		reply        Reply
		status       int
		body, header string
	}{
		{"overloaded", Overloaded(), 529, `"overloaded_error"`, ""},
		{"rate limit", RateLimited("3600"), 429, `"rate_limit_error"`, "3600"},
		{"spend limit", SpendLimit(), 429, `"enforced_spend_limit_reached"`, ""},
		{"too long", TooLong(41000, 40000), 400, "prompt is too long: 41000 tokens > 40000 maximum", ""},
		{"server", Fail(500, "", "x"), 500, `"api_error"`, ""},
		{"strange", Fail(418, "", "x"), 418, `"api_error"`, ""},
		{"portal", HTML(200, "<html>log in</html>"), 200, "<html>log in</html>", ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s, c := start(t, Options{Player: row.reply.With("X-Should-Retry", "false")})
			res, err := c.do(good().set("stream", "true").String())
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			data, _ := io.ReadAll(res.Body)
			if res.StatusCode != row.status || !strings.Contains(string(data), row.body) || res.Header.Get("Retry-After") != row.header {
				t.Errorf("answered %d %v %s", res.StatusCode, res.Header, data)
			}
			if res.Header.Get("X-Should-Retry") != "false" {
				t.Error("no x-should-retry")
			}
			if n := len(s.Problems()); n != 0 {
				t.Errorf("%d problems: a scripted failure is none", n)
			}
		})
	}
}

func TestBreaks(t *testing.T) {
	call := Answer(Text("I write"), Call("Write", map[string]string{"text": strings.Repeat("abc", 40)}))
	streamed := good().set("stream", "true").String()
	rows := []struct {
		name  string
		reply Reply
		err   func(error) bool
		last  string // name of the last event
	}{
		{"hang up at once", call.Broken(Point{}, HangUp), isEOF, ""},
		{"reset at once", call.Broken(Point{}, Reset), isReset, ""},
		{"hang up", call.Broken(AfterEvents(3), HangUp), isEOF, "ping"},
		{"reset in a call", call.Broken(Inside("tool_use"), Reset), isReset, "content_block_delta"},
		{"in the middle of an event", call.Broken(AfterBytes(700), HangUp), isEOF, ""},
		{"end", call.Broken(AfterEvents(4), End), isEnd, "content_block_delta"},
		{"error event", call.Failing(AfterEvents(2), "overloaded_error", "Overloaded"), isEnd, "error"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s, c := start(t, Options{Player: row.reply})
			var events []sse
			res, err := c.do(streamed)
			if err == nil {
				events, err = readEvents(res.Body)
				res.Body.Close()
			}
			if !row.err(err) {
				t.Errorf("ended with %v", err)
			}
			if row.last != "" && (len(events) == 0 || events[len(events)-1].name != row.last) {
				t.Errorf("last of %d events is not %s: %v", len(events), row.last, events)
			}
			s.Close()
			if rec := s.Requests()[0]; rec.Whole || !rec.Ended {
				t.Errorf("record: %+v", rec)
			}
		})
	}
}

func isEOF(err error) bool   { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
func isEnd(err error) bool   { return errors.Is(err, io.EOF) }
func isReset(err error) bool { return errors.Is(err, syscall.ECONNRESET) }

func TestInsideACall(t *testing.T) {
	s, c := start(t, Options{Player: Answer(Text("a"), Call("Bash", map[string]int{"n": 1})).Broken(Inside("tool_use"), End)})
	res, err := c.do(good().set("stream", "true").String())
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	events, _ := readEvents(res.Body)
	last := events[len(events)-1].data["delta"].(map[string]any)["partial_json"].(string)
	if last == "" || json.Valid([]byte(last)) || !strings.HasPrefix(`{"n":1}`, last) {
		t.Errorf("last piece of input is %q", last)
	}
	s.Close()
}

func TestGates(t *testing.T) {
	before, middle := NewGate(), NewGate()
	s, c := start(t, Options{Player: Say("hello world").Held(Point{}, before).Held(AfterEvents(4), middle)})
	begun, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		res, err := c.do(good().set("stream", "true").String())
		begun <- err
		if err != nil {
			return
		}
		defer res.Body.Close()
		_, err = readEvents(res.Body)
		ended <- err
	}()
	<-before.Reached()
	select {
	case err := <-begun:
		t.Fatalf("answered before the gate was open: %v", err)
	default:
	}
	if r := s.Requests()[0]; r.Status != 0 {
		t.Errorf("status %d before the gate", r.Status)
	}
	before.Open()
	if err := <-begun; err != nil {
		t.Fatal(err)
	}
	<-middle.Reached()
	if r := s.Requests()[0]; r.Events != 4 || r.Whole || r.Ended {
		t.Errorf("%d events at the gate, whole %v", r.Events, r.Whole)
	}
	middle.Open()
	if err := <-ended; !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	s.Close()
	if r := s.Requests()[0]; !r.Whole || !r.Ended {
		t.Errorf("not whole at the end: %+v", r)
	}
}

func TestSilence(t *testing.T) {
	gate := NewGate()
	ends := map[string]func(s *Server, cancel func()){
		"gate":   func(*Server, func()) { gate.Open() },
		"close":  func(s *Server, _ func()) { s.Close() },
		"client": func(_ *Server, cancel func()) { cancel() },
	}
	for _, name := range []string{"close", "client", "gate"} {
		t.Run(name, func(t *testing.T) {
			silent := gate
			if name != "gate" {
				silent = NewGate()
			}
			s, c := start(t, Options{Player: Say("hello").Silent(AfterEvents(2), silent)})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/v1/messages", strings.NewReader(good().set("stream", "true").String()))
			req.Header = c.header
			res, err := c.http.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			<-silent.Reached()
			ends[name](s, cancel)
			if events, err := readEvents(res.Body); errors.Is(err, io.EOF) || err == nil || len(events) > 2 {
				t.Errorf("ended with %v after %d events", err, len(events))
			}
		})
	}
}
