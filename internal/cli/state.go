package cli

import (
	"context"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"flower"
	"flower/agent"
	"flower/document"
	"flower/internal/disk"
	"flower/sqlite"
	"flower/transcript"
)

// stateSchema is the version of what status --json writes: keys may be added under the same number.
const stateSchema = 1

// state is what a directory remembers. As JSON it is what status --json writes; docs/cli.md describes it.
type state struct {
	Schema    int            `json:"schema"`
	Workspace string         `json:"workspace"`
	RunDir    string         `json:"run_dir"`
	Waking    bool           `json:"waking"`
	Wakes     int            `json:"wakes"`
	Brief     *briefState    `json:"brief"`
	Goal      *goalState     `json:"goal"`
	Steps     []stepState    `json:"steps"`
	Inbox     int            `json:"inbox"`
	Running   *runningState  `json:"running"`
	LastRun   *lastRunState  `json:"last_run"`
	Totals    totalState     `json:"totals"`
	Asides    *asideState    `json:"asides"`
	Problems  []problemState `json:"problems"`

	notContinued []flower.NotContinued // those of Problems that have a text of their own
}

type briefState struct {
	Path     string `json:"path"`
	Complete bool   `json:"complete"`
}

type goalState struct {
	Path      string       `json:"path"`
	Statement string       `json:"statement"`
	Checks    []checkState `json:"checks"`
}

type checkState struct {
	Text         string `json:"text"`
	Unverifiable bool   `json:"unverifiable"`
	Why          string `json:"why"`
}

// stepState is a step that has a session, or has cost something.
type stepState struct {
	Name         string  `json:"name"`
	Session      *string `json:"session_id"`
	Stored       bool    `json:"stored"`
	Entries      int     `json:"entries"`
	Context      int     `json:"context"`
	LastActivity *string `json:"last_activity"`
	Attempts     int     `json:"attempts"`
	CostUSD      float64 `json:"cost_usd"`
	Unpriced     bool    `json:"unpriced"`

	Usage transcript.Usage `json:"usage"`

	last    time.Time
	counted bool // Context is the session's own
}

// runningState is the flower that is at work in the run directory; one that has just begun may not say yet who it is.
type runningState struct {
	PID       int     `json:"pid"`
	Host      string  `json:"host"`
	Started   *string `json:"started_at"`
	Run       string  `json:"run"`
	Workspace string  `json:"workspace"`
	Step      string  `json:"step"`
	CostUSD   float64 `json:"cost_usd"`
	Unpriced  bool    `json:"unpriced"`
	Waiting   *string `json:"waiting"`
	Since     *string `json:"waiting_since"`

	owner flower.Owner
}

type lastRunState struct {
	Run       string  `json:"run"`
	Step      string  `json:"step"`
	OK        bool    `json:"ok"`
	Error     *string `json:"error"`
	StartedAt *string `json:"started_at"`
	EndedAt   *string `json:"ended_at"`
	CostUSD   float64 `json:"cost_usd"`
	Unpriced  bool    `json:"unpriced"`

	Usage transcript.Usage `json:"usage"`

	verdict      string // where the last row is of a judge
	began, ended time.Time
}

type totalState struct {
	Runs     int     `json:"runs"`
	Sessions int     `json:"sessions"`
	CostUSD  float64 `json:"cost_usd"`
	Unpriced bool    `json:"unpriced"`

	Usage transcript.Usage `json:"usage"`
}

// asideState is what side questions have cost; it is part of the totals.
type asideState struct {
	Questions int     `json:"questions"`
	CostUSD   float64 `json:"cost_usd"`
	Unpriced  bool    `json:"unpriced"`

	Usage transcript.Usage `json:"usage"`
}

type problemState struct {
	Reason string `json:"reason"`
	Step   string `json:"step"`
	Detail string `json:"detail"`

	err error // what Detail says, where it is an error
}

// maxDocument bounds what is read of a goal.
const maxDocument = 16 << 20

