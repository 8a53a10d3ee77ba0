package cli

import (
	"encoding/json"

	"flower/transcript"
)

// eventSchema is the version of what --json writes: types and keys may be added under one number, those that are there
// keep their meaning.
const eventSchema = 1

// record is one line of what go and once write with --json. docs/json.md describes them for whoever reads them; the tags
// become docs/json-schema.json.
type record interface{ eventType() string }

// inside says where something happened: in which attempt, and in which subagent of it.
type inside struct {
	Label string `json:"label" jsonschema:"the attempt, as in the manifest"`
	Path  string `json:"path" jsonschema:"id of the subagent; empty is the main thread"`
}

// Life of the program.
type (
	startEvent struct {
		Schema    int    `json:"schema" jsonschema:"version of these events"`
		Version   string `json:"version" jsonschema:"of flower"`
		Command   string `json:"command" jsonschema:"go or once"`
		Workspace string `json:"workspace" jsonschema:"absolute path"`
		RunDir    string `json:"run_dir" jsonschema:"absolute path"`
	}
	wakeEvent struct {
		Waking  bool `json:"waking" jsonschema:"the brief is settled"`
		Checks  int  `json:"checks" jsonschema:"of the goal"`
		Context int  `json:"context" jsonschema:"tokens of the working session; 0 is not known"`
		Woke    int  `json:"woke" jsonschema:"which wake this will be, from 1"`
	}
	promptEvent struct {
		For string `json:"for" jsonschema:"request, wake, remark or interrupt: what a line is waited for"`
	}
	inputEndedEvent struct{}
	noticeEvent     struct {
		Code string `json:"code" jsonschema:"stable name of the message"`
		Text string `json:"text" jsonschema:"in the language of the interface"`
	}
	runningEvent struct {
		PID       int     `json:"pid" jsonschema:"of the flower at work; 0 if it does not say"`
		Host      string  `json:"host"`
		StartedAt *string `json:"started_at"`
		Run       string  `json:"of_run" jsonschema:"id of its run"`
		Workspace string  `json:"workspace"`
		Step      string  `json:"step" jsonschema:"label, as in the manifest"`
		CostUSD   float64 `json:"cost_usd"`
		Unpriced  bool    `json:"unpriced"`
	}
	errorEvent struct {
		Message  string `json:"message" jsonschema:"one line, in the language of the interface"`
		Hint     string `json:"hint" jsonschema:"what can be done; may be empty"`
		ExitCode *int   `json:"exit_code" jsonschema:"null: a line of input was not taken, and the run goes on"`
		Line     int    `json:"line" jsonschema:"number of that line, from 1; 0 if it is not about one"`
		Input    string `json:"input" jsonschema:"the beginning of that line"`
	}
	statusEvent struct {
		State *state `json:"state" jsonschema:"as status --json writes it"`
	}
	endEvent struct {
		OK        bool              `json:"ok"`
		ExitCode  int               `json:"exit_code"`
		Error     *string           `json:"error"`
		DurationS float64           `json:"duration_s"`
		CostUSD   float64           `json:"cost_usd" jsonschema:"of the work of this run, at list prices; side questions are in asides"`
		Unpriced  bool              `json:"unpriced" jsonschema:"the cost is a lower bound"`
		Usage     *transcript.Usage `json:"usage" jsonschema:"tokens of the work of this run"`
		Asides    *asideState       `json:"asides" jsonschema:"what side questions of this run have cost; null: there were none"`
		Verdict   *string           `json:"verdict" jsonschema:"the last one"`
		Round     int               `json:"round" jsonschema:"it was about; 0 if there was none"`
		Files     []string          `json:"files" jsonschema:"that tools have written, below the workspace relative to it"`
		Answer    *string           `json:"answer" jsonschema:"of once"`
		Session   *string           `json:"session_id" jsonschema:"of once"`
		Manifest  *string           `json:"manifest" jsonschema:"absolute path of the books"`
		Next      *string           `json:"next" jsonschema:"command that goes on from here"`
	}
)

