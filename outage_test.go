package flower_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"flower"
	"flower/agent"
	"flower/messages"
	"flower/modeltest"
	"flower/tools"
	"flower/transcript"
)

// The phases in which nothing reaches the endpoint, by their ends.
const (
	refusedUntil = 2 * time.Hour
	unnamedUntil = refusedUntil + 20*time.Minute
	strangeUntil = unnamedUntil + 10*time.Minute // somebody else's certificate
)

// weather is a network with these phases, in front of an endpoint that is reached without one.
type weather struct {
	t        *testing.T
	began    time.Time
	endpoint *modeltest.Server
	strange  tls.Certificate
}

func (w *weather) dial(ctx context.Context, network, address string) (net.Conn, error) {
	switch now := time.Since(w.began); {
	case now < refusedUntil:
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	case now < unnamedUntil:
		return nil, &net.OpError{Op: "dial", Net: network, Err: &net.DNSError{Err: "no such host", Name: "api.example", IsNotFound: true}}
	case now < strangeUntil:
		ours, theirs := net.Pipe()
		go func() {
			server := tls.Server(theirs, &tls.Config{Certificates: []tls.Certificate{w.strange}})
			_ = server.Handshake() // the client does not like it, or has only probed
			_ = server.Close()
		}()
		return ours, nil
	}
	return w.endpoint.Dial(ctx, network, address)
}

// dialTLS leaves the endpoint's own TLS out.
func (w *weather) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := w.dial(ctx, network, address)
	if err != nil || time.Since(w.began) >= strangeUntil {
		return conn, err
	}
	client := tls.Client(conn, &tls.Config{ServerName: "api.example", Time: time.Now})
	if err := client.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return client, nil
}