// lookAt finds out what a directory remembers, and writes nothing. What cannot be read is a problem, not an error.
func lookAt(ctx context.Context, workspace, runDir string) *state {
	type manifest struct {
		rows []flower.StepResult
		err  error
	}
	read := make(chan manifest, 1) // beside the rest: after years of runs it is what takes the time
	go func() {
		rows, err := flower.ReadManifest(runDir)
		read <- manifest{rows, err}
	}()
	wake := flower.WakeState(workspace, runDir)
	s := &state{
		Schema: stateSchema, Workspace: workspace, RunDir: runDir, Waking: wake.Waking, Wakes: wake.Woke,
		Steps: []stepState{}, Problems: []problemState{}, Running: whoRuns(runDir),
	}
	for _, p := range wake.Problems {
		s.notContinued = append(s.notContinued, p)
		s.Problems = append(s.Problems, problemState{Reason: string(p.Reason), Step: p.Step, Detail: p.Detail})
	}
	if wake.Brief != "" {
		s.Brief = &briefState{wake.Brief, wake.Waking}
	}
	s.readGoal(wake.Goal)
	for _, name := range stepOrder(wake.Steps) {
		id := wake.Steps[name]
		s.Steps = append(s.Steps, stepState{Name: name, Session: &id})
	}
	unread := s.readStore(ctx)
	m := <-read
	s.problem("manifest_unreadable", m.err)
	s.readRows(m.rows)
	s.readAsides()
	s.problem("store_unreadable", unread)
	return s
}

// whoRuns says which flower is at work in a run directory; nil if none is.
func whoRuns(runDir string) *runningState {
	o, runs := flower.Running(runDir)
	if !runs {
		return nil
	}
	r := &runningState{
		PID: o.PID, Host: o.Host, Started: stampJSON(o.Started), Run: o.Run, Workspace: o.Workspace, Step: o.Step,
		CostUSD: o.CostUSD, Unpriced: o.Unpriced, owner: o,
	}
	if o.Waiting != agent.NoOutage {
		outage := o.Waiting.String()
		r.Waiting, r.Since = &outage, stampJSON(o.Since)
	}
	return r
}

// problem records an error as one.
func (s *state) problem(reason string, err error) {
	if err != nil {
		s.Problems = append(s.Problems, problemState{Reason: reason, Detail: oneLine(err.Error()), err: err})
	}
}

func (s *state) readGoal(path string) {
	if path == "" {
		return
	}
	s.Goal = &goalState{Path: path, Checks: []checkState{}}
	data, err := disk.ReadRegular(path, maxDocument)
	if err != nil {
		s.problem("goal_unreadable", err)
		return
	}
	goal := document.ParseGoal(string(data))
	s.Goal.Statement = goal.Statement
	for _, c := range goal.Checks {
		s.Goal.Checks = append(s.Goal.Checks, checkState{c.Text, c.Unverifiable, c.Why})
	}
}

// stepOrder is the built-in steps in the order they run, then the others by name.
func stepOrder(steps map[string]string) []string {
	builtIn := []string{flower.StepClarify, flower.StepGoal, flower.StepWork}
	order := slices.Sorted(maps.Keys(steps))
	slices.SortStableFunc(order, func(a, b string) int {
		place := func(name string) int {
			if i := slices.Index(builtIn, name); i >= 0 {
				return i
			}
			return len(builtIn)
		}
		return place(a) - place(b)
	})
	return order
}

// labelEnd is what a manifest label has behind the name of its step.
var labelEnd = regexp.MustCompile(`(#retry\d+|#round\d+|·判定#\d+)+$`)

// stepOf is the step of a manifest label.
func stepOf(label string) string { return labelEnd.ReplaceAllString(label, "") }

// step finds a step by its name, or adds it.
func (s *state) step(name string) *stepState {
	i := slices.IndexFunc(s.Steps, func(st stepState) bool { return st.Name == name })
	if i < 0 {
		i = len(s.Steps)
		s.Steps = append(s.Steps, stepState{Name: name})
	}
	return &s.Steps[i]
}