// Steps and attempts.
type (
	runStartedEvent struct {
		Woke  int `json:"woke"`
		Steps int `json:"steps"`
	}
	notContinuedEvent struct {
		Reason string `json:"reason" jsonschema:"as in status --json"`
		Step   string `json:"step"`
		Detail string `json:"detail"`
		Kept   string `json:"kept" jsonschema:"where it was put aside"`
		Moved  bool   `json:"moved" jsonschema:"flower adopt can take it over"`
	}
	stepStartedEvent struct {
		Step    string `json:"step"`
		Index   int    `json:"index" jsonschema:"from 1"`
		Total   int    `json:"total"`
		Resumed bool   `json:"resumed"`
		Woke    int    `json:"woke"`
	}
	stepSkippedEvent struct {
		Step  string `json:"step"`
		Index int    `json:"index"`
		Total int    `json:"total"`
	}
	stepFinishedEvent struct {
		Step   string `json:"step"`
		OK     bool   `json:"ok"`
		Reason string `json:"reason"`
	}
	attemptStartedEvent struct {
		Step    string `json:"step"`
		Label   string `json:"label"`
		Agent   string `json:"agent"`
		Session string `json:"session_id"`
		Resumed bool   `json:"resumed"`
	}
	attemptFinishedEvent struct {
		Label     string           `json:"label"`
		Session   string           `json:"session_id"`
		OK        bool             `json:"ok"`
		Error     string           `json:"error"`
		Turns     int              `json:"turns"`
		Context   int              `json:"context" jsonschema:"tokens at the end"`
		DurationS float64          `json:"duration_s"`
		CostUSD   float64          `json:"cost_usd"`
		Unpriced  bool             `json:"unpriced"`
		Usage     transcript.Usage `json:"usage"`
	}
	interruptedEvent struct {
		Label string `json:"label"`
	}
	windowNearEvent struct {
		Label   string `json:"label"`
		Context int    `json:"context"`
		Line    int    `json:"line" jsonschema:"at which the session is handed over"`
		Window  int    `json:"window"`
	}
	modelDiffersEvent struct {
		Asked    string `json:"asked"`
		Answered string `json:"answered"`
	}
	handingOverEvent struct {
		Label   string `json:"label"`
		Cause   string `json:"cause" jsonschema:"full, overflow or redefined"`
		Context int    `json:"context" jsonschema:"0 is not known"`
	}
	handedOverEvent struct {
		Label      string `json:"label"`
		From       string `json:"from" jsonschema:"session"`
		To         string `json:"to" jsonschema:"session"`
		Document   string `json:"document" jsonschema:"absolute path"`
		Degraded   bool   `json:"degraded" jsonschema:"put together without the model"`
		Generation int    `json:"generation"`
	}
	booksFailedEvent struct {
		File  string `json:"file"`
		Error string `json:"error"`
	}
	roomEvent struct {
		Dir   string `json:"dir"`
		Full  bool   `json:"full" jsonschema:"false: there is room again"`
		Free  int64  `json:"free" jsonschema:"bytes; -1 is not known"`
		Need  int64  `json:"need" jsonschema:"bytes"`
		Error string `json:"error"`
	}
	worktreesEvent struct {
		Trees []worktreeRecord `json:"trees"`
		Error string           `json:"error" jsonschema:"why the list may not be complete"`
	}
	worktreeRecord struct {
		Title       string `json:"title" jsonschema:"of the task"`
		Branch      string `json:"branch"`
		Dir         string `json:"dir" jsonschema:"absolute path"`
		Base        string `json:"base" jsonschema:"the commit it began from"`
		Commits     int    `json:"commits" jsonschema:"on the branch since then"`
		Uncommitted int    `json:"uncommitted" jsonschema:"files changed or new and not committed"`
		Ignored     int    `json:"ignored" jsonschema:"files and directories that git ignores"`
		Merged      bool   `json:"merged" jsonschema:"all commits are in the checkout"`
		Done        bool   `json:"done" jsonschema:"the worker has come to an end"`
		Gone        bool   `json:"gone" jsonschema:"only the branch is there"`
		Whole       bool   `json:"whole" jsonschema:"it has the commits of all others"`
		Problem     string `json:"problem" jsonschema:"why something above is not known"`
	}
	unguardedEvent struct {
		Error string `json:"error"`
	}
)