// portalCertificate is one that nobody has signed.
func portalCertificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	from := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "login.hotel.example"}, DNSNames: []string{"login.hotel.example"},
		NotBefore: from, NotAfter: from.AddDate(100, 0, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestOneTurnThroughEverything: a request meets everything that may happen to it on its way, over hours, and one turn
// comes of it.
func TestOneTurnThroughEverything(t *testing.T) {
	workspace, err := flower.ResolveWorkspace(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		reads := modeltest.Answer(modeltest.Text("I look into it."), modeltest.Call("Read", map[string]any{"file_path": "never-read.txt"}))
		faults := slices.Concat(
			slices.Repeat([]modeltest.Reply{modeltest.HTML(200, "<!DOCTYPE html><html><head><title>Guest Wi-Fi</title></head></html>")}, 5),
			slices.Repeat([]modeltest.Reply{modeltest.Fail(529, "", "INJECTED-OVERLOAD")}, 50),
			[]modeltest.Reply{
				modeltest.Fail(429, "", "INJECTED-LIMIT").With("Retry-After", "3600"),
				reads.Broken(modeltest.Inside("tool_use"), modeltest.Reset),
				reads.Failing(modeltest.AfterEvents(6), "api_error", "INJECTED-EVENT"),
				reads.Silent(modeltest.AfterEvents(4), nil),
				modeltest.Fail(503, "", "INJECTED-UNAVAILABLE").With("Retry-After", "0"),
			},
		)
		endpoint := modeltest.Start(t, modeltest.Options{Pipe: true, BindThinking: true, Player: modeltest.Script{
			{When: modeltest.Prompted("through it all"), Play: modeltest.Passing(modeltest.Answer(modeltest.Think("at last"), modeltest.Text("here I am")), faults...)},
			{When: modeltest.Prompted("still there?"), Play: modeltest.Say("yes")},
		}})
		w := &weather{t: t, began: time.Now(), endpoint: endpoint, strange: portalCertificate(t)}
		model, err := messages.New(messages.Options{
			BaseURL: "https://api.example", APIKey: endpoint.Key,
			Transport: &http.Transport{DialContext: w.dial, DialTLSContext: w.dialTLS},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer model.Close()
		store := flower.NewMemoryStore(workspace)
		box, err := tools.New(tools.Options{Workspace: workspace})
		if err != nil {
			t.Fatal(err)
		}
		engine, err := agent.New(agent.Options{
			Model: agent.WithRetry(model, agent.Retry{MaxOffline: 8 * time.Hour}), Log: store, Toolbox: box, ModelName: messages.DefaultModel, CWD: workspace,
		})
		if err != nil {
			t.Fatal(err)
		}
		log := &weatherLog{}
		rt, err := flower.NewRuntime(flower.RuntimeOptions{
			Workspace: workspace, RunDir: filepath.Join(workspace, "runs"), Engine: engine, Store: store, Observe: log.observe,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rt.Close() }()
		spec := agent.Spec{Name: "worker", Instructions: "You work.", Tools: []string{"Read"}, Thinking: true}
		_, err = (&flower.Workflow{Steps: []flower.Step{
			{Name: "first", Agent: spec, Prompt: flower.Say("Go through it all.")},
			{Name: "second", Agent: spec, Prompt: flower.Say("Are you still there?"), ResumeFrom: "first"},
		}}).Run(t.Context(), rt)
		if err != nil {
			t.Fatalf("after %v: %v", time.Since(w.began), err)
		}
		if took := time.Since(w.began); took < strangeUntil+time.Hour {
			t.Errorf("it took %v, less than there was to wait for", took)
		}
		log.check(t)
		checkRows(t, filepath.Join(workspace, "runs"))
		checkRequests(t, endpoint, len(faults)+2)
		checkStored(t, store, workspace, log.session)
	})
}

// weatherLog is what is observed of the run.
type weatherLog struct {
	session  string
	notices  []string // that it waits, and that it is over
	answered int
	wasted   int
	tools    int
}

func (l *weatherLog) observe(ev flower.Event) {
	e, ok := ev.(flower.AgentEvent)
	if !ok {
		return
	}
	switch e := e.Event.(type) {
	case agent.Started:
		l.session = e.Key.Session
	case agent.Answered:
		l.answered++
	case agent.Wasted:
		l.wasted++
	case agent.ToolStarted:
		l.tools++
	case agent.Progress:
		switch d := e.Delta.(type) {
		case agent.Waiting:
			if !d.Known {
				l.notices = append(l.notices, "wait "+d.Outage.String())
			}
		case agent.OutageOver:
			l.notices = append(l.notices, "over "+d.Outage.String())
		case agent.Retrying:
			l.notices = append(l.notices, fmt.Sprintf("again %d", d.Attempt))
		}
	}
}

func (l *weatherLog) check(t *testing.T) {
	t.Helper()
	want := []string{
		"wait offline", "over offline", // refused, then without a name: nothing is asked in between
		"wait portal", "over portal", // another certificate, then a page
		"wait busy", "wait busy", "over busy", // 50 times, then with a time that is news
		"again 1", "again 2", "again 3", // the answers that break off
		"wait busy", "over busy",
	}
	if !slices.Equal(l.notices, want) {
		t.Errorf("said %q\nwant %q", l.notices, want)
	}
	if l.answered != 2 || l.wasted != 3 || l.tools != 0 {
		t.Errorf("%d answers, %d that broke off, %d calls; want 2, 3 and none", l.answered, l.wasted, l.tools)
	}
}

func checkRows(t *testing.T, runDir string) {
	t.Helper()
	rows, err := flower.ReadManifest(runDir)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	first, second := rows[0], rows[1]
	if !first.OK || first.Turns != 1 || first.Attempts != 4 || first.Resumed || first.Text != "here I am" {
		t.Errorf("row %+v", first)
	}
	if !second.OK || second.Attempts != 1 || !second.Resumed || len(second.Errors) != 0 {
		t.Errorf("row of the second step %+v", second)
	}
	for _, said := range []string{
		"connection refused", "certificate", "Guest Wi-Fi", "INJECTED-OVERLOAD", "INJECTED-LIMIT", "INJECTED-EVENT", "nothing came for", "INJECTED-UNAVAILABLE",
	} {
		n := 0
		for _, e := range first.Errors {
			if strings.Contains(e, said) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%q is %d times among the errors: %q", said, n, first.Errors)
		}
	}
}

// checkRequests looks for the errors in everything the endpoint was sent.
func checkRequests(t *testing.T, endpoint *modeltest.Server, want int) {
	t.Helper()
	records := endpoint.Requests()
	if len(records) != want {
		t.Errorf("%d requests reached the endpoint, want %d", len(records), want)
	}
	for i, r := range records {
		_, said, found := strings.Cut(string(r.Body), `"messages":`)
		if !found {
			t.Fatalf("request %d has no messages: %.300s", i, r.Body)
		}
		for _, word := range []string{"INJECTED", "Wi-Fi", "refused", "no such host", "certificate", "x509", "Overloaded", "overloaded", "nothing came", "unexpected EOF", "reset", "never-read"} {
			if strings.Contains(said, word) {
				t.Errorf("request %d holds %q: %s", i, word, said)
			}
		}
		if i > 0 && i < want-1 && string(r.Body) != string(records[0].Body) {
			t.Errorf("request %d is another one than the first", i)
		}
	}
}

// checkStored counts the answers that are kept, with their usage.
func checkStored(t *testing.T, store flower.Store, workspace, session string) {
	t.Helper()
	lines, err := store.Load(t.Context(), agent.Key{Project: flower.ProjectKey(workspace), Session: session})
	if err != nil {
		t.Fatal(err)
	}
	entries, damaged := transcript.ParseHistory(lines)
	answers := 0
	for _, e := range entries {
		if e.Message != nil && e.Message.Role == transcript.RoleAssistant {
			answers++
			if e.Message.Usage.Output == 0 {
				t.Errorf("an answer without usage: %+v", e.Message)
			}
		}
	}
	if answers != 2 || damaged != 0 || len(entries) != 4 {
		t.Errorf("%d entries, %d answers, %d damaged; want two prompts with an answer each", len(entries), answers, damaged)
	}
}
