package messages

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"flower/transcript"
)

var priceTables = []struct {
	name, table string
	want        map[string]Price
	line        int    // of the fault
	fault       string // "" is none
}{
	{name: "nothing in it", table: `{}`, want: map[string]Price{}},
	{
		name: "the vendor's factors", table: `{"GLM-5": {"input": 2, "output": 8}}`,
		want: map[string]Price{"glm-5": {Input: 2, Output: 8, CacheRead: 0.2, CacheWrite: 2.5, CacheWrite1h: 4, Search: SearchPrice}},
	},
	{
		name: "everything said", table: "\uFEFF" + `{" a/b:c ": {"input": 1e0, "output": 0, "cache_read": 0.5, "cache_write": 1, "cache_write_1h": 0, "search": 2.5}}`,
		want: map[string]Price{"a/b:c": {Input: 1, CacheRead: 0.5, CacheWrite: 1, Search: 2.5}},
	},
	{
		name: "two tiers", table: `{"m": {"input": 1, "output": 2, "over": 200000, "long": {"input": 2, "output": 3}}}`,
		want: map[string]Price{"m": {
			Input: 1, Output: 2, CacheRead: 0.1, CacheWrite: 1.25, CacheWrite1h: 2, Search: SearchPrice, Over: 200_000,
			Long: &Price{Input: 2, Output: 3, CacheRead: 0.2, CacheWrite: 2.5, CacheWrite1h: 4},
		}},
	},
	{name: "empty", table: "", line: 1, fault: "the file ends"},
	{name: "cut off", table: "{\n\"m\": {\"input\": 1,", line: 2, fault: "the file ends"},
	{name: "no JSON", table: "{\n\n m: 1}", line: 3, fault: "not JSON"},
	{name: "a comma too many", table: `{"m": {"input": 1, "output": 2,}}`, line: 1, fault: "not JSON"},
	{name: "a list", table: `[]`, line: 1, fault: "not an object"},
	{name: "a number for a model", table: `{"m": 3}`, line: 1, fault: "not an object"},
	{name: "no output", table: "{\"m\":\n{\"input\": 1}}", line: 2, fault: "input and output have to be there"},
	{name: "negative", table: `{"m": {"input": -1, "output": 2}}`, line: 1, fault: "input must be USD"},
	{name: "too much", table: `{"m": {"input": 1e300, "output": 2}}`, line: 1, fault: "input must be USD"},
	{name: "beyond numbers", table: `{"m": {"input": 1e999, "output": 2}}`, line: 1, fault: "input must be USD"},
	{name: "a word", table: `{"m": {"input": "1", "output": 2}}`, line: 1, fault: "input must be USD"},
	{name: "null", table: `{"m": {"input": null, "output": 2}}`, line: 1, fault: "input must be USD"},
	{name: "an object for a price", table: `{"m": {"input": {}, "output": 2}}`, line: 1, fault: "input must be USD"},
	{name: "a typing error", table: `{"m": {"input": 1, "output": 2, "cacheread": 1}}`, line: 1, fault: `unknown key "cacheread"`},
	{name: "a price twice", table: `{"m": {"input": 1, "input": 3, "output": 2}}`, line: 1, fault: "input is there twice"},
	{name: "a model twice", table: "{\"m\": {\"input\": 1, \"output\": 2},\n\"M\": {\"input\": 1, \"output\": 2}}", line: 2, fault: "this model is there twice"},
	{name: "a model without a name", table: `{" ": {"input": 1, "output": 2}}`, line: 1, fault: "is empty"},
	{name: "over alone", table: `{"m": {"input": 1, "output": 2, "over": 5}}`, line: 1, fault: "over and long go together"},
	{name: "long alone", table: `{"m": {"input": 1, "output": 2, "long": {"input": 1, "output": 2}}}`, line: 1, fault: "over and long go together"},
	{name: "searches of long requests", table: `{"m": {"input": 1, "output": 2, "over": 5, "long": {"input": 1, "output": 2, "search": 1}}}`, line: 1, fault: `unknown key "search"`},
	{name: "half a token", table: `{"m": {"input": 1, "output": 2, "over": 0.5, "long": {"input": 1, "output": 2}}}`, line: 1, fault: "over must be"},
	{name: "part of a token", table: `{"m": {"input": 1, "output": 2, "over": 1.5, "long": {"input": 1, "output": 2}}}`, line: 1, fault: "whole number"},
	{name: "three tiers", table: `{"m": {"input": 1, "output": 2, "over": 5, "long": {"input": 1, "output": 2, "over": 9, "long": {}}}}`, line: 1, fault: `unknown key "over"`},
	{name: "two tables", table: `{} {}`, line: 1, fault: "something follows"},
	{name: "bytes behind it", table: `{} x`, line: 1, fault: "something follows"},
}

