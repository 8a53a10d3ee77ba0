package main

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"flower/internal/text"
	"flower/internal/tui"
)

// BenchmarkWindow writes 10 MB of text, half of it Chinese, to a terminal while somebody types, and says how long a key
// took to be seen.
func BenchmarkWindow(b *testing.B) {
	block := strings.Repeat(strings.Repeat("words and 汉字 ", 6)+"\n", 100)
	const size = 10 << 20
	b.SetBytes(size)
	for b.Loop() {
		echoes := typeWhile(b, func(t *tui.Terminal) {
			for n := 0; n < size; n += len(block) {
				if _, err := io.WriteString(t, block); err != nil {
					b.Fatal(err)
				}
			}
		})
		slices.Sort(echoes)
		b.ReportMetric(float64(len(echoes)), "keys")
		b.ReportMetric(float64(echoes[len(echoes)/2].Microseconds())/1000, "ms-median")
		b.ReportMetric(float64(echoes[len(echoes)*99/100].Microseconds())/1000, "ms-p99")
		b.ReportMetric(float64(echoes[len(echoes)-1].Microseconds())/1000, "ms-worst")
	}
}

// typeWhile types one key after the other, each when the one before is seen, until work is done.
func typeWhile(b *testing.B, work func(*tui.Terminal)) []time.Duration {
	b.Helper()
	master, name := openTerminal(b)
	slave, err := os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		b.Fatal(err)
	}
	t, err := tui.Open(tui.Options{In: slave, Out: slave, Say: text.NewPrinter(text.English)})
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); work(t) }()
	var echoes []time.Duration
	typed, seen := "", ""
	began := time.Now()
	press := func() {
		typed += string(rune('a' + len(typed)))
		if len(typed) > 26 {
			_, err = io.WriteString(master, "\x15")
			typed = "a"
		}
		began = time.Now()
		_, err = io.WriteString(master, typed[len(typed)-1:])
	}
	press()
	buf := make([]byte, 64<<10)
	for busy := true; busy; {
		n, readErr := master.Read(buf)
		if readErr != nil || err != nil {
			b.Fatal(readErr, err)
		}
		if seen += string(buf[:n]); strings.Contains(seen, "> "+typed) {
			echoes = append(echoes, time.Since(began))
			seen = ""
			press()
		}
		seen = seen[max(0, len(seen)-64):]
		select {
		case <-done:
			busy = false
		default:
		}
	}
	go func() { _, _ = io.Copy(io.Discard, master) }() // ends when both sides are closed
	t.Close()
	if err := slave.Close(); err != nil {
		b.Fatal(err)
	}
	_ = master.Close() // it may be at its end already
	return echoes
}