// readRows sums up the manifest.
func (s *state) readRows(rows []flower.StepResult) {
	if len(rows) == 0 {
		return
	}
	runs := map[string]bool{}
	last := rows[0]
	for _, row := range rows {
		runs[row.Run] = true
		s.Totals.CostUSD += row.CostUSD
		s.Totals.Unpriced = s.Totals.Unpriced || row.Unpriced
		s.Totals.Usage = s.Totals.Usage.Add(row.Usage)
		if row.EndedAt.After(last.EndedAt) {
			last = row
		}
		st := s.step(stepOf(row.Step))
		st.Attempts++
		st.CostUSD += row.CostUSD
		st.Unpriced = st.Unpriced || row.Unpriced
		st.Usage = st.Usage.Add(row.Usage)
		if st.Session != nil && row.SessionID == *st.Session && row.Context > 0 && !st.counted {
			st.Context = row.Context
		}
		st.active(row.EndedAt)
	}
	s.Totals.Runs = len(runs)
	l := &lastRunState{Run: last.Run, Step: last.Step, OK: last.OK, verdict: last.Verdict, began: last.StartedAt, ended: last.EndedAt}
	if last.Error != "" {
		l.Error = &last.Error
	}
	for _, row := range rows {
		if row.Run == last.Run {
			l.CostUSD += row.CostUSD
			l.Unpriced = l.Unpriced || row.Unpriced
			l.Usage = l.Usage.Add(row.Usage)
			if row.StartedAt.Before(l.began) {
				l.began = row.StartedAt
			}
		}
	}
	l.StartedAt, l.EndedAt = stampJSON(l.began), stampJSON(l.ended)
	s.LastRun = l
}

// readAsides sums up the books of side questions.
func (s *state) readAsides() {
	rows, err := flower.ReadManifest(filepath.Join(s.RunDir, asideDir))
	s.problem("manifest_unreadable", err)
	if len(rows) == 0 {
		return
	}
	s.Asides = &asideState{Questions: len(rows)}
	for _, row := range rows {
		s.Asides.CostUSD += row.CostUSD
		s.Asides.Unpriced = s.Asides.Unpriced || row.Unpriced
		s.Asides.Usage = s.Asides.Usage.Add(row.Usage)
	}
	s.Totals.CostUSD += s.Asides.CostUSD
	s.Totals.Unpriced = s.Totals.Unpriced || s.Asides.Unpriced
	s.Totals.Usage = s.Totals.Usage.Add(s.Asides.Usage)
}

// active notes that something happened in a step.
func (st *stepState) active(at time.Time) {
	if at.After(st.last) {
		st.last, st.LastActivity = at, stampJSON(at)
	}
}

// readStore asks the store about the steps' sessions; no session is read as a whole.
func (s *state) readStore(ctx context.Context) (err error) {
	r, err := sqlite.OpenReadOnly(ctx, filepath.Join(s.RunDir, storeFile), sqlite.Options{Workspace: s.Workspace})
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read from
	for _, project := range flower.ProjectKeys(s.Workspace) {
		for i := range s.Steps {
			if err := s.Steps[i].readSession(ctx, r, project); err != nil {
				return err
			}
		}
		sessions, err := r.Count(ctx, project)
		if err != nil {
			return err
		}
		notes, err := r.PendingNotes(ctx, project)
		if err != nil {
			return err
		}
		s.Totals.Sessions += sessions
		s.Inbox += notes
	}
	return nil
}

// readSession finds out how a step's session stands.
func (st *stepState) readSession(ctx context.Context, r *sqlite.Reader, project string) error {
	if st.Session == nil || st.Stored {
		return nil
	}
	key := agent.Key{Project: project, Session: *st.Session}
	info, err := r.Session(ctx, key)
	if err != nil || info.Entries == 0 {
		return err
	}
	st.Stored, st.Entries = true, info.Entries
	st.active(info.Changed)
	// Mostly the last answer is among the last entries; parallel results may stand behind it.
	for _, n := range []int{4, 64} {
		lines, err := r.Tail(ctx, key, n)
		if err != nil {
			return err
		}
		entries, _ := transcript.ParseHistory(lines)
		if tokens := transcript.Context(entries); tokens > 0 {
			st.Context, st.counted = tokens, true
			break
		}
	}
	return nil
}