func TestParsePrices(t *testing.T) {
	for _, tt := range priceTables {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParsePrices([]byte(tt.table))
			if tt.fault != "" {
				var bad *PriceError
				if !errors.As(err, &bad) || !strings.Contains(err.Error(), tt.fault) || bad.Line != tt.line {
					t.Fatalf("got %v, want line %d: %s", err, tt.line, tt.fault)
				}
				return
			}
			if err != nil || len(got) != len(tt.want) {
				t.Fatalf("got %v, %v", got, err)
			}
			for id, want := range tt.want {
				if !samePrice(got[id], want) {
					t.Errorf("%s: got %+v, want %+v", id, got[id], want)
				}
			}
		})
	}
}

func samePrice(a, b Price) bool {
	near := func(x, y float64) bool { return math.Abs(x-y) < 1e-9 }
	if !near(a.Input, b.Input) || !near(a.Output, b.Output) || !near(a.CacheRead, b.CacheRead) ||
		!near(a.CacheWrite, b.CacheWrite) || !near(a.CacheWrite1h, b.CacheWrite1h) || a.Over != b.Over || (a.Long == nil) != (b.Long == nil) {
		return false
	}
	return a.Long == nil || samePrice(*a.Long, *b.Long)
}

// FuzzParsePrices: whatever is accepted gives costs that are no nonsense.
func FuzzParsePrices(f *testing.F) {
	for _, tt := range priceTables {
		f.Add(tt.table)
	}
	f.Fuzz(func(t *testing.T, table string) {
		prices, err := ParsePrices([]byte(table))
		var bad *PriceError
		if err != nil && !errors.As(err, &bad) {
			t.Fatalf("an error of another kind: %v", err)
		}
		u := transcript.Usage{Input: 1e6, Output: 1e6, CacheRead: 1e6, CacheWrite: 1e6, CacheWrite1h: 5e5}
		for id, p := range prices {
			if usd := p.Cost(u); id != modelKey(id) || usd < 0 || math.IsNaN(usd) || math.IsInf(usd, 0) {
				t.Errorf("%q: %+v costs %v", id, p, usd)
			}
		}
	})
}

// TestCostIsNeverNegative: a cost is no less than nothing and grows with every token, whatever was said of an answer; the
// price of an answer does not depend on how its writes are told apart beyond what there was.
func TestCostIsNeverNegative(t *testing.T) {
	ids := []string{"glm-5"}
	for id := range models {
		ids = append(ids, id)
	}
	count := rapid.OneOf(rapid.IntRange(-10, 10), rapid.IntRange(99_990, 100_010), rapid.IntRange(math.MinInt32, math.MaxInt32))
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SampledFrom(ids).Draw(t, "id")
		u := transcript.Usage{
			Input: count.Draw(t, "in"), Output: count.Draw(t, "out"), CacheRead: count.Draw(t, "read"),
			CacheWrite: count.Draw(t, "write"), CacheWrite1h: count.Draw(t, "hour"),
		}
		usd, known := Cost(id, u)
		if usd < 0 || math.IsNaN(usd) || !known && usd != 0 {
			t.Fatalf("%s %+v costs %v, %v", id, u, usd, known)
		}
		for _, more := range []transcript.Usage{{Input: 1}, {Output: 1}, {CacheRead: 1}, {CacheWrite: 1}} {
			if usd2, _ := Cost(id, u.Add(more)); usd2 < usd {
				t.Fatalf("%s %+v costs %v, with %+v more %v", id, u, usd, more, usd2)
			}
		}
	})
}

func BenchmarkCost(b *testing.B) {
	u := transcript.Usage{Input: 3, Output: 800, CacheRead: 120_000, CacheWrite: 2_000}
	own := Prices{"glm-5": {Input: 1}}
	for b.Loop() {
		if _, known := own.Cost("claude-haiku-5-5-20261001", u); !known {
			b.Fatal("no price")
		}
	}
}