// Documents and verdicts.
type (
	briefEvent struct {
		File string `json:"file" jsonschema:"absolute path"`
	}
	goalEvent struct {
		File      string      `json:"file" jsonschema:"absolute path"`
		Statement string      `json:"statement"`
		Checks    []goalCheck `json:"checks"`
	}
	goalCheck struct {
		Text         string `json:"text"`
		Unverifiable bool   `json:"unverifiable"`
		Why          string `json:"why"`
	}
	checkStartedEvent struct {
		Label   string `json:"label"`
		Command string `json:"command"`
	}
	checkFinishedEvent struct {
		Label     string  `json:"label"`
		Command   string  `json:"command"`
		ExitCode  int     `json:"exit_code" jsonschema:"-1 if it did not end by itself"`
		Problem   string  `json:"problem" jsonschema:"why it has no exit code"`
		Output    string  `json:"output" jsonschema:"the end of it"`
		DurationS float64 `json:"duration_s"`
		Dir       string  `json:"dir" jsonschema:"where it was run, if not in the workspace"`
	}
	verdictEvent struct {
		Step    string   `json:"step"`
		Round   int      `json:"round"`
		Rounds  int      `json:"rounds"`
		Verdict string   `json:"verdict" jsonschema:"achieved, not_yet, unreachable or unclear"`
		Reason  string   `json:"reason"`
		Failed  []string `json:"failed" jsonschema:"checks that did not pass"`
	}
)

// The person's side.
type (
	questionEvent struct {
		ID       string   `json:"id"`
		Text     string   `json:"text"`
		Options  []string `json:"options" jsonschema:"choices offered, from 1; another answer is fine"`
		AskedAt  *string  `json:"asked_at"`
		TimeoutS float64  `json:"timeout_s" jsonschema:"how long it waits; 0: nobody is waited for"`
		// A call is shown in full: it is what is decided by.
		Permission *permissionRecord `json:"permission" jsonschema:"the call that is asked about: option 1 allows it, anything else does not; null: another question"`
	}
	answerEvent struct {
		ID       string `json:"id"`
		Text     string `json:"text"`
		How      string `json:"how" jsonschema:"answered, skipped, timeout, nobody or quota"`
		Decision bool   `json:"decision" jsonschema:"flower itself has asked"`
		Allowed  *bool  `json:"allowed" jsonschema:"whether a call may be made; null: the question was about something else"`
	}
	permissionRecord struct {
		Tool  string          `json:"tool"`
		Input json.RawMessage `json:"input" jsonschema:"of the call, in full"`
	}
	asideStartedEvent struct {
		ID   string `json:"id" jsonschema:"as the order says, or made"`
		Text string `json:"text"`
	}
	asideFinishedEvent struct {
		ID       string           `json:"id"`
		Text     string           `json:"text"`
		OK       bool             `json:"ok"`
		Answer   string           `json:"answer"`
		Error    string           `json:"error"`
		Session  string           `json:"session_id" jsonschema:"in the books of side questions"`
		CostUSD  float64          `json:"cost_usd" jsonschema:"not part of the other sums"`
		Unpriced bool             `json:"unpriced"`
		Usage    transcript.Usage `json:"usage"`
	}
	remarkEvent struct {
		Text    string `json:"text"`
		InBrief bool   `json:"in_brief"`
		Error   string `json:"error" jsonschema:"why it could not be added to the brief"`
	}
	remarksDeliveredEvent struct {
		inside
		Texts []string `json:"texts"`
	}
)

