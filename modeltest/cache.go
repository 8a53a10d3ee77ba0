package modeltest

import (
	"crypto/sha256"
	"encoding/json"
	"time"

	"flower/transcript"
)

const (
	shortTTL = 5 * time.Minute
	longTTL  = time.Hour
	// lookback is how many positions before a mark the endpoint looks for a prefix it has; a run of calls or of results
	// is one position.
	lookback = 20
	// imageTokens is what a picture or a document page costs, whatever its bytes.
	imageTokens = 1600
)

// CacheStats are token counts over all answered requests, broken streams included.
type CacheStats struct {
	Requests int
	Read     int // read from the cache
	Written  int // written to it
	Uncached int // neither
	// CouldRead is what a cache with a mark behind every unit would have read: the part of each request that an
	// earlier one, not yet expired, began with too.
	CouldRead int
}

// cache simulates prefix caching. Server.mu guards it.
type cache struct {
	min     int
	entries map[digest]cached    // prefixes that end at a mark
	seen    map[digest]time.Time // all prefixes, and when they expire
	stats   CacheStats
}

type cached struct {
	expires time.Time
	ttl     time.Duration
}

func newCache(minimum int) *cache {
	return &cache{min: minimum, entries: map[digest]cached{}, seen: map[digest]time.Time{}}
}

// unit is a place a prefix can end.
type unit struct {
	hash  digest
	total int // tokens up to here
	pos   int // position as the lookback counts
	mark  *mark
}

// units lists the places of a request. A change of thinking, effort or tool choice loses the messages, a change of the
// model everything.
func units(t *tree, bytesPerToken int) []unit {
	var out []unit
	last := sha256.Sum256([]byte(t.top.text("model")))
	total, pos := 0, 0
	add := func(b *block, kind string, newPos bool) {
		h := sha256.New()
		h.Write(last[:])
		h.Write([]byte(kind + "\n"))
		h.Write(b.canon)
		last = digest(h.Sum(nil))
		total += tokens(b.typ, b.canon, bytesPerToken)
		if newPos {
			pos++
		}
		out = append(out, unit{last, total, pos, b.mark})
	}
	for i := range t.tools {
		add(&t.tools[i], "tool", true)
	}
	for i := range t.system {
		add(&t.system[i], "system", true)
	}
	h := sha256.New()
	h.Write(last[:])
	h.Write(encode([]json.RawMessage{t.setting("thinking"), t.setting("output_config"), t.setting("tool_choice")}))
	last = digest(h.Sum(nil))
	for i := range t.turns {
		before := ""
		for k := range t.turns[i].blocks {
			b := &t.turns[i].blocks[k]
			run := b.typ == before && (b.typ == "tool_use" || b.typ == "tool_result")
			add(b, t.turns[i].role, !run)
			before = b.typ
		}
	}
	return out
}

func (t *tree) setting(key string) json.RawMessage {
	if raw, ok := t.top[key]; ok {
		if canon, err := canonical(raw); err == nil {
			return canon
		}
	}
	return json.RawMessage("null")
}

// tokens estimates what a block costs.
func tokens(typ string, canon []byte, bytesPerToken int) int {
	switch typ {
	case "image", "document":
		return imageTokens
	case "tool_result":
		var v struct {
			Content []json.RawMessage `json:"content"`
		}
		_ = json.Unmarshal(canon, &v)
		sum := 1
		for _, raw := range v.Content {
			var inner struct {
				Type string `json:"type"`
			}
			_ = json.Unmarshal(raw, &inner)
			sum += tokens(inner.Type, raw, bytesPerToken)
		}
		return sum
	}
	return (len(canon) + bytesPerToken - 1) / bytesPerToken
}

// account books a request that is being answered and returns its input usage.
func (c *cache) account(list []unit, now time.Time) transcript.Usage {
	total, hour := 0, false
	for _, u := range list {
		total = u.total
		if u.mark != nil && u.total >= c.min {
			hour = hour || u.mark.hour
		}
	}
	hit := c.find(list, now)
	usage := transcript.Usage{Input: total}
	behind := 0
	if hit >= 0 {
		behind = list[hit].total
		usage.CacheRead = behind
		entry := c.entries[list[hit].hash]
		entry.expires = now.Add(entry.ttl)
		c.entries[list[hit].hash] = entry
	}
	for i, u := range list {
		if u.mark == nil || u.total < c.min {
			continue
		}
		ttl := shortTTL
		if u.mark.hour {
			ttl = longTTL
		}
		c.entries[u.hash] = cached{now.Add(ttl), ttl}
		if i > hit {
			usage.CacheWrite += u.total - behind
			if u.mark.hour {
				usage.CacheWrite1h += u.total - behind
			}
			behind = u.total
		}
	}
	usage.Input = total - usage.CacheRead - usage.CacheWrite
	c.stats.Requests++
	c.stats.Read += usage.CacheRead
	c.stats.Written += usage.CacheWrite
	c.stats.Uncached += usage.Input
	c.stats.CouldRead += c.ideal(list, now, hour)
	return usage
}

// find returns the index of the longest prefix that some mark finds, or -1.
func (c *cache) find(list []unit, now time.Time) int {
	best := -1
	for m := range list {
		if list[m].mark == nil {
			continue
		}
		for i := m; i > best && list[m].pos-list[i].pos < lookback; i-- {
			if e, ok := c.entries[list[i].hash]; ok && now.Before(e.expires) {
				best = i
				break
			}
		}
	}
	return best
}

// ideal returns the tokens of the longest prefix seen before, and notes all prefixes of this request.
func (c *cache) ideal(list []unit, now time.Time, hour bool) int {
	ttl, best := shortTTL, 0
	if hour {
		ttl = longTTL
	}
	for _, u := range list {
		if u.total >= c.min && now.Before(c.seen[u.hash]) {
			best = u.total
		}
		if until := now.Add(ttl); c.seen[u.hash].Before(until) {
			c.seen[u.hash] = until
		}
	}
	return best
}
