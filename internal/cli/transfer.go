package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"

	"flower"
	"flower/agent"
	"flower/internal/config"
	"flower/internal/disk"
	"flower/internal/text"
	"flower/sqlite"
	"flower/transcript"
)

// exportSession writes a session as lines of JSON that Claude Code can resume from: to a new file, or to the output.
func (a *app) exportSession(ctx context.Context, id, file string) error {
	return a.onShelf(ctx, func(s *shelf) error {
		t, err := s.find(ctx, id)
		if err != nil {
			return err
		}
		c, err := s.threadsOf(ctx, t)
		if err != nil {
			return err
		}
		var out bytes.Buffer
		for _, e := range s.portable(c) {
			line, err := e.MarshalJSON()
			if err != nil {
				return fmt.Errorf("encode entry %s: %w", e.UUID, err)
			}
			// An entry that another program has laid out over several lines becomes one: a line feed is no part of a string.
			out.Write(bytes.ReplaceAll(line, []byte("\n"), []byte(" ")))
			out.WriteByte('\n')
		}
		if err := a.putOut(file, out.Bytes()); err != nil {
			return err
		}
		if n := c.damaged(); n > 0 {
			a.marked(a.err, "! ", a.Say("history.damaged", text.Data{"N": n}))
		}
		if file != "" {
			a.out.Line(a.Say("session.exported", text.Data{"Session": t.ID, "Path": file, "N": bytes.Count(out.Bytes(), []byte("\n"))}))
		}
		return nil
	})
}

// portable are the entries of a session in one list: a subagent's stand behind the entry that holds the call.
func (s *shelf) portable(c *conversation) []transcript.Entry {
	stamp := transcript.Stamp{
		SessionID: c.key.Session, CWD: s.workspace, Version: "flower " + release(), GitBranch: gitBranch(s.workspace)(),
	}
	var out []transcript.Entry
	side := func(id string) {
		of := stamp
		of.AgentID = id
		out = append(out, transcript.Portable(c.subagents[id].entries, of, s.Now())...)
	}
	lost := c.lost
	for _, e := range transcript.Portable(c.main.entries, stamp, s.Now()) {
		out = append(out, e)
		if e.Message == nil {
			continue
		}
		for _, call := range e.Message.ToolUses() {
			if id, ok := c.started[call.ID]; ok {
				side(id)
			}
		}
		if len(lost) > 0 { // whose call is not there: behind the first message, so that the last line is the main thread's
			for _, id := range lost {
				side(id)
			}
			lost = nil
		}
	}
	return out
}

// putOut writes data to a file that does not exist yet, or to the output. On a terminal it passes the screen; elsewhere
// every byte counts.
func (a *app) putOut(file string, data []byte) error {
	if file == "" || file == "-" {
		if isTerminal(a.stdio.Out) {
			a.out.Text(string(data))
			return nil
		}
		if _, err := a.stdio.Out.Write(data); err != nil {
			return fmt.Errorf("write session: %w", err)
		}
		return nil
	}
	path := a.abs(file)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, disk.PrivateMode)
	if errors.Is(err, fs.ErrExist) {
		return &usageError{spoken(a.Say("session.exists", text.Data{"Path": file}))}
	}
	if err != nil {
		return fmt.Errorf("write session: %w", err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write session: %w", errors.Join(err, os.Remove(path))) // half a session is none
	}
	return nil
}

// importSession takes a session out of a file: all of it, or nothing.
func (a *app) importSession(ctx context.Context, file string) error {
	_, _, _ = a.loadConfig() // for the secrets; without any, the shapes of keys are known
	in, err := a.readSession(file)
	if err != nil {
		return err
	}
	if !in.speaks() {
		return spoken(a.Say("session.empty", text.Data{"Path": file, "N": in.damaged}))
	}
	var key agent.Key
	err = a.withStore(ctx, func(store *sqlite.Store, where place) error {
		key = agent.Key{Project: flower.ProjectKey(where.workspace), Session: in.id}
		if !usableID(in.id) {
			key.Session = uuid.NewString()
		}
		err := store.Import(ctx, key, in.threads(key))
		if errors.Is(err, flower.ErrSessionExists) {
			key.Session = uuid.NewString()
			err = store.Import(ctx, key, in.threads(key))
		}
		return err
	})
	if err != nil {
		return err
	}
	if in.damaged > 0 {
		a.marked(a.err, "! ", a.Say("session.damaged", text.Data{"N": in.damaged}))
	}
	if in.thinking > 0 {
		a.marked(a.err, ". ", a.Say("session.thinking", text.Data{"N": in.thinking}))
	}
	if key.Session != in.id && in.id != "" {
		a.marked(a.err, ". ", a.Say("session.renamed", text.Data{"Session": in.id}))
	}
	a.out.Line(a.Say("session.imported", text.Data{"Session": key.Session, "N": in.stored}))
	return nil
}

