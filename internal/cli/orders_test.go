package cli

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"flower"
)

var orderLines = []struct {
	line string
	bad  string // a part of what is said of it; "" is nothing
}{
	{`{"type":"request","text":"do it"}`, ""},
	{`{"type":"request","text":""}`, ""},
	{`{"type":"remark","text":"中文 \u202e \ud83c\udf89"}`, ""},
	{`{"type":"interrupt"}`, ""},
	{`{"type":"interrupt","text":"use tabs"}`, ""},
	{`{"type":"answer","id":"q1","text":"blue"}`, ""},
	{`{"type":"answer","id":"q1","text":""}`, ""},
	{`  {"option":2,"id":"q1","type":"answer"}  `, ""},
	{``, "JSON"},
	{`blue`, "JSON"},
	{`"blue"`, "JSON"},
	{`[]`, "JSON"},
	{`null`, "JSON"},
	{`{}`, "type"},
	{`{"type":"Answer","id":"q","text":""}`, "type"},
	{`{"type":"answer","text":"blue"}`, `"id"`},
	{`{"type":"answer","id":"","text":"blue"}`, `"id"`},
	{`{"type":"answer","id":"q1","options":[2,1]}`, ""},
	{`{"type":"answer","id":"q1","decline":true}`, ""},
	{`{"type":"answer","id":"q1","text":"a","option":null}`, ""},
	{`{"type":"aside","text":"why?"}`, ""},
	{`{"type":"aside","text":"why?","id":"7"}`, ""},
	{`{"type":"status"}`, ""},
	{`{"type":"new"}`, ""},
	{`{"type":"new","text":"something else"}`, ""},
	{`{"type":"answer","id":"q1"}`, `one thing`},
	{`{"type":"answer","id":"q1","text":"a","option":1}`, `one thing`},
	{`{"type":"answer","id":"q1","text":"a","decline":true}`, `one thing`},
	{`{"type":"answer","id":"q1","decline":false}`, `one thing`},
	{`{"type":"answer","id":"q1","options":[]}`, `one thing`},
	{`{"type":"answer","id":"q1","options":1}`, `"options" has to be a list`},
	{`{"type":"answer","id":"q1","id":"q2","text":"a"}`, `twice`},
	{`{"type":"answer","id":"q1","text":"a","text":"a"}`, `twice`},
	{`{"type":"aside"}`, `"text"`},
	{`{"type":"status","text":"a"}`, `no key`},
	{`{"type":"request","text":"a","decline":true}`, `no key`},
	{`{"Type":"request","text":"a"}`, `no key`},
	{`{"type":"request","Text":"a"}`, `no key`},
	{strings.Repeat(`{"type":`, 20_000), `JSON`},
	{`{"type":"remark","text":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, `JSON`},
	{`{"type":"answer","id":"q1","option":"1"}`, `"option" has to be the number of an option`},
	{`{"type":"answer","id":"q1","option":1.5}`, `"option" has to be the number of an option`},
	{`{"type":"answer","id":"q1","option":true}`, `"option" has to be the number of an option`},
	{`{"type":"answer","id":"q1","options":["1"]}`, `"options" has to be a list of numbers`},
	{`{"type":"answer","id":"q1","options":{"a":1}}`, `"options" has to be a list of numbers`},
	{`{"type":"answer","id":"q1","decline":"yes"}`, `"decline" has to be true`},
	{`{"type":7}`, `"type" has to be a text`},
	{`{"type":"remark","text":["a"]}`, `"text" has to be a text`},
	{`{"type":"answer","id":7,"text":"a"}`, `"id" has to be a text`},
	{`{"type":"remark" "text":"a"}`, "byte 18"},
	{`{"type":"answer","id":"q1","txt":"blue"}`, "txt"},
	{`{"type":"remark"}`, `"text"`},
	{`{"type":"remark","text":"a","id":"q1"}`, "no key"},
	{`{"type":"interrupt","option":1}`, "no key"},
	{`{"type":"remark","text":"a"}{"type":"remark","text":"b"}`, "more than one"},
	{`{"type":"remark","text":"a"} x`, "more than one"},
	{`{"type":"remark","text":"a"`, "JSON"},
	{"{\"type\":\"remark\",\"text\":\"\xff\"}", "UTF-8"},
}

func TestParseOrder(t *testing.T) {
	input := resolve(t, inputSchema(t))
	for _, test := range orderLines {
		_, err := parseOrder(test.line)
		if (err == nil) != (test.bad == "") || err != nil && (!strings.Contains(err.Error(), test.bad) || strings.Contains(err.Error(), "Go ") || strings.Contains(err.Error(), "unmarshal")) {
			t.Errorf("%s: %v, want %q", test.line, err, test.bad)
		}
		var value any
		if json.Unmarshal([]byte(test.line), &value) != nil || test.bad == "UTF-8" || test.bad == "twice" { // a schema cannot tell
			continue
		}
		if invalid := input.Validate(value); (invalid == nil) != (err == nil) {
			t.Errorf("%s: the schema says %v, the code %v", test.line, invalid, err)
		}
	}
}

// FuzzParseOrder: what is understood means the same when it is written again, and is what the schema allows.
func FuzzParseOrder(f *testing.F) {
	for _, test := range orderLines {
		f.Add(test.line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		o, err := parseOrder(line)
		if err != nil {
			return
		}
		again, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		back, err := parseOrder(string(again))
		if err != nil || !reflect.DeepEqual(back, o) {
			t.Fatalf("%q becomes %q: %v", line, again, err)
		}
	})
}

// FuzzMapStrings: JSON stays JSON, and nothing changes where nothing is to be changed.
func FuzzMapStrings(f *testing.F) {
	for _, doc := range []string{`{"a":"b\"c","d":[1,"\\"]}`, `"\u001b"`, `{}`, `"`, `"\`, `"a\`} {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		if same := mapStrings(doc, func(s string) string { return s }); same != doc {
			t.Fatalf("%q became %q", doc, same)
		}
		changed := mapStrings(doc, func(s string) string { return s + `"x` })
		if json.Valid([]byte(doc)) && !json.Valid([]byte(changed)) {
			t.Fatalf("%q became %q", doc, changed)
		}
	})
}

