package modeltest

import (
	"strings"
	"testing"
	"time"

	"flower/transcript"
)

// clock is a clock that a test moves.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func markedText(text, ttl string) string {
	return `{"type":"text","text":"` + text + `","cache_control":{"type":"ephemeral","ttl":"` + ttl + `"}}`
}

func TestCacheReadsWhatItHasWritten(t *testing.T) {
	clk := &clock{now: time.Unix(1e9, 0)}
	long := strings.Repeat("a", 4000)
	s, c := start(t, Options{Now: clk.Now})
	first := good().set("system", `[`+markedText(long, "5m")+`]`, "messages", content(markedText("one", "5m")))
	u1 := c.ask(first.String()).Usage
	if u1.CacheRead != 0 || u1.CacheWrite < 1000 || u1.Input != 0 {
		t.Errorf("first: %+v", u1)
	}
	u2 := c.ask(first.String()).Usage
	if u2.CacheRead != u1.CacheWrite || u2.CacheWrite != 0 || u2.Input != 0 {
		t.Errorf("again: %+v", u2)
	}
	longer := first.set("messages", `[{"role":"user","content":[`+markedText("one", "5m")+`]},`+say("assistant", "ok")+`,`+say("user", "two")+`]`)
	u3 := c.ask(longer.String()).Usage
	if u3.CacheRead != u1.CacheWrite || u3.CacheWrite != 0 || u3.Input == 0 {
		t.Errorf("longer without a mark at its end: %+v", u3)
	}
	other := first.set("messages", content(markedText("other", "5m")))
	u4 := c.ask(other.String()).Usage
	if u4.CacheRead < 1000 || u4.CacheRead >= u1.CacheWrite || u4.CacheWrite == 0 {
		t.Errorf("another message behind the same system text: %+v", u4)
	}
	for name, b := range map[string]body{
		"model":  first.set("model", `"claude-opus-5"`),
		"tools":  first.set("tools", readTool),
		"system": first.set("system", `[`+markedText("b"+long, "5m")+`]`),
	} {
		if u := c.ask(b.String()).Usage; u.CacheRead != 0 {
			t.Errorf("%s changed: %+v", name, u)
		}
	}
	if u := c.ask(first.set("output_config", `{"effort":"low"}`).String()).Usage; u.CacheRead != u4.CacheRead {
		t.Errorf("effort changed: %+v, want the system text read", u)
	}
	clk.now = clk.now.Add(5*time.Minute + time.Second)
	if u := c.ask(first.String()).Usage; u.CacheRead != 0 {
		t.Errorf("after five minutes: %+v", u)
	}
	st := s.CacheStats()
	total := 0
	for _, r := range s.Requests() {
		total += r.Tokens
	}
	if st.Requests != 9 || st.Read+st.Written+st.Uncached != total || st.CouldRead < st.Read {
		t.Errorf("stats %+v, tokens of all requests %d", st, total)
	}
}

func TestCacheOfAnHour(t *testing.T) {
	clk := &clock{now: time.Unix(1e9, 0)}
	_, c := start(t, Options{Now: clk.Now})
	b := good().set("system", `[`+markedText(strings.Repeat("a", 400), "1h")+`]`, "messages", content(markedText("one", "5m")))
	u := c.ask(b.String()).Usage
	if u.CacheWrite1h != 0 { // the API spells it otherwise: see the body
		t.Errorf("unexpected key: %+v", u)
	}
	_, data := c.post(b.set("model", `"claude-opus-5"`).String())
	if !strings.Contains(string(data), `"ephemeral_1h_input_tokens":107`) {
		t.Errorf("an hour's part is not told: %s", data)
	}
	clk.now = clk.now.Add(50 * time.Minute)
	if u := c.ask(b.String()).Usage; u.CacheRead != 107 || u.CacheWrite == 0 {
		t.Errorf("after fifty minutes: %+v", u)
	}
}

func TestCacheMinimum(t *testing.T) {
	_, c := start(t, Options{MinCache: 1024})
	b := good().set("messages", content(markedText("one", "5m")))
	if u := c.ask(b.String()).Usage; u.CacheWrite != 0 || u.Input == 0 {
		t.Errorf("short prefix: %+v", u)
	}
	if u := c.ask(b.String()).Usage; u.CacheRead != 0 {
		t.Errorf("short prefix: %+v", u)
	}
}

// A mark finds a prefix that ends less than twenty positions before it; a run of results is one position.
func TestLookback(t *testing.T) {
	texts := func(n int) string {
		var list []string
		for range n {
			list = append(list, `{"type":"text","text":"x"}`)
		}
		return strings.Join(append(list, markedText("end", "5m")), ",")
	}
	for _, row := range []struct {
		texts int
		read  bool
	}{{18, true}, {19, false}} {
		_, c := start(t, Options{})
		c.ask(good().set("messages", content(markedText("begin", "5m"))).String())
		u := c.ask(good().set("messages", content(`{"type":"text","text":"begin"},`+texts(row.texts))).String()).Usage
		if (u.CacheRead > 0) != row.read {
			t.Errorf("%d blocks between: %+v", row.texts, u)
		}
	}
	_, c := start(t, Options{Player: PlayerFunc(func(r *Request) Reply {
		if r.Turn() > 0 {
			return Say("ok")
		}
		var calls []transcript.Block
		for range 30 {
			calls = append(calls, Call("Read", nil))
		}
		return Answer(calls...)
	})})
	first := content(markedText("begin", "5m"))
	m := c.ask(good().set("messages", first).String())
	var results []string
	for i, call := range m.ToolUses() {
		mark := ""
		if i == 29 {
			mark = "," + cc
		}
		results = append(results, `{"type":"tool_result","tool_use_id":"`+call.ID+`","content":"x"`+mark+`}`)
	}
	list := first[:len(first)-1] + `,` + string(encode(back(m))) + `,{"role":"user","content":[` + strings.Join(results, ",") + `]}]`
	if u := c.ask(good().set("messages", list).String()).Usage; u.CacheRead == 0 {
		t.Errorf("thirty calls and results: %+v", u)
	}
}

// A client that marks the end of every request reads all it could.
func TestIdealClient(t *testing.T) {
	s, c := start(t, Options{})
	var turns []string
	for i := range 10 {
		end := `{"role":"user","content":[` + markedText("question "+itoa(i), "5m") + `]}`
		c.ask(good().set("messages", `[`+strings.Join(append(turns, end), ",")+`]`).String())
		turns = append(turns, say("user", "question "+itoa(i)), say("assistant", "ok"))
	}
	if st := s.CacheStats(); st.Read != st.CouldRead || st.Read == 0 || st.Uncached != 0 {
		t.Errorf("stats %+v", st)
	}
}
