package text

import (
	"testing"
	"time"
)

func TestUnits(t *testing.T) {
	for got, want := range map[string]string{
		Tokens(0): "0", Tokens(950): "950", Tokens(80_200): "80.2K", Tokens(1_200_000): "1.2M",
		Dollars(0, false): "$0.00", Dollars(0.01234, false): "$0.0123", Dollars(12.345, false): "$12.35", Dollars(2, true): ">=$2.00",
		Bytes(12): "12 B", Bytes(3500): "3.418 KiB", Bytes(32 << 20): "32 MiB", Bytes(5 << 30): "5 GiB",
		Elapsed(320 * time.Millisecond): "0.3s", Elapsed(245 * time.Second): "4m05s", Elapsed(182 * time.Minute): "3h02m",
		Span(20 * time.Second): "20s", Span(30 * time.Minute): "30m", Span(90 * time.Minute): "1h30m", Span(time.Hour): "1h", Span(75 * time.Second): "1m15s",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
