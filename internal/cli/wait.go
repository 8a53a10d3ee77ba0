package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"flower/agent"
	"flower/internal/text"
)

// waitOptions are the flags about outages of the network and of the endpoint.
type waitOptions struct {
	maxOffline patience
	until      string
}

// add defines the flags.
func (o *waitOptions) add(f *pflag.FlagSet, a *app) {
	o.maxOffline = patience(a.Retry.MaxOffline)
	if o.maxOffline == 0 {
		o.maxOffline = patience(agent.DefaultMaxOffline)
	}
	f.Var(&o.maxOffline, "max-offline", a.Say("flag.maxoffline"))
	f.StringVar(&o.until, "until", "", a.Say("flag.until"))
}

// retry is the rule of a run.
func (o waitOptions) retry(a *app) (agent.Retry, error) {
	r := a.Retry
	r.MaxOffline = time.Duration(o.maxOffline)
	if o.maxOffline == 0 {
		r.MaxOffline = -1
	}
	if o.until == "" {
		return r, nil
	}
	var ok bool
	if r.Until, ok = parseUntil(o.until, a.Now()); !ok {
		return r, &usageError{spoken(fmt.Sprintf("--until %q: %s", o.until, a.Say("value.until")))}
	}
	return r, nil
}

// patience is a duration as a flag: 90m, 2h30m, or a number of seconds as in --timeout. It is not negative, and at most
// a year.
type patience time.Duration

// Set implements pflag.Value.
func (p *patience) Set(s string) error {
	d, ok := parsePatience(s)
	if !ok {
		return errors.New("90m, 2h30m, or a number of seconds")
	}
	*p = patience(d)
	return nil
}

// String implements pflag.Value.
func (p *patience) String() string { return text.Span(time.Duration(*p)) }

// Type implements pflag.Value.
func (p *patience) Type() string { return patienceType }

// patienceType is what help calls the value of such a flag.
const patienceType = "duration"

func parsePatience(s string) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	d, err := time.ParseDuration(s)
	if n, bad := strconv.ParseUint(s, 10, 32); bad == nil {
		d, err = time.Duration(n)*time.Second, nil
	}
	return d, err == nil && d >= 0 && d <= maxSeconds*time.Second
}

// parseUntil reads a moment in the future: a time of day, which is the next one, a date and a time, or how long from now.
func parseUntil(s string, now time.Time) (time.Time, bool) {
	s = strings.TrimSpace(s)
	if d, ok := parsePatience(s); ok {
		return now.Add(d), d > 0
	}
	for _, layout := range []string{"15:04", "15:04:05"} {
		if at, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			next := time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), at.Second(), 0, now.Location())
			if !next.After(now) {
				next = time.Date(now.Year(), now.Month(), now.Day()+1, at.Hour(), at.Minute(), at.Second(), 0, now.Location())
			}
			return next, true
		}
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02T15:04:05"} {
		if at, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return at, at.After(now)
		}
	}
	return time.Time{}, false
}

// waiting says that the run waits for the end of an outage, once.
func (p *printer) waiting(w agent.Waiting) {
	now := p.opts.now()
	data := text.Data{"Err": technical(w.Err), "Since": timeOfDay(w.Since, now), "Limit": p.Say("outage.nolimit")}
	if w.Limit > 0 {
		data["Limit"] = p.Say("outage.limit", text.Data{"Time": text.Span(w.Limit)})
	}
	if w.Known {
		if p.opts.verbose {
			data["Time"] = text.Elapsed(now.Sub(w.Since))
			p.say(". ", "outage.still", data)
		}
		return
	}
	id := map[agent.Outage]string{
		agent.Offline: "outage.offline", agent.Portal: "outage.portal", agent.Busy: "outage.busy",
	}[w.Outage]
	if !w.Until.IsZero() {
		id = "outage.named"
		data["Wait"], data["Until"] = text.Elapsed(w.Until.Sub(now)), timeOfDay(w.Until, now)
	}
	p.say("! ", id, data)
}

func (p *printer) outageOver(o agent.OutageOver) {
	id := map[agent.Outage]string{
		agent.Offline: "outage.over.offline", agent.Portal: "outage.over.portal", agent.Busy: "outage.over.busy",
	}[o.Outage]
	p.say("+ ", id, text.Data{"Time": text.Elapsed(o.Waited)})
}

// timeOfDay is a time of day, with the date if it is not today's.
func timeOfDay(t, now time.Time) string {
	t = t.In(now.Location())
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04")
	}
	return t.Format("2006-01-02 15:04")
}
