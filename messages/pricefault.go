package messages

import "fmt"

// PriceFault is what is wrong with a table of prices. Its text is English, for logs.
type PriceFault int

// The faults. Those with a Key or a Detail in the error say so.
const (
	PriceNoName     PriceFault = iota + 1
	PriceTwice                 // a model
	PriceMore                  // behind the table
	PriceCutShort              // Detail: what was due
	PriceNotJSON               // Detail: what the parser said
	PriceNotObject             // Detail: an example of one
	PriceKeyTwice              // Key
	PriceUnknownKey            // Key; Detail: the keys there are
	PriceMissing
	PriceHalfLong
	PriceRange    // Key; Detail: the bounds, USD for a million tokens
	PriceSearches // Key; Detail: the bounds, USD for a thousand searches
	PriceTokens   // Key; Detail: the bounds, tokens
	lastPriceEnd  // one more than the last
)

var priceTexts = map[PriceFault]string{
	PriceNoName:     "the name of the model is empty",
	PriceTwice:      "this model is there twice",
	PriceMore:       "something follows the table",
	PriceCutShort:   "the file ends where %[2]s is due",
	PriceNotJSON:    "not JSON: %[2]s",
	PriceNotObject:  "not an object; write one like %[2]s",
	PriceKeyTwice:   "%[1]s is there twice",
	PriceUnknownKey: "unknown key %[1]q; there are %[2]s",
	PriceMissing:    "the prices of input and output have to be there",
	PriceHalfLong:   "over and long go together: the prices of requests with a context of more than so many tokens",
	PriceRange:      "%[1]s must be USD for a million tokens, a number from %[2]s",
	PriceSearches:   "%[1]s must be USD for a thousand searches, a number from %[2]s",
	PriceTokens:     "%[1]s must be a whole number of tokens, from %[2]s",
}

// PriceFaults are all there are.
func PriceFaults() []PriceFault {
	var all []PriceFault
	for f := PriceNoName; f < lastPriceEnd; f++ {
		all = append(all, f)
	}
	return all
}

// PriceError says why a table of prices cannot be used.
type PriceError struct {
	Line   int    // from 1
	Model  string // "" if the fault is in no entry
	Why    PriceFault
	Key    string
	Detail string
}

// Reason is what is wrong, in English and without the place.
func (e *PriceError) Reason() string {
	if text := priceTexts[e.Why]; text != "" {
		// The end keeps arguments that the text does not use from being complained about.
		return fmt.Sprintf(text+"%[3]s", e.Key, e.Detail, "")
	}
	return fmt.Sprintf("fault %d", int(e.Why))
}

// Error implements error.
func (e *PriceError) Error() string {
	if e.Model != "" {
		return fmt.Sprintf("line %d, %q: %s", e.Line, e.Model, e.Reason())
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Reason())
}
