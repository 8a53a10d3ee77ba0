package cli

import (
	"testing"
	"time"

	"flower/agent"
)

func TestPatience(t *testing.T) {
	for _, tt := range []struct {
		s    string
		want time.Duration
		ok   bool
		show string
	}{
		{"0", 0, true, "0s"},
		{"90", 90 * time.Second, true, "1m30s"},
		{"3600", time.Hour, true, "1h"},
		{"90m", 90 * time.Minute, true, "1h30m"},
		{"2h30m10s", 2*time.Hour + 30*time.Minute + 10*time.Second, true, "2h30m10s"},
		{" 10m ", 10 * time.Minute, true, "10m"},
		{"8760h", 365 * 24 * time.Hour, true, "8760h"},
		{"8761h", 0, false, ""},
		{"99999999999999999999", 0, false, ""},
		{"-1", 0, false, ""},
		{"-5m", 0, false, ""},
		{"", 0, false, ""},
		{"an hour", 0, false, ""},
		{"1d", 0, false, ""},
	} {
		var p patience
		err := p.Set(tt.s)
		if (err == nil) != tt.ok || tt.ok && (time.Duration(p) != tt.want || p.String() != tt.show) {
			t.Errorf("%q: %v as %q, %v; want %v as %q", tt.s, time.Duration(p), p.String(), err, tt.want, tt.show)
		}
	}
}

func TestParseUntil(t *testing.T) {
	east := time.FixedZone("east", 8*3600)
	now := time.Date(2026, 11, 30, 23, 30, 0, 0, east)
	for s, want := range map[string]time.Time{
		"23:45":                     time.Date(2026, 11, 30, 23, 45, 0, 0, east),
		"07:30":                     time.Date(2026, 12, 1, 7, 30, 0, 0, east),
		"23:30":                     time.Date(2026, 12, 1, 23, 30, 0, 0, east),
		"23:30:01":                  time.Date(2026, 11, 30, 23, 30, 1, 0, east),
		"2026-12-24 07:30":          time.Date(2026, 12, 24, 7, 30, 0, 0, east),
		"2026-12-24T07:30":          time.Date(2026, 12, 24, 7, 30, 0, 0, east),
		"2026-12-01T00:00:00Z":      time.Date(2026, 12, 1, 8, 0, 0, 0, east),
		"8h":                        now.Add(8 * time.Hour),
		"90":                        now.Add(90 * time.Second),
		"0":                         {},
		"-1h":                       {},
		"2026-11-30 23:29":          {},
		"2026-11-30T15:30:00Z":      {},
		"25:00":                     {},
		"tomorrow":                  {},
		"":                          {},
		"2026-13-01 00:00":          {},
		"2026-11-30T23:31:00+08:00": now.Add(time.Minute),
	} {
		got, ok := parseUntil(s, now)
		if ok != !want.IsZero() || ok && !got.Equal(want) {
			t.Errorf("%q: %v, %v; want %v", s, got, ok, want)
		}
	}
}

func TestWaitOptions(t *testing.T) {
	a := &app{}
	a.Now = func() time.Time { return noon }
	for _, tt := range []struct {
		given waitOptions
		want  agent.Retry
	}{
		{waitOptions{maxOffline: patience(time.Hour)}, agent.Retry{MaxOffline: time.Hour}},
		{waitOptions{}, agent.Retry{MaxOffline: -1}},
		{waitOptions{until: "13:00"}, agent.Retry{MaxOffline: -1, Until: noon.Add(time.Hour)}},
	} {
		got, err := tt.given.retry(a)
		if err != nil || got.MaxOffline != tt.want.MaxOffline || !got.Until.Equal(tt.want.Until) {
			t.Errorf("%+v: %+v, %v", tt.given, got, err)
		}
	}
}
