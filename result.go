package flower

import (
	"bytes"
	"encoding/json"
	"math"
	"time"

	"flower/transcript"
)

// StepResult is one attempt at a step: one row of the manifest.
type StepResult struct {
	Step      string // the label: name, name#retryN, name#roundN, name·判定#N
	SessionID string // "" if none was made
	OK        bool
	CostUSD   float64
	Turns     int
	Text      string // the last answer
	Error     string // "" if it ended well
	StartedAt time.Time
	EndedAt   time.Time
	Attempts  int      // requests for one answer at most: 1 if nothing had to be repeated
	Errors    []string // failures on the way that were overcome or not
	Resumed   bool     // the session existed before
	Retired   []string // sessions that handed over to SessionID
	Context   int      // tokens in the window at the end
	Run       string   // id of the run

	// Added by flower; the Python program has no such keys.
	Usage       transcript.Usage
	Model       string     // that answered last
	Unpriced    bool       // CostUSD is too low: some answer came from a model without a known price
	Verdict     string     // of a judge's row: achieved, not_yet, unreachable, unclear
	ResumedFrom string     // session that this one was forked from
	Evidence    []Evidence // of a judge's row: the checks that were run for it
	Definition  string     // agent.Spec.Fingerprint of the step's agent

	err error // the cause, for exit codes
}

// Err is the failure as an error value, nil if the attempt ended well or the row was read from disk.
func (r StepResult) Err() error { return r.err }

// manifestRow is the shape on disk; the order of the keys is part of the format.
type manifestRow struct {
	Step      string   `json:"step"`
	SessionID *string  `json:"session_id"`
	OK        bool     `json:"ok"`
	CostUSD   float64  `json:"cost_usd"`
	Turns     int      `json:"num_turns"`
	Text      string   `json:"text"`
	Error     *string  `json:"error"`
	StartedAt float64  `json:"started_at"`
	EndedAt   float64  `json:"ended_at"`
	Attempts  int      `json:"attempts"`
	Errors    []string `json:"errors"`
	Resumed   bool     `json:"resumed"`
	Retired   []string `json:"retired"`
	Context   int      `json:"context"`
	DurationS float64  `json:"duration_s"`
	Run       string   `json:"run"`

	Usage       transcript.Usage `json:"usage"`
	Model       string           `json:"model,omitempty"`
	Unpriced    bool             `json:"unpriced,omitempty"`
	Verdict     string           `json:"verdict,omitempty"`
	ResumedFrom string           `json:"resumed_from,omitempty"`
	Evidence    []Evidence       `json:"evidence,omitempty"`
	Definition  string           `json:"definition,omitempty"`
}

// MarshalJSON writes the manifest row.
func (r StepResult) MarshalJSON() ([]byte, error) {
	row := manifestRow{
		Step: r.Step, SessionID: nullable(r.SessionID), OK: r.OK, CostUSD: r.CostUSD, Turns: r.Turns, Text: r.Text,
		Error: nullable(r.Error), StartedAt: unixSeconds(r.StartedAt), EndedAt: unixSeconds(r.EndedAt), Attempts: r.Attempts,
		Errors: orEmpty(r.Errors), Resumed: r.Resumed, Retired: orEmpty(r.Retired), Context: r.Context,
		DurationS: math.Round(r.EndedAt.Sub(r.StartedAt).Seconds()*100) / 100, Run: r.Run,
		Usage: r.Usage, Model: r.Model, Unpriced: r.Unpriced, Verdict: r.Verdict, ResumedFrom: r.ResumedFrom,
		Evidence: r.Evidence, Definition: r.Definition,
	}
	return marshal(row)
}

// UnmarshalJSON reads a manifest row, also one of the Python program.
func (r *StepResult) UnmarshalJSON(data []byte) error {
	var row manifestRow
	if err := json.Unmarshal(data, &row); err != nil {
		return err
	}
	*r = row.result()
	return nil
}

// result is the row as an attempt.
func (row manifestRow) result() StepResult {
	return StepResult{
		Step: row.Step, SessionID: deref(row.SessionID), OK: row.OK, CostUSD: row.CostUSD, Turns: row.Turns, Text: row.Text,
		Error: deref(row.Error), StartedAt: fromUnix(row.StartedAt), EndedAt: fromUnix(row.EndedAt), Attempts: row.Attempts,
		Errors: row.Errors, Resumed: row.Resumed, Retired: row.Retired, Context: row.Context, Run: row.Run,
		Usage: row.Usage, Model: row.Model, Unpriced: row.Unpriced, Verdict: row.Verdict, ResumedFrom: row.ResumedFrom,
		Evidence: row.Evidence, Definition: row.Definition,
	}
}

// marshal is json.Marshal without the escaping of HTML characters.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// indent lays JSON out as the files on disk have it: two blanks, no line feed at the end.
func indent(data []byte) []byte {
	var out bytes.Buffer
	if err := json.Indent(&out, data, "", "  "); err != nil {
		return data
	}
	return out.Bytes()
}

func unixSeconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMicro()) / 1e6
}

func fromUnix(s float64) time.Time { return time.UnixMicro(int64(s * 1e6)).UTC() }

func nullable(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
