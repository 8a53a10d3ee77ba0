package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"flower/modeltest"
)

// BenchmarkStartToFirstRequest measures from the start of the process to the arrival of its first request at the
// endpoint, in a fresh directory.
func BenchmarkStartToFirstRequest(b *testing.B) {
	binary := build(b)
	var total time.Duration
	for b.Loop() {
		dir := b.TempDir()
		arrived := make(chan time.Time, 1)
		server, err := modeltest.New(modeltest.Options{
			Player: modeltest.Say("## Goal\na\n\n## Acceptance criteria\nb\n\n## Boundaries\nc\n\n## Unknowns and assumptions\nd\n"),
			OnRequest: func(*modeltest.Request) {
				select {
				case arrived <- time.Now():
				default:
				}
			},
		})
		if err != nil {
			b.Fatal(err)
		}
		cmd := exec.Command(binary, "go", "-w", dir, "-r", filepath.Join(dir, "runs"), "--clarify-only", "--timeout", "0", "--", "a thing")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=" + server.Key}
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		total += (<-arrived).Sub(began)
		server.Close()
	}
	b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "ms/first-request")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkDemo runs the demo and reports the largest resident memory of its process, the scripted endpoint included.
func BenchmarkDemo(b *testing.B) {
	binary := build(b)
	var most int64
	for b.Loop() {
		cmd := exec.Command(binary, "demo")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.TempDir()}
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			most = max(most, usage.Maxrss)
		}
	}
	b.ReportMetric(float64(most)/1024, "MiB-resident") // Linux counts in KiB
	info, err := os.Stat(binary)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/(1<<20), "MiB-binary")
}
