package flower

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"flower/agent"
	"flower/internal/workbench"
)

// DefaultAnswerTimeout is how long a question waits for its answer.
const DefaultAnswerTimeout = 30 * time.Minute

// HumanOptions configure a Human.
type HumanOptions struct {
	Workspace string // "" is the current directory
	Store     Store  // required: remarks and answers are kept there
	// Room, best the engine's own, makes an answer wait for room on a full disk; nil makes the question fail.
	Room *agent.Room

	Timeout      time.Duration // of a question; 0 is DefaultAnswerTimeout, below 0 does not wait
	MaxQuestions int           // asked in this run at most; 0 does not limit, below 0 allows none

	// Observe is told of questions, answers and remarks, from whichever goroutine they come. Nil tells nobody.
	Observe func(Event)

	// Redact takes secrets out of what is written into the workbench's notes; nil takes out nothing.
	Redact func(string) string
	// NoLog keeps questions and answers out of the workbench's log, for those who have no workbench.
	NoLog bool

	Lang Lang
	Now  func() time.Time // nil is time.Now
}

// Human is the person's side of a run: questions come out, answers and remarks go in. It draws nothing and reads no
// terminal; whoever does calls Pending, Answer and Say. It is safe for concurrent use.
type Human struct {
	opts    HumanOptions
	project string
	bench   *workbench.Bench

	announcing sync.Mutex // held while a question is queued and told, so that both happen in one order

	mu      sync.Mutex
	pending []*waiting
	asked   map[string]bool // calls whose question was put
	gone    bool
	goneCh  chan struct{}
}

// Question is something an agent wants to know.
type Question struct {
	ID      string // of the call that asks
	Text    string
	Options []string // choices offered; the person may say something else
	AskedAt time.Time
	// Permission is the call that the person is asked to allow; nil: the question is about something else.
	Permission *Permission
}

// Permission is a call that needs the person's word. The first option of its Question allows it.
type Permission struct {
	Tool  string
	Input json.RawMessage
	// Yes and No are short answers that mean the first option, and a refusal without more words; case does not count.
	Yes, No []string
}

// AnswerKind says how a question ended.
type AnswerKind string

// The kinds. Only Given carries words of the person.
const (
	Given    AnswerKind = "answered"
	Skipped  AnswerKind = "skipped"
	TimedOut AnswerKind = "timeout"
	Nobody   AnswerKind = "nobody" // nobody can answer here
	OverMax  AnswerKind = "quota"
)

type waiting struct {
	question Question
	reply    chan string
}

// NewHuman returns the person's side of a run in a workspace.
func NewHuman(opts HumanOptions) (*Human, error) {
	if opts.Store == nil {
		return nil, errors.New("make human: no Store")
	}
	if opts.Workspace == "" {
		opts.Workspace = "."
	}
	workspace, err := ResolveWorkspace(opts.Workspace)
	if err != nil {
		return nil, fmt.Errorf("find workspace: %w", err)
	}
	if opts.Timeout == 0 {
		opts.Timeout = DefaultAnswerTimeout
	}
	if opts.Observe == nil {
		opts.Observe = func(Event) {}
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Human{
		opts: opts, project: ProjectKey(workspace), bench: workbench.Open(workspace).Redacting(opts.Redact),
		asked: make(map[string]bool), goneCh: make(chan struct{}),
	}, nil
}

// Ask puts a question to the person and returns what the model is told. It waits for an answer until the timeout. A
// call that was answered before, by this process or another, gets the same answer without asking again.
func (h *Human) Ask(ctx context.Context, callID, question string, options []string) (string, error) {
	q := Question{ID: callID, Text: question, Options: options, AskedAt: h.opts.Now()}
	if answer, ok, err := h.opts.Store.Answer(ctx, callID); err != nil {
		return "", fmt.Errorf("look up answer: %w", err)
	} else if ok {
		h.relog(q, answer)
		return answer, nil
	}
	if h.overQuota(callID) {
		return h.settle(q, "", OverMax), nil
	}
	said, how, err := h.wait(ctx, q)
	if err != nil {
		return "", err
	}
	if how == Given || how == Skipped {
		// What a person has said is never asked again; that nobody was there may change.
		keep := func() error {
			return h.opts.Store.SetAnswer(context.WithoutCancel(ctx), callID, h.told(said, how))
		}
		if err := h.opts.Room.Keep(ctx, keep); err != nil {
			return "", fmt.Errorf("keep answer: %w", err)
		}
	}
	return h.settle(q, said, how), nil
}

// Decide puts a question of flower's own to the person and returns the words, with the option's text for a number. It
// does not count against the quota.
func (h *Human) Decide(ctx context.Context, id, question string, options []string) (said string, how AnswerKind, err error) {
	q := Question{ID: id, Text: question, Options: options, AskedAt: h.opts.Now()}
	said, how, err = h.wait(ctx, q)
	if err == nil {
		h.logAnswer(q, said, how)
		h.opts.Observe(Settled{Question: q, Answer: said, How: how, Decision: true})
	}
	return said, how, err
}

// Permit asks whether the call that q.Permission names may be made. Only the first option, its number, or one of the words
// for it allows the call; anything else does not, and what the person has said with it is the Answer. It waits as Ask does and does not
// count against the quota. The answer is not kept: who was cut off asks again under the same id, and nothing that was said
// of one call allows another.
func (h *Human) Permit(ctx context.Context, q Question) (Settled, error) {
	q.AskedAt = h.opts.Now()
	said, how, err := h.wait(ctx, q)
	if err != nil {
		return Settled{}, err
	}
	is := func(words []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, said) })
	}
	s := Settled{Question: q, How: how, Answer: said}
	if how == Given {
		s.Allowed = said == q.Options[0] || is(q.Permission.Yes)
		if !s.Allowed && (is(q.Options[1:]) || is(q.Permission.No)) {
			s.Answer, s.How = "", Skipped
		}
	}
	h.logAnswer(q, s.Answer, s.How)
	h.opts.Observe(s)
	return s, nil
}

