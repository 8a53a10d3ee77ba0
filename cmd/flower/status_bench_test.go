package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"flower"
	"flower/agent"
	"flower/internal/storetest"
	"flower/sqlite"
	"flower/transcript"
)

// big makes a store of 2,000 sessions of 250 entries, with a row of the manifest for each, in a workspace that wakes.
func big(b *testing.B, dir string) (last agent.Key) {
	b.Helper()
	ctx := context.Background()
	workspace, err := flower.ResolveWorkspace(dir)
	check(b, err)
	runs := filepath.Join(dir, "runs")
	store, err := sqlite.Open(ctx, filepath.Join(runs, "sessions.db"), sqlite.Options{Workspace: workspace})
	check(b, err)
	entries := storetest.Entries(strings.Repeat("e", 200), 249)
	answer := storetest.Entry("answer", "done")
	answer.Type = transcript.RoleAssistant
	answer.Message = &transcript.Message{Role: transcript.RoleAssistant, ID: "m", Model: "m", Usage: transcript.Usage{Input: 1000}}
	var rows []flower.StepResult
	at := time.Now().Add(-time.Hour)
	for i := range 2000 {
		last = agent.Key{Project: flower.ProjectKey(workspace), Session: fmt.Sprintf("00000000-0000-4000-8000-%012d", i)}
		check(b, store.Append(ctx, last, append(entries, answer)...))
		rows = append(rows, flower.StepResult{
			Step: flower.StepWork, SessionID: last.Session, OK: true, CostUSD: 0.1, Turns: 100, Text: strings.Repeat("word ", 40),
			StartedAt: at, EndedAt: at.Add(time.Second), Attempts: 1, Context: 1000, Run: fmt.Sprint("run", i/4),
		})
	}
	check(b, store.Close())
	data, err := json.MarshalIndent(rows, "", "  ")
	check(b, err)
	check(b, os.WriteFile(filepath.Join(runs, "manifest.json"), data, 0o600))
	data, err = json.Marshal(map[string]any{"workspace": workspace, "woke": 500, "steps": map[string]string{flower.StepWork: last.Session}})
	check(b, err)
	check(b, os.WriteFile(filepath.Join(runs, "lineage.json"), data, 0o600))
	return last
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkStatus measures status from the start of its process to the end, on a store of 500,000 entries in 2,000
// sessions; and again beside a log of the size at which it is folded into the database.
func BenchmarkStatus(b *testing.B) {
	binary, dir := build(b), b.TempDir()
	last := big(b, dir)
	run := func(b *testing.B, args ...string) {
		b.Helper()
		var took []time.Duration
		for b.Loop() {
			cmd := exec.Command(binary, args...)
			cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
			began := time.Now()
			out, err := cmd.CombinedOutput()
			took = append(took, time.Since(began))
			if err != nil || args[0] == "status" && !strings.Contains(string(out), "250 entries") {
				b.Fatalf("%v\n%s", err, out)
			}
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(took[len(took)*9/10].Microseconds())/1000, "p90-ms")
		b.ReportMetric(0, "ns/op")
	}
	b.Run("nothing", func(b *testing.B) { run(b, "version") })
	b.Run("closed", func(b *testing.B) { run(b, "status") })
	b.Run("log", func(b *testing.B) {
		workspace, err := flower.ResolveWorkspace(dir)
		check(b, err)
		store, err := sqlite.Open(context.Background(), filepath.Join(dir, "runs", "sessions.db"), sqlite.Options{Workspace: workspace})
		check(b, err)
		defer func() { check(b, store.Close()) }()
		other := agent.Key{Project: last.Project, Session: "other"}
		for i := range 180 {
			check(b, store.Append(context.Background(), other, storetest.Entry(fmt.Sprint(i), strings.Repeat("x", 4000))))
		}
		info, err := os.Stat(filepath.Join(dir, "runs", "sessions.db-wal"))
		check(b, err)
		run(b, "status")
		b.ReportMetric(float64(info.Size())/(1<<20), "MiB-log")
	})
	b.Run("list", func(b *testing.B) { run(b, "sessions", "list") })
}
