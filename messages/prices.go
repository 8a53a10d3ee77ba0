package messages

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"flower/transcript"
)

// Prices is a person's own table: by model id as the endpoint names it, in lower case. Nil is an empty one.
type Prices map[string]Price

// Cost is what one response of a model costs in US dollars, by p and then by the list; false for a model without a known
// price.
func (p Prices) Cost(model string, u transcript.Usage) (usd float64, known bool) {
	for _, id := range []string{modelKey(model), canonical(model)} {
		if own, ok := p[id]; ok {
			return own.Cost(u), true
		}
	}
	return Cost(model, u)
}

// maxPrice is far above what a million tokens have ever cost, in USD: more is a price of something else.
const maxPrice = 100_000

// maxOver is far above every window, in tokens.
const maxOver = 1e9

// bounds writes both ends of a range.
func bounds(low, high float64) string {
	return fmt.Sprintf("%s to %s", strconv.FormatFloat(low, 'f', -1, 64), strconv.FormatFloat(high, 'f', -1, 64))
}

// What the vendor's list charges for the cache, as a multiple of the input price (2026-11-29).
const (
	readFactor    = 0.1
	writeFactor   = 1.25
	write1hFactor = 2
)

const priceExample = `"my-model": {"input": 1, "output": 5}`

// ParsePrices reads a person's table of prices: a JSON object with an entry for each model id as the endpoint names it.
// An entry has input and output in USD per million tokens, and cache_read, cache_write and cache_write_1h, which are
// 0.1, 1.25 and 2 times the input if they are left out; search is USD for a thousand searches of the web, SearchPrice if it
// is left out; over and long, which go together, are a context in tokens and the prices of requests with more than that.
// Everything else is a *PriceError: a price that is taken for another one costs
// money.
func ParsePrices(data []byte) (Prices, error) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	r := &priceReader{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	r.dec.UseNumber()
	prices := Prices{}
	err := r.object(func(id string) error {
		r.model = id
		name := modelKey(id)
		switch _, twice := prices[name]; {
		case name == "":
			return r.fail(PriceNoName, "", "")
		case twice:
			return r.fail(PriceTwice, "", "")
		}
		p, err := r.price(true)
		prices[name] = p
		r.model = ""
		return err
	})
	if err == nil {
		if _, more := r.dec.Token(); !errors.Is(more, io.EOF) {
			err = r.fail(PriceMore, "", "")
		}
	}
	if err != nil {
		return nil, err
	}
	return prices, nil
}

// modelKey is a model's name in a table of prices.
func modelKey(id string) string { return strings.ToLower(strings.TrimSpace(id)) }

// priceReader reads a table token by token: it has to see what is there twice.
type priceReader struct {
	data  []byte
	dec   *json.Decoder
	model string
}

func (r *priceReader) fail(why PriceFault, key, detail string) error {
	before := r.data[:min(int(r.dec.InputOffset()), len(r.data))]
	return &PriceError{Line: 1 + bytes.Count(before, []byte("\n")), Model: r.model, Why: why, Key: key, Detail: detail}
}

// token reads the next token; want says what should have been there.
func (r *priceReader) token(want string) (json.Token, error) {
	t, err := r.dec.Token()
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, r.fail(PriceCutShort, "", want)
	case errors.As(err, &syntax):
		return nil, r.fail(PriceNotJSON, "", err.Error())
	case err != nil:
		return nil, r.fail(PriceNotJSON, "", err.Error())
	}
	return t, nil
}

// object reads an object; member reads the value of a key.
func (r *priceReader) object(member func(key string) error) error {
	t, err := r.token("an object like {" + priceExample + "}")
	if err != nil {
		return err
	}
	if t != json.Delim('{') {
		return r.fail(PriceNotObject, "", "{"+priceExample+"}")
	}
	for r.dec.More() {
		key, err := r.token("a name")
		if err != nil {
			return err
		}
		name, ok := key.(string)
		if !ok {
			return r.fail(PriceNotJSON, "", fmt.Sprintf("not a name: %v", key))
		}
		if err := member(name); err != nil {
			return err
		}
	}
	_, err = r.token("a }")
	return err
}

// price reads one entry; tiers says whether it may have prices of long requests.
func (r *priceReader) price(tiers bool) (p Price, err error) {
	fields := map[string]*float64{
		"input": &p.Input, "output": &p.Output,
		"cache_read": &p.CacheRead, "cache_write": &p.CacheWrite, "cache_write_1h": &p.CacheWrite1h,
	}
	said := map[string]bool{}
	err = r.object(func(key string) error {
		if said[key] {
			return r.fail(PriceKeyTwice, key, "")
		}
		said[key] = true
		var err error
		switch field := fields[key]; {
		case field != nil:
			*field, err = r.number(key, 0, maxPrice, PriceRange)
		case tiers && key == "search":
			p.Search, err = r.number(key, 0, maxPrice, PriceSearches)
		case tiers && key == "over":
			var n float64
			n, err = r.number(key, 1, maxOver, PriceTokens)
			if p.Over = int(n); err == nil && float64(p.Over) != n {
				err = r.fail(PriceTokens, key, bounds(1, maxOver))
			}
		case tiers && key == "long":
			p.Long = new(Price)
			*p.Long, err = r.price(false)
		default:
			err = r.fail(PriceUnknownKey, key, strings.Join(priceKeys(tiers), ", "))
		}
		return err
	})
	switch {
	case err != nil:
	case !said["input"] || !said["output"]:
		err = r.fail(PriceMissing, "", "")
	case said["over"] != said["long"]:
		err = r.fail(PriceHalfLong, "", "")
	}
	if tiers && !said["search"] {
		p.Search = SearchPrice
	}
	for key, factor := range map[string]float64{"cache_read": readFactor, "cache_write": writeFactor, "cache_write_1h": write1hFactor} {
		if !said[key] {
			*fields[key] = factor * p.Input
		}
	}
	return p, err
}

func priceKeys(tiers bool) []string {
	keys := []string{"input", "output", "cache_read", "cache_write", "cache_write_1h"}
	if tiers {
		keys = slices.Concat(keys, []string{"search", "over", "long"})
	}
	return keys
}

func (r *priceReader) number(key string, low, high float64, what PriceFault) (float64, error) {
	t, err := r.token("a number")
	if err != nil {
		return 0, err
	}
	n, ok := t.(json.Number)
	f, err := strconv.ParseFloat(n.String(), 64)
	if !ok || err != nil || f < low || f > high {
		return 0, r.fail(what, key, bounds(low, high))
	}
	return max(f, 0), nil // no -0
}
