package transcript_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"flower/modeltest"
	"flower/transcript"
)

// accepted sends what was prepared to a server that knows the rules of the Messages API.
func accepted(t interface {
	Helper()
	Fatalf(string, ...any)
	Errorf(string, ...any)
}, p transcript.Prepared) {
	t.Helper()
	messages := p.Messages
	if len(messages) == 0 {
		return
	}
	if last := messages[len(messages)-1]; last.Role == transcript.RoleAssistant || len(p.Open) > 0 {
		next := transcript.Message{Role: transcript.RoleUser}
		for _, c := range p.Open {
			next.Content = append(next.Content, transcript.UnknownOutcome(c.ID))
		}
		next.Content = append(next.Content, transcript.Text("Go on."))
		messages = transcript.Append(messages, next)
	}
	type message struct {
		Role    string             `json:"role"`
		Content []transcript.Block `json:"content"`
	}
	list := make([]message, len(messages))
	for i, m := range messages {
		list[i] = message{m.Role, m.Content}
	}
	body, err := json.Marshal(map[string]any{"model": "claude-opus-5-5", "max_tokens": 100, "messages": list})
	if err != nil {
		t.Fatalf("%v", err)
	}
	if status, answer := post(t, body); status != http.StatusOK {
		t.Errorf("%d: %s\n%s", status, answer, body)
	}
}

func post(t interface{ Fatalf(string, ...any) }, body []byte) (status int, answer []byte) {
	server, err := modeltest.New(modeltest.Options{Pipe: true})
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer server.Close()
	transport := &http.Transport{DialContext: server.Dial}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequest(http.MethodPost, server.URL+"/v1/messages", bytes.NewReader(body))
	if err != nil {
		t.Fatalf("%v", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	req.Header.Set("X-Api-Key", server.Key)
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if answer, err = io.ReadAll(resp.Body); err != nil {
		t.Fatalf("%v", err)
	}
	return resp.StatusCode, answer
}

func TestDamagedHistoryIsAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { accepted(t, transcript.DrawPrepared(t)) })
}

func FuzzDamagedHistoryIsAccepted(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { accepted(t, transcript.DrawPrepared(t)) }))
}

func TestCasesAreAccepted(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.jsonl")
	if err != nil || len(files) < 30 {
		t.Fatalf("found %d case files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var lines []json.RawMessage
			for line := range bytes.SplitSeq(data, []byte("\n")) {
				lines = append(lines, line)
			}
			entries, _ := transcript.ParseHistory(lines)
			for _, trim := range []bool{false, true} {
				accepted(t, transcript.Prepare(entries, transcript.Options{Trim: trim}))
			}
		})
	}
}
