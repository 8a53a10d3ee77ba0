package text

import (
	"fmt"
	"strings"
	"time"
)

// Tokens writes a number of tokens as people read it: 950, 80.2K, 1.2M.
func Tokens(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fK", float64(n)/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1_000_000)
}

// Dollars writes an amount of money; small ones keep the digits that tell them apart. A sum that is not all known is
// marked as a lower bound.
func Dollars(usd float64, unpriced bool) string {
	s := fmt.Sprintf("$%.2f", usd)
	if usd > 0 && usd < 1 {
		s = fmt.Sprintf("$%.4f", usd)
	}
	if unpriced {
		s = ">=" + s
	}
	return s
}

// Elapsed writes a duration: 0.3s, 12.5s, 4m05s, 3h02m.
func Elapsed(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// Span writes a duration that somebody has set: what is 0 of it is left out: 20s, 30m, 1h30m.
func Span(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Bytes writes a number of bytes: 12 B, 3.4 KiB, 32 MiB.
func Bytes(n int64) string {
	switch size := float64(n); {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.4g KiB", size/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.4g MiB", size/(1<<20))
	default:
		return fmt.Sprintf("%.4g GiB", size/(1<<30))
	}
}