// sighting is an output that tells when something has been written to it.
type sighting struct {
	want string
	seen chan struct{}

	mu   sync.Mutex
	text strings.Builder
}

func newSighting(want string) *sighting { return &sighting{want: want, seen: make(chan struct{})} }

// Write implements io.Writer.
func (s *sighting) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := strings.Contains(s.text.String(), s.want)
	s.text.Write(p)
	if !before && strings.Contains(s.text.String(), s.want) {
		close(s.seen)
	}
	return len(p), nil
}

func (s *sighting) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// TestOrders drives what waits for a person by lines, and sees what comes of each.
func TestOrders(t *testing.T) {
	out := newSighting(`"type":"question"`)
	a := streamTo(out, strings.Join([]string{
		`{"type":"request","text":"too late"}`,
		`{"type":"answer","id":"nobody","text":"x"}`,
		`{"type":"answer","id":"q1","option":3}`,
		`not JSON`,
		``,
		`{"type":"remark","text":"  "}`,
		`{"type":"interrupt"}`,
		`{"type":"interrupt","text":"kept as a remark"}`,
		`{"type":"remark","text":"use tabs"}`,
		`{"type":"remark","text":"` + strings.Repeat("a", maxRequest+1) + `"}`,
		strings.Repeat("b", 2*maxOrder),
		`{"type":"status","text":"?"}`,
		`{"type":"new"}`,
		`{"type":"aside","text":"why?"}`,
		`{"type":"answer","id":"q1","options":[2,2]}`,
		`{"type":"answer","id":"q0","options":[1]}`,
		`{"type":"answer","id":"q1","option":2}`,
		`{"type":"answer","id":"q1","option":1}`,
	}, "\r\n"))
	a.openEvents()
	o := newOrders(a)
	human := testHuman(t, a.events)
	answered := make(chan string)
	go func() {
		said, _, _ := human.Decide(t.Context(), "q1", "Which?", []string{"one", "two"})
		answered <- said
	}()
	<-out.seen
	o.follow(flower.Asked{Question: flower.Question{ID: "q1", Options: []string{"one", "two"}}})
	o.serve(t.Context(), human)
	if said := <-answered; said != "two" {
		t.Errorf("the answer is %q", said)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		var ev struct {
			Type, Message, Text, Input, Hint string
			Line                             int
		}
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatal(err)
		}
		if len(line) > 2*maxEventWord {
			t.Errorf("a line of %d bytes", len(line))
		}
		switch ev.Type {
		case "question", "answer": // in whichever order
		case "error":
			if ev.Hint == "" && !strings.Contains(ev.Message, " - ") {
				t.Errorf("nobody is told what to do about %q", ev.Message)
			}
			got = append(got, fmt.Sprintf("error %d %s", ev.Line, ev.Message))
		default:
			got = append(got, ev.Type+" "+ev.Text)
		}
	}
	want := []string{
		"error 1 a run is at work",
		"error 2 no question with this id waits",
		"error 3 option 3: the question has 2",
		"error 4 no JSON object: what stands at byte 2 does not belong there",
		"error 6 an empty text says nothing",
		"error 7 nothing is at work that could be interrupted",
		"remark kept as a remark",
		"remark use tabs",
		"error 10 the request is longer than 256 KiB - put it into a file in the workspace and say which one to read",
		"error 11 the request is longer than 256 KiB - put it into a file in the workspace and say which one to read",
		"error 12 status has no key \"text\"",
		"error 13 a run is at work",
		"error 14 nobody is there for side questions",
		"error 15 option 2 is there twice",
		"error 16 no question with this id waits",
		"error 18 the question with this id does not wait any more",
		"input_ended ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestOrdersInterrupt says with what a run goes on after an interrupt: words at once, words when asked, not at all.
func TestOrdersInterrupt(t *testing.T) {
	for _, test := range []struct {
		name  string
		lines []string // after "interrupt" is obeyed, the rest follows the prompt
		said  string
		goOn  bool
	}{
		{"words at once", []string{`{"type":"interrupt","text":"use tabs"}`}, "use tabs", true},
		{"asked", []string{`{"type":"interrupt"}`, `{"type":"remark","text":"use tabs"}`}, "use tabs", true},
		{"asked, nothing to say", []string{`{"type":"interrupt"}`, `{"type":"remark","text":""}`}, "", true},
		{"twice ends", []string{`{"type":"interrupt"}`, `{"type":"interrupt"}`}, "", false},
		{"the end of the input ends", []string{`{"type":"interrupt"}`}, "", false},
		{"a signal ends", nil, "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := newSighting(`"type":"prompt"`)
			a := streamTo(out, "")
			a.openEvents()
			human := testHuman(t, a.events)
			lines := make(chan orderLine)
			o := &orders{app: a, lines: lines, asked: map[string]int{}}
			stopped := make(chan struct{})
			o.interrupt = func() bool { close(stopped); return true }
			served := make(chan struct{})
			go func() { defer close(served); o.serve(t.Context(), human) }()
			if len(test.lines) > 0 {
				lines <- orderLine{1, test.lines[0]}
				<-stopped
			}
			type reply struct {
				said string
				goOn bool
			}
			replies := make(chan reply)
			go func() { said, goOn := o.goOn(t.Context()); replies <- reply{said, goOn} }()
			if len(test.lines) > 0 && test.lines[0] == `{"type":"interrupt"}` {
				<-out.seen
			}
			for _, line := range test.lines[min(1, len(test.lines)):] {
				lines <- orderLine{2, line}
			}
			if test.name == "the end of the input ends" {
				close(lines)
			}
			if got := <-replies; got.said != test.said || got.goOn != test.goOn {
				t.Errorf("%+v", got)
			}
			if test.name != "the end of the input ends" {
				close(lines)
			}
			<-served
		})
	}
}