// usableID says whether an id found in a file can be a session's here; "." and the like are names of other things.
func usableID(id string) bool {
	return uuid.Validate(id) == nil && len(id) == 36
}

// incoming is a session as a file has it.
type incoming struct {
	id        string // the first that an entry names
	main      []transcript.Entry
	subagents map[string][]transcript.Entry
	damaged   int // lines that are no entries
	thinking  int // blocks left out
	stored    int // entries
}

// speaks says whether there is a message in the main thread.
func (in *incoming) speaks() bool {
	return slices.ContainsFunc(in.main, func(e transcript.Entry) bool { return e.Message != nil && !e.IsSidechain })
}

// maxLine is the longest line that is read, in bytes: a message of the API has at most 32 MB, and an entry may hold a
// result twice.
const maxLine = 128 << 20

func (a *app) readSession(file string) (*incoming, error) {
	from := a.stdio.In
	if file != "-" {
		f, _, err := disk.OpenRegular(a.abs(file))
		if err != nil {
			return nil, &usageError{fmt.Errorf("import session: %w", err)}
		}
		defer func() { _ = f.Close() }() // only read from
		from = f
	}
	redact := a.redact
	if redact == nil {
		redact = (*config.Redactor)(nil).Redact
	}
	in := &incoming{subagents: map[string][]transcript.Entry{}}
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 1<<20), maxLine)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		e, err := transcript.ParseEntry(lines.Bytes())
		if err == nil {
			e, _, err = e.Redacted(redact)
		}
		if err != nil {
			in.damaged++
			continue
		}
		in.add(e)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("import session: read %s: %w", file, err)
	}
	return in, nil
}

func (in *incoming) add(e transcript.Entry) {
	if in.id == "" {
		in.id = e.SessionID
	}
	// An id that could not be a part of a path stays with the main thread, which ignores side chains.
	if id := e.AgentID; e.IsSidechain && id != "" && !strings.ContainsAny(id, "/\x00") {
		in.subagents[id] = append(in.subagents[id], e)
		return
	}
	in.main = append(in.main, e)
}

// threads are the entries as they are stored under a key. Thinking is signed together with the system text and the tools
// of the session it comes from, which are not in the file. Subagents get the ids that their calls have here, so that
// one that was cut off goes on.
func (in *incoming) threads(key agent.Key) map[string][]transcript.Entry {
	c := &conversation{key: key, main: &thread{entries: in.main}, subagents: map[string]*thread{}}
	var ids []string
	for id, entries := range in.subagents {
		c.subagents[id] = &thread{entries: entries}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	c.place(slices.Clone(ids))
	renamed := map[string]string{}
	for call, id := range c.started {
		if to := agent.SubagentID(key, call); in.subagents[to] == nil {
			renamed[id] = to
		}
	}
	in.thinking, in.stored = 0, 0
	stored := func(entries []transcript.Entry, agentID string) []transcript.Entry {
		entries, n := transcript.WithoutThinking(entries)
		in.thinking += n
		in.stored += len(entries)
		for i, e := range entries {
			entries[i] = e.WithSession(key.Session)
			if agentID != "" && e.AgentID != agentID {
				entries[i] = entries[i].WithAgent(agentID)
			}
		}
		return entries
	}
	out := map[string][]transcript.Entry{"": stored(in.main, "")}
	for id, entries := range in.subagents {
		if to := renamed[id]; to != "" {
			id = to
		}
		out[key.Sub(id).SubPath] = stored(entries, id)
	}
	return out
}