// What agents do.
type (
	agentStartedEvent struct {
		inside
		Agent   string `json:"agent"`
		Title   string `json:"title" jsonschema:"of a subagent"`
		Session string `json:"session_id"`
		Resumed bool   `json:"resumed"`
		Damaged int    `json:"damaged" jsonschema:"entries of the history that could not be used"`
	}
	agentFinishedEvent struct {
		inside
		OK       bool             `json:"ok"`
		Error    string           `json:"error"`
		Turns    int              `json:"turns"`
		Context  int              `json:"context"`
		CostUSD  float64          `json:"cost_usd" jsonschema:"its subagents included"`
		Unpriced bool             `json:"unpriced"`
		Usage    transcript.Usage `json:"usage"`
	}
	messageEvent struct {
		inside
		Turn     int              `json:"turn" jsonschema:"from 1"`
		Text     string           `json:"text"`
		Thinking string           `json:"thinking" jsonschema:"with -v; else empty"`
		Searches []searchRecord   `json:"searches" jsonschema:"of the web, made by the endpoint within the answer"`
		Model    string           `json:"model"`
		Context  int              `json:"context" jsonschema:"tokens in the window"`
		CostUSD  float64          `json:"cost_usd"`
		TotalUSD float64          `json:"total_usd" jsonschema:"of the run so far"`
		Unpriced bool             `json:"unpriced" jsonschema:"the total is a lower bound"`
		Usage    transcript.Usage `json:"usage"`
	}
	searchRecord struct {
		Query   string        `json:"query"`
		Results []foundRecord `json:"results"`
		Error   string        `json:"error" jsonschema:"the endpoint's word for why there are no results; else empty"`
	}
	foundRecord struct {
		Title string `json:"title"`
		URL   string `json:"url"`
	}
	pieceEvent struct {
		inside
		Of   string `json:"of" jsonschema:"text or thinking"`
		Text string `json:"text"`
	}
	piecesVoidEvent struct {
		inside
	}
	toolStartedEvent struct {
		inside
		ID    string          `json:"id"`
		Tool  string          `json:"tool"`
		Input json.RawMessage `json:"input" jsonschema:"of the call; long texts in it are cut"`
		Cut   bool            `json:"cut"`
	}
	toolFinishedEvent struct {
		inside
		ID       string  `json:"id"`
		Tool     string  `json:"tool"`
		OK       bool    `json:"ok"`
		Denied   bool    `json:"denied" jsonschema:"a guard refused it"`
		Output   string  `json:"output" jsonschema:"what the model is told, the middle cut out if it is long"`
		Bytes    int     `json:"bytes" jsonschema:"of all of it"`
		Cut      bool    `json:"cut"`
		Display  string  `json:"display" jsonschema:"for people; may be empty"`
		ElapsedS float64 `json:"elapsed_s"`
	}
	repeatingEvent struct {
		inside
		Tool  string `json:"tool"`
		Times int    `json:"times"`
	}
	toolWithdrawnEvent struct {
		inside
		Tool   string `json:"tool"`
		Reason string `json:"reason" jsonschema:"what the endpoint said"`
	}
	historyChangedEvent struct {
		inside
		Shortened int `json:"shortened" jsonschema:"results and texts that were too large"`
		Thinking  int `json:"thinking" jsonschema:"blocks taken out"`
	}
	retryEvent struct {
		inside
		Attempt int     `json:"attempt"`
		WaitS   float64 `json:"wait_s"`
		Error   string  `json:"error"`
	}
	waitingEvent struct {
		inside
		Outage string  `json:"outage" jsonschema:"offline, portal or busy"`
		Error  string  `json:"error"`
		Since  *string `json:"since"`
		Until  *string `json:"until" jsonschema:"when the endpoint wants to be asked again"`
		LimitS float64 `json:"limit_s" jsonschema:"how much longer is waited; 0 does not limit"`
		Known  bool    `json:"known" jsonschema:"another request has said so already"`
	}
	outageOverEvent struct {
		inside
		Outage  string  `json:"outage"`
		WaitedS float64 `json:"waited_s"`
	}
	budgetLowEvent struct {
		inside
		Agent    string  `json:"agent" jsonschema:"empty is the whole run"`
		SpentUSD float64 `json:"spent_usd"`
		LimitUSD float64 `json:"limit_usd"`
	}
	wastedEvent struct {
		inside
		CostUSD  float64          `json:"cost_usd"`
		Unpriced bool             `json:"unpriced"`
		Whole    bool             `json:"whole" jsonschema:"the answer came and could not be stored"`
		Usage    transcript.Usage `json:"usage"`
	}
	cacheMissedEvent struct {
		inside
		Tokens   int     `json:"tokens" jsonschema:"sent in full again"`
		ExtraUSD float64 `json:"extra_usd"`
		AgeS     float64 `json:"age_s" jsonschema:"since the last answer"`
	}
)