// settle writes down how a question ended and returns what the model is told.
func (h *Human) settle(q Question, said string, how AnswerKind) string {
	h.logAnswer(q, said, how)
	h.opts.Observe(Settled{Question: q, Answer: said, How: how})
	return h.told(said, how)
}

// overQuota counts a question and says whether it is one too many. A call that is run again asks the same question.
func (h *Human) overQuota(callID string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.asked[callID] && h.opts.MaxQuestions != 0 && len(h.asked) >= h.opts.MaxQuestions {
		return true
	}
	h.asked[callID] = true
	return false
}

// wait puts the question into the queue until something settles it.
func (h *Human) wait(ctx context.Context, q Question) (said string, how AnswerKind, err error) {
	w, how := h.announce(q)
	if w == nil {
		return "", how, nil
	}
	timer := time.NewTimer(h.opts.Timeout)
	defer timer.Stop()
	select {
	case said = <-w.reply:
		how = Given
	case <-timer.C:
		how = TimedOut
	case <-h.goneCh:
		how = Nobody
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if how != Given {
		h.forget(w)
		select {
		case said = <-w.reply: // taken at the same moment: what Answer has accepted counts
		default:
			return "", how, err
		}
	}
	if said = choice(said, q.Options); said == "" {
		return "", Skipped, nil
	}
	return said, Given, nil
}

// announce queues a question and tells of it. Where nobody can answer nothing is queued, and how says why.
func (h *Human) announce(q Question) (w *waiting, how AnswerKind) {
	h.announcing.Lock()
	defer h.announcing.Unlock()
	h.mu.Lock()
	switch {
	case h.opts.Timeout < 0:
		how = TimedOut
	case h.gone:
		how = Nobody
	default:
		w = &waiting{question: q, reply: make(chan string, 1)}
		h.pending = append(h.pending, w)
	}
	h.mu.Unlock()
	h.opts.Observe(Asked{Question: q})
	return w, how
}

// choice turns the number of an option into its text, and numbers between commas into several, each on a line.
func choice(said string, options []string) string {
	said = strings.TrimSpace(strings.ToValidUTF8(said, "\uFFFD"))
	var chosen []string
	for _, part := range strings.FieldsFunc(strings.Map(halfWidth, said), func(r rune) bool { return strings.ContainsRune(",，、;；", r) }) {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || n > len(options) || slices.Contains(chosen, options[n-1]) {
			return said
		}
		chosen = append(chosen, options[n-1])
	}
	if len(chosen) == 0 {
		return said
	}
	return strings.Join(chosen, "\n")
}

// halfWidth turns the digits that an input method of Chinese or Japanese types into plain ones.
func halfWidth(r rune) rune {
	if '０' <= r && r <= '９' {
		return r - '０' + '0'
	}
	return r
}

func (h *Human) forget(w *waiting) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, p := range h.pending {
		if p == w {
			h.pending = append(h.pending[:i], h.pending[i+1:]...)
			return
		}
	}
}

