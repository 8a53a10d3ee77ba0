package cli

import (
	"fmt"
	"strings"
	"time"
)

// tokens writes a number of tokens as people read it: 950, 80.2K, 1.2M.
func tokens(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fK", float64(n)/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1_000_000)
}

// dollars writes an amount of money; small ones keep the digits that tell them apart. A sum that is not all known is
// marked as a lower bound.
func dollars(usd float64, unpriced bool) string {
	s := fmt.Sprintf("$%.2f", usd)
	if usd < 1 {
		s = fmt.Sprintf("$%.4f", usd)
	}
	if unpriced {
		s = ">=" + s
	}
	return s
}

// elapsed writes a duration: 0.3s, 12.5s, 4m05s, 3h02m.
func elapsed(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// bytesOf writes a number of bytes: 12 B, 3.4 KiB, 32 MiB.
func bytesOf(n int64) string {
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

// oneLine is a text on one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// firstLine is the first line of a text that says anything.
func firstLine(s string) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			return oneLine(line)
		}
	}
	return ""
}

// lastLine is the last line of a text that says anything.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return oneLine(s[strings.LastIndexByte(s, '\n')+1:])
}

// tilde writes a path below the home directory with "~".
func tilde(path, home string) string {
	if home == "" || home == "/" {
		return path
	}
	if path == home {
		return "~"
	}
	if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(home, "/")+"/"); ok {
		return "~/" + rest
	}
	return path
}
