package transcript_test

import (
	"encoding/json"
	"testing"

	"flower/internal/storetest"
	"flower/transcript"
)

// stored are the lines of a session of 20,000 entries and about 40 MB, and their size in bytes.
func stored(b *testing.B) (lines []json.RawMessage, size int64) {
	b.Helper()
	for _, e := range storetest.LongSession(20_000) {
		raw, err := e.MarshalJSON()
		if err != nil {
			b.Fatal(err)
		}
		lines = append(lines, raw)
		size += int64(len(raw))
	}
	return lines, size
}

func BenchmarkParseHistory(b *testing.B) {
	lines, size := stored(b)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if _, damaged := transcript.ParseHistory(lines); damaged > 0 {
			b.Fatal(damaged)
		}
	}
}

func BenchmarkPrepare(b *testing.B) {
	lines, size := stored(b)
	entries, _ := transcript.ParseHistory(lines)
	for name, opts := range map[string]transcript.Options{
		"trim": {Trim: true}, "whole": {}, "shrink": {MaxText: 100_000, MaxRequest: transcript.MaxRequestBytes},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				if p := transcript.Prepare(entries, opts); len(p.Messages) == 0 {
					b.Fatal("nothing is left")
				}
			}
		})
	}
}

// BenchmarkValidate checks what is sent of such a session.
func BenchmarkValidate(b *testing.B) {
	lines, size := stored(b)
	entries, _ := transcript.ParseHistory(lines)
	p := transcript.Prepare(entries, transcript.Options{})
	b.SetBytes(size)
	for b.Loop() {
		if err := transcript.Validate(p.Messages); err != nil {
			b.Fatal(err)
		}
	}
}
