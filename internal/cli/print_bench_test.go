package cli

import (
	"io"
	"strings"
	"testing"

	"flower/internal/config"
	"flower/internal/text"
)

// BenchmarkPrinter writes 10 MB of a model's words, half of them Chinese, cleaned of secrets and wrapped.
func BenchmarkPrinter(b *testing.B) {
	s := newScreen(io.Discard, true)
	s.hide(config.NewRedactor("a-very-secret-key-of-forty-characters-00").Redact)
	p := newPrinter(text.NewPrinter(text.English), printOptions{screen: s, width: func() int { return 80 }, now: clock()})
	words := strings.Repeat(strings.Repeat("words and 汉字,", 60)+"\n", 10)
	const size = 10 << 20
	b.SetBytes(size)
	for b.Loop() {
		for n := 0; n < size; n += len(words) {
			p.Event(says("", words, 0))
		}
	}
}
