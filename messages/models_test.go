package messages

import (
	"math"
	"strconv"
	"testing"

	"flower/transcript"
)

func TestWindowTable(t *testing.T) {
	for _, row := range table(t, "windowname.tsv", 3) {
		if got := strconv.Itoa(Window(row[0])); got != row[1] {
			t.Errorf("Window(%q) = %s, want %s: %s", row[0], got, row[1], row[2])
		}
	}
}

func TestCanonical(t *testing.T) {
	for id, want := range map[string]string{
		"claude-opus-5":                              "claude-opus-5",
		"claude-opus-5-20260101":                     "claude-opus-5",
		"claude-opus-4-5@20251101":                   "claude-opus-4-5",
		"us.anthropic.claude-opus-4-6-20260205-v1:0": "claude-opus-4-6",
		"anthropic.claude-haiku-4-5-20251001-v1:0":   "claude-haiku-4-5",
		"anthropic/claude-opus-4.6":                  "claude-opus-4-6",
		"openrouter/anthropic/claude-sonnet-5":       "claude-sonnet-5",
		"Claude-Opus-5-5[1M]":                        "claude-opus-5-5",
		"claude-sonnet-5-5-latest":                   "claude-sonnet-5-5",
		"claude-opus-5-preview":                      "claude-opus-5-preview",
		"my-claude-opus-5":                           "my-claude-opus-5",
		"claude-opus-50":                             "claude-opus-50",
		"":                                           "",
	} {
		if got := canonical(id); got != want {
			t.Errorf("canonical(%q) = %q, want %q", id, got, want)
		}
	}
}

func TestCost(t *testing.T) {
	all := transcript.Usage{Input: 1000, Output: 2000, CacheRead: 3000, CacheWrite: 5000, CacheWrite1h: 1000}
	for _, c := range []struct {
		id   string
		u    transcript.Usage
		want float64
	}{
		{"claude-opus-5-5", all, (1000*4 + 2000*20 + 3000*0.20 + 4000*5 + 1000*8) / 1e6},
		{"claude-opus-5-20260101", all, (1000*5 + 2000*25 + 3000*0.50 + 4000*6.25 + 1000*10) / 1e6},
		{"claude-fable-5-1", all, (1000*10 + 2000*50 + 3000*0.25 + 4000*12.5 + 1000*20) / 1e6},
		{"claude-haiku-5-5", transcript.Usage{Input: 100_000, Output: 1000}, (100_000*0.10 + 1000*0.50) / 1e6},
		{"claude-haiku-5-5", transcript.Usage{Input: 100_001, Output: 1000}, (100_001*0.50 + 1000*2.50) / 1e6},
		{"claude-haiku-5-5", transcript.Usage{Input: 1, CacheRead: 90_000, CacheWrite: 20_000}, (0.50 + 90_000*0.05 + 20_000*0.625) / 1e6},
		{"claude-haiku-4-5", transcript.Usage{}, 0},
		{"claude-haiku-4-5", transcript.Usage{Searches: 3}, 0.03},
		{"claude-haiku-5-5", transcript.Usage{Input: 400_000, Searches: 2}, 0.02 + 400_000*0.50/1e6},
	} {
		got, known := Cost(c.id, c.u)
		if !known || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("Cost(%s, %+v) = %v, %v; want %v", c.id, c.u, got, known, c.want)
		}
	}
	if usd, known := Cost("glm-5", all); known || usd != 0 {
		t.Errorf("an unknown model costs %v, %v", usd, known)
	}
}

func TestTableIsComplete(t *testing.T) {
	for id, m := range models {
		p := m.price
		if m.window < fallbackWindow || p.Input <= 0 || p.Output <= p.Input || p.CacheRead >= p.Input {
			t.Errorf("%s has an unlikely entry: %+v", id, m)
		}
		if math.Abs(p.CacheWrite-1.25*p.Input) > 1e-9 || math.Abs(p.CacheWrite1h-2*p.Input) > 1e-9 {
			t.Errorf("%s: writes do not follow from the input price: %+v", id, p)
		}
	}
	if MaxOutput(DefaultModel) != 128_000 || MaxOutput("claude-haiku-4-5") != 64_000 || MaxOutput("glm-5") != 0 {
		t.Error("MaxOutput does not follow the table")
	}
}