func (h *Human) told(said string, how AnswerKind) string {
	switch how {
	case Given:
		return said
	case Skipped:
		return say(h.opts.Lang, "answer.skipped", nil)
	case OverMax:
		return say(h.opts.Lang, "answer.quota", map[string]any{"Max": max(h.opts.MaxQuestions, 0)})
	case Nobody:
		return say(h.opts.Lang, "answer.nobody", nil)
	default: // TimedOut
		return say(h.opts.Lang, "answer.timeout", nil)
	}
}

// Pending returns the oldest question that waits.
func (h *Human) Pending() (Question, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.pending) == 0 {
		return Question{}, false
	}
	return h.pending[0].question, true
}

// Answer answers a waiting question: the number of an option picks it, numbers between commas pick several, an empty text skips the question. It returns
// false if the question does not wait any more.
func (h *Human) Answer(id, text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, w := range h.pending {
		if w.question.ID == id {
			w.reply <- text // buffered, and only once: the question leaves the queue here
			h.pending = append(h.pending[:i], h.pending[i+1:]...)
			return true
		}
	}
	return false
}

// Leave says that nobody can answer any more: waiting and later questions are settled at once.
func (h *Human) Leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.gone {
		h.gone = true
		close(h.goneCh)
	}
}

// Say takes a remark: it is durable when Say returns without an error, is appended to the brief, and reaches the agent
// at its next turn boundary. The receipt is a NoteTaken. An error says that the remark is not kept: also a full disk is
// not waited for, so that the person can decide. Blank text is nothing.
func (h *Human) Say(ctx context.Context, text string) error {
	if text = remarkText(text); text == "" {
		return nil
	}
	taken, err := notebook{h.opts.Store, h.project, h.bench, h.opts.Now}.take(ctx, nil, text)
	if err != nil {
		return err
	}
	h.opts.Observe(taken)
	return nil
}

// Inbox is what the inbox tool says: how many remarks wait. They themselves follow the tool's result as the person's
// words, so that each reaches the transcript exactly once.
func (h *Human) Inbox(ctx context.Context) (string, error) {
	notes, err := h.opts.Store.PendingNotes(ctx, h.project)
	if err != nil {
		return "", fmt.Errorf("read inbox: %w", err)
	}
	return say(h.opts.Lang, "inbox", map[string]any{"Count": len(notes)}), nil
}

// logAnswer writes question and answer into the workbench's log; a log that cannot be written stops nothing.
func (h *Human) logAnswer(q Question, said string, how AnswerKind) {
	if h.opts.NoLog {
		return
	}
	_ = h.bench.AppendNote(workbench.QuestionLog, logHeading(q)+logged(q, said, how))
}

// relog writes down what the process that took an answer could not, because it was killed between keeping the answer
// and writing it into the log.
func (h *Human) relog(q Question, answer string) {
	how := Given
	if answer == h.told("", Skipped) {
		how = Skipped
	}
	if h.opts.NoLog {
		return
	}
	body := logged(q, answer, how)
	_ = h.bench.UpdateNote(workbench.QuestionLog, func(old string, _ bool) (string, bool) {
		return old + logHeading(q) + body, !strings.Contains(old, body)
	})
}

func logHeading(q Question) string { return "## " + q.AskedAt.Format(time.DateTime) + "\n" }

// logged is a question and how it ended, as the log has it below a heading.
func logged(q Question, said string, how AnswerKind) string {
	var out strings.Builder
	fmt.Fprintf(&out, "\n%s\n", strings.TrimSpace(q.Text))
	for i, o := range q.Options {
		fmt.Fprintf(&out, "%d. %s\n", i+1, o)
	}
	answer := said
	if how != Given {
		answer = "(" + string(how) + ")"
	}
	fmt.Fprintf(&out, "\n> %s\n\n", strings.ReplaceAll(answer, "\n", "\n> "))
	return out.String()
}
