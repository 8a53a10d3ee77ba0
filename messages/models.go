package messages

import (
	"regexp"
	"strings"

	"flower/transcript"
)

// DefaultModel is asked when a person names none.
const DefaultModel = "claude-opus-5-5"

// fallbackWindow is the window of a model nobody knows: the smallest in use today.
const fallbackWindow = 200_000

const (
	thousand = 1_000
	million  = 1_000_000
)

// SearchPrice is what the vendor's list charges for a thousand searches of the web, in US dollars, with every model; a
// search that fails is not charged (documentation of the tool, 2026-11-29).
const SearchPrice = 10

// Price is what a model costs, in US dollars per million tokens. The zero Price is free.
type Price struct {
	Input        float64
	Output       float64
	CacheRead    float64
	CacheWrite   float64 // kept for five minutes
	CacheWrite1h float64 // kept for an hour
	Search       float64 // US dollars for a thousand searches of the web, whatever Over says
	// Over is the context in tokens (Usage.Context) above which the whole request is charged by Long; 0 is never.
	Over int
	Long *Price
}

// Cost is the price in US dollars of one response. Sums of several responses must not be given to a Price that has
// Over: each is charged by its own size.
func (p Price) Cost(u transcript.Usage) float64 {
	u = transcript.Usage{ // what an endpoint or a stored history says may be anything
		Input: max(0, u.Input), Output: max(0, u.Output), CacheRead: max(0, u.CacheRead), CacheWrite: max(0, u.CacheWrite),
		CacheWrite1h: max(0, u.CacheWrite1h), Searches: max(0, u.Searches),
	}
	searches := float64(u.Searches) * p.Search / thousand
	if p.Over > 0 && p.Long != nil && u.Context() > p.Over {
		p = *p.Long
	}
	hour := min(u.CacheWrite1h, u.CacheWrite)
	return searches + (float64(u.Input)*p.Input+float64(u.Output)*p.Output+float64(u.CacheRead)*p.CacheRead+
		float64(u.CacheWrite-hour)*p.CacheWrite+float64(hour)*p.CacheWrite1h)/million
}

type model struct {
	window    int // tokens
	maxOutput int // tokens, 0 is not known
	price     Price
}

// models is the vendor's list as of 2026-11-29: documentation, list prices.
var models = func() map[string]model {
	opus := Price{Input: 5, Output: 25, CacheRead: 0.50, CacheWrite: 6.25, CacheWrite1h: 10}
	// The list gives the prices of input and output above 100K; those of the cache follow from the vendor's rule that
	// reading costs 0.1, writing 1.25 and writing for an hour 2 times the input.
	longHaiku := Price{Input: 0.50, Output: 2.50, CacheRead: 0.05, CacheWrite: 0.625, CacheWrite1h: 1}
	return map[string]model{
		"claude-fable-5-2":  {million, 128_000, Price{Input: 8, Output: 40, CacheRead: 0.20, CacheWrite: 10, CacheWrite1h: 16}},
		"claude-fable-5-1":  {million, 128_000, Price{Input: 10, Output: 50, CacheRead: 0.25, CacheWrite: 12.5, CacheWrite1h: 20}},
		"claude-opus-5-5":   {million, 128_000, Price{Input: 4, Output: 20, CacheRead: 0.20, CacheWrite: 5, CacheWrite1h: 8}},
		"claude-opus-5":     {million, 128_000, opus},
		"claude-opus-4-8":   {million, 128_000, opus},
		"claude-opus-4-7":   {million, 128_000, opus},
		"claude-opus-4-6":   {million, 128_000, opus},
		"claude-opus-4-5":   {200_000, 0, opus},
		"claude-sonnet-5-5": {million, 128_000, Price{Input: 2, Output: 10, CacheRead: 0.10, CacheWrite: 2.5, CacheWrite1h: 4}},
		"claude-sonnet-5":   {million, 128_000, Price{Input: 2, Output: 10, CacheRead: 0.20, CacheWrite: 2.5, CacheWrite1h: 4}},
		"claude-sonnet-4-6": {million, 128_000, Price{Input: 3, Output: 15, CacheRead: 0.30, CacheWrite: 3.75, CacheWrite1h: 6}},
		"claude-haiku-5-5": {million, 128_000, Price{
			Input: 0.10, Output: 0.50, CacheRead: 0.01, CacheWrite: 0.125, CacheWrite1h: 0.20, Over: 100_000, Long: &longHaiku,
		}},
		"claude-haiku-4-5": {200_000, 64_000, Price{Input: 1, Output: 5, CacheRead: 0.10, CacheWrite: 1.25, CacheWrite1h: 2}},
	}
}()

// Cost is the list price in US dollars of one response of a model; false for a model without a known price.
func Cost(id string, u transcript.Usage) (usd float64, known bool) {
	m, ok := models[canonical(id)]
	if !ok {
		return 0, false
	}
	m.price.Search = SearchPrice
	return m.price.Cost(u), true
}

// Window is the context window of a model in tokens by its name alone: the table, then a stand-alone 1m in the name,
// then 200000. A big window is never guessed: too small costs a handoff, too big costs the session.
func Window(id string) int {
	if m, ok := models[canonical(id)]; ok {
		return m.window
	}
	if markedMillion.MatchString(id) {
		return million
	}
	return fallbackWindow
}

// SameModel says whether two names mean the same model: they differ in nothing but a date, a provider or the mark of a
// large window. A name that is empty says nothing and is the same as any.
func SameModel(a, b string) bool { return a == "" || b == "" || canonical(a) == canonical(b) }

// MaxOutput is the most tokens a model can write in one response; 0 if that is not known.
func MaxOutput(id string) int { return models[canonical(id)].maxOutput }

var (
	markedMillion = regexp.MustCompile(`(?i)(^|[^\p{L}\p{N}.])1m($|[^\p{L}\p{N}])`)

	// What stands before the name: the path of a router, or the region and vendor of a cloud.
	providerPrefix = regexp.MustCompile(`^(?:[a-z0-9._:-]+/)*(?:(?:[a-z-]+\.)?anthropic\.)?(claude-.*)$`)
	// What stands behind it: a date, a cloud's revision, the note on the window.
	idSuffix = regexp.MustCompile(`(?:\[1m\]|[-@]20\d{6}|[-@]latest|-v\d+(?::\d+)?)$`)
	dotted   = regexp.MustCompile(`(\d)\.(\d)`)
)

// canonical is the name under which the table knows a model: without a date, a provider or other ornaments. A name with
// anything else about it stays another model.
func canonical(id string) string {
	id = strings.ToLower(strings.TrimSpace(id))
	if m := providerPrefix.FindStringSubmatch(id); m != nil {
		id = m[1]
	}
	for {
		short := idSuffix.ReplaceAllString(id, "")
		if short == id {
			return dotted.ReplaceAllString(id, "$1-$2")
		}
		id = short
	}
}