func (startEvent) eventType() string            { return "start" }
func (wakeEvent) eventType() string             { return "wake" }
func (promptEvent) eventType() string           { return "prompt" }
func (inputEndedEvent) eventType() string       { return "input_ended" }
func (noticeEvent) eventType() string           { return "notice" }
func (runningEvent) eventType() string          { return "running" }
func (errorEvent) eventType() string            { return "error" }
func (endEvent) eventType() string              { return "end" }
func (runStartedEvent) eventType() string       { return "run_started" }
func (notContinuedEvent) eventType() string     { return "not_continued" }
func (stepStartedEvent) eventType() string      { return "step_started" }
func (stepSkippedEvent) eventType() string      { return "step_skipped" }
func (stepFinishedEvent) eventType() string     { return "step_finished" }
func (attemptStartedEvent) eventType() string   { return "attempt_started" }
func (attemptFinishedEvent) eventType() string  { return "attempt_finished" }
func (interruptedEvent) eventType() string      { return "interrupted" }
func (windowNearEvent) eventType() string       { return "window_near" }
func (modelDiffersEvent) eventType() string     { return "model_differs" }
func (handingOverEvent) eventType() string      { return "handing_over" }
func (handedOverEvent) eventType() string       { return "handed_over" }
func (booksFailedEvent) eventType() string      { return "books_failed" }
func (roomEvent) eventType() string             { return "room" }
func (unguardedEvent) eventType() string        { return "unguarded" }
func (worktreesEvent) eventType() string        { return "worktrees" }
func (briefEvent) eventType() string            { return "brief" }
func (goalEvent) eventType() string             { return "goal" }
func (checkStartedEvent) eventType() string     { return "check_started" }
func (checkFinishedEvent) eventType() string    { return "check_finished" }
func (verdictEvent) eventType() string          { return "verdict" }
func (questionEvent) eventType() string         { return "question" }
func (answerEvent) eventType() string           { return "answer" }
func (statusEvent) eventType() string           { return "status" }
func (asideStartedEvent) eventType() string     { return "aside_started" }
func (asideFinishedEvent) eventType() string    { return "aside_finished" }
func (remarkEvent) eventType() string           { return "remark" }
func (remarksDeliveredEvent) eventType() string { return "remarks_delivered" }
func (agentStartedEvent) eventType() string     { return "agent_started" }
func (agentFinishedEvent) eventType() string    { return "agent_finished" }
func (messageEvent) eventType() string          { return "message" }
func (pieceEvent) eventType() string            { return "piece" }
func (piecesVoidEvent) eventType() string       { return "pieces_void" }
func (toolStartedEvent) eventType() string      { return "tool_started" }
func (toolFinishedEvent) eventType() string     { return "tool_finished" }
func (repeatingEvent) eventType() string        { return "repeating" }
func (toolWithdrawnEvent) eventType() string    { return "tool_withdrawn" }
func (historyChangedEvent) eventType() string   { return "history_changed" }
func (retryEvent) eventType() string            { return "retry" }
func (waitingEvent) eventType() string          { return "waiting" }
func (outageOverEvent) eventType() string       { return "outage_over" }
func (budgetLowEvent) eventType() string        { return "budget_low" }
func (wastedEvent) eventType() string           { return "wasted" }
func (cacheMissedEvent) eventType() string      { return "cache_missed" }
