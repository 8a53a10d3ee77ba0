// Package tools is the toolbox of flower's agents: files, commands, search, the to-do list, subagents, and the person.
//
// Terms. A Box serves one workspace and all sessions in it; a session is named by an agent.Key, and each subagent has
// one of its own. A guard is an agent.Middleware around every call of a tool. A status line is the last line of a
// result, in square brackets: what the tool itself has to say, as opposed to what it found.
//
// Names and parameters are those of Claude Code, because models know them. Each description for the model stands in a
// file of its own beside the code of its tool.
//
// Trust. The input of a call comes from a model and is decoded strictly; what files and commands say is data, kept
// within bounds and made valid UTF-8. Reading is allowed everywhere except in the kernel's own file systems (flower's
// own environment is there); writing only below the workspace, the workbench and the directory for temporary files,
// with symbolic links followed first. These checks keep an agent from mistakes. Commands of a Bash that is not held to
// reading are kept to the same places, and caches, by the kernel, where it can; without it they can do what the user can.
package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"flower/agent"
	"flower/internal/ignore"
	"flower/internal/mcp"
	"flower/internal/proc"
	"flower/internal/sandbox"
	"flower/internal/workbench"
)

// Names of the tools, as a Spec lists them.
const (
	Bash         = "Bash"
	Read         = "Read"
	Write        = "Write"
	Edit         = "Edit"
	NotebookEdit = "NotebookEdit"
	Glob         = "Glob"
	Grep         = "Grep"
	TodoWrite    = "TodoWrite"
	WebFetch     = "WebFetch"
	WebSearch    = "WebSearch"
	Agent        = "Agent"
	Ask          = "mcp__human__ask"
	Inbox        = "mcp__human__inbox"
)

// Options of a Box. Only Workspace is required.
type Options struct {
	// Workspace is the directory that agents work in: an absolute path of a directory that exists.
	Workspace string
	// Bench takes results that are too long for a conversation. Nil: results are never spilled.
	Bench *workbench.Bench
	// Environ is the environment of commands, as "NAME=value" and without credentials (proc.ScrubEnv). Nil: commands
	// get an empty environment, never flower's own.
	Environ []string
	// Commands runs the commands of Bash and ends what they leave behind when it is closed. Nil: the Box has one of its own,
	// and what is left ends with the program.
	Commands *proc.Supervisor
	// Sandbox confines commands: to its places, the workspace, the workbench and the repository of the workspace; those
	// that only read to nothing. Nil: commands write where the user can.
	Sandbox *sandbox.Options
	// Granted are directories besides the workspace that the tools, and commands, may write in: absolute paths.
	Granted []string
	// Private are directories that no tool reads, lists or changes: flower's own books. Opening some of their files in
	// this process would even drop the locks that it holds on them.
	Private []string
	// Ask puts a question to the person and returns what the model is told, which also covers that nobody answered or
	// may be asked any more. callID is the call's id with its session's key: the same one is the same question. An error
	// ends the run. Nil: every question is answered by "decide yourself".
	Ask func(ctx context.Context, callID, question string, options []string) (string, error)
	// Inbox says how many remarks of the person wait, "" if none does; the remarks themselves come by another way. An
	// error ends the run. Nil: none ever does.
	Inbox func(ctx context.Context) (string, error)
	// Permit asks the person about a call that the mode of its agent (Spec.Permission) does not allow by itself, and waits
	// for the answer within bounds of its own. An error ends the run. Nil: nobody is asked, and such calls are refused.
	Permit func(ctx context.Context, r PermitRequest) (Permit, error)
	// Redact removes secrets from a text before it is stored or sent. Nil: nothing is removed.
	Redact func(string) string
	// CommandTimeout is how long a command may run that asks for no timeout of its own; 0 is 2 minutes.
	CommandTimeout time.Duration
	// Hurry, once closed, says that there is no time: commands that are being stopped are killed. Nil: there always is.
	Hurry <-chan struct{}
	// SearchTimeout is how long one Glob or Grep may run; 0 is 20 seconds.
	SearchTimeout time.Duration
	// Web says how WebFetch reaches the network.
	Web WebOptions
	// Search says that the endpoint searches the web for its models, so that WebSearch can be offered. Agents that name it
	// have it, or, where there is none, have everything else they name.
	Search bool
	// Servers are the MCP servers whose tools agents may have; the caller closes them. Nil: none.
	Servers *mcp.Set
}

// Figures of Options.
const (
	defaultCommandTimeout = 2 * time.Minute
	defaultSearchTimeout  = 20 * time.Second
)

// Box implements agent.Toolbox. It is safe for concurrent use.
type Box struct {
	opts      Options
	workspace string   // absolute, symbolic links followed
	writable  []string // roots below which files may be written, symbolic links followed
	notes     string   // where the frozen documents lie; nobody but flower writes there. "" without a bench
	spilled   string   // where long results lie, as they came: read and searched whatever bytes they hold. "" without a bench
	private   []string // roots that are nobody's business, symbolic links followed
	paths     *locks   // held while a file is changed

	commands       *proc.Supervisor
	worker, reader *sandbox.Sandbox // of commands, and of those that only read
	files          *sandbox.Sandbox // of what the file tools write: the same rules, kept by the kernel while paths change

	userIgnores func() ignore.List // read once

	searchPath string // PATH of commands, without directories that agents can write programs to

	mu       sync.Mutex
	sessions map[string]*session
}

var _ agent.Toolbox = (*Box)(nil)

// New checks the options.
func New(opts Options) (*Box, error) {
	if !filepath.IsAbs(opts.Workspace) {
		return nil, fmt.Errorf("open toolbox: workspace %q is not an absolute path", opts.Workspace)
	}
	info, err := os.Stat(opts.Workspace)
	if err != nil {
		return nil, fmt.Errorf("open toolbox: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("open toolbox: workspace %s is not a directory", opts.Workspace)
	}
	if opts.CommandTimeout <= 0 {
		opts.CommandTimeout = defaultCommandTimeout
	}
	if opts.SearchTimeout <= 0 {
		opts.SearchTimeout = defaultSearchTimeout
	}
	if opts.Environ == nil {
		opts.Environ = []string{}
	}
	b := &Box{opts: opts, sessions: map[string]*session{}, commands: opts.Commands, paths: &locks{}}
	if b.commands == nil {
		b.commands = &proc.Supervisor{}
	}
	roots := append([]string{opts.Workspace, os.TempDir()}, opts.Granted...)
	if opts.Bench != nil {
		if opts.Bench.Outside() { // inside they are writable anyway, unless a command has made links of them
			roots = append(roots, opts.Bench.Places()...)
		}
		notes, err := follow(opts.Bench.Notes())
		if err != nil {
			return nil, fmt.Errorf("open toolbox: %w", err)
		}
		b.notes = notes
		if b.spilled, err = follow(opts.Bench.SpillDir()); err != nil {
			return nil, fmt.Errorf("open toolbox: %w", err)
		}
	}
	for _, root := range roots {
		real, err := follow(root)
		if err != nil {
			return nil, fmt.Errorf("open toolbox: %w", err)
		}
		b.writable = append(b.writable, real)
	}
	for _, root := range opts.Private {
		real, err := follow(root)
		if err != nil {
			return nil, fmt.Errorf("open toolbox: %w", err)
		}
		b.private = append(b.private, real)
	}
	b.workspace = b.writable[0]
	if err := b.confine(opts.Sandbox); err != nil {
		return nil, err
	}
	b.userIgnores = sync.OnceValue(b.findUserIgnores)
	b.searchPath = b.outerPath(defaultPath)
	for _, entry := range opts.Environ {
		if path, ok := strings.CutPrefix(entry, "PATH="); ok {
			b.searchPath = b.outerPath(path)
		}
	}
	return b, nil
}

// confine makes the sandboxes of commands.
func (b *Box) confine(opts *sandbox.Options) (err error) {
	if opts == nil {
		opts = &sandbox.Options{ABI: -1}
	}
	reader := sandbox.Options{ABI: opts.ABI}
	worker := sandbox.Options{ABI: opts.ABI, Places: slices.Concat(opts.Places, []string{b.workspace}, b.opts.Granted, sandbox.Repository(b.workspace))}
	if b.opts.Bench != nil {
		worker.Places = append(worker.Places, b.opts.Bench.Places()...)
	}
	if b.reader, err = sandbox.New(reader); err != nil {
		return fmt.Errorf("open toolbox: %w", err)
	}
	if b.worker, err = sandbox.New(worker); err != nil {
		return fmt.Errorf("open toolbox: %w", err)
	}
	if b.files, err = sandbox.New(sandbox.Options{ABI: opts.ABI, Places: b.writable}); err != nil {
		return fmt.Errorf("open toolbox: %w", err)
	}
	return nil
}

// Confined says how much of the sandbox for commands works on this system.
func (b *Box) Confined() sandbox.Level { return b.worker.Level() }

var errUnknownTool = errors.New("no such tool")

// Tools implements agent.Toolbox, under the mode that spec.Permission names. WebSearch is offered where the endpoint has it,
// Agent to agents with subagents. Calls with the same env.Key share what the session has read.
func (b *Box) Tools(spec agent.Spec, env agent.Env) ([]agent.Tool, error) {
	makers := map[string]func(*session, agent.Spec, agent.Env) agent.Tool{
		Bash: b.bash, Read: b.read, Write: b.write, Edit: b.edit, NotebookEdit: b.notebookEdit, Glob: b.glob, Grep: b.grep,
		TodoWrite: b.todoWrite, WebFetch: b.webFetch, Agent: b.agent, Ask: b.ask, Inbox: b.inbox,
	}
	s := b.session(env.Key)
	if err := checkMode(spec.Permission); err != nil {
		return nil, err
	}
	if spec.Permission != "" && spec.Permission != ModeBypass && !b.asks(spec.Permission) {
		spec.EphemeralShell = true
	}
	var list []agent.Tool
	add := func(t agent.Tool) {
		t = b.permitted(t, spec)
		t.Run = b.guarded(t, spec)
		list = append(list, t)
	}
	for _, name := range spec.Tools {
		if name == WebSearch && !b.opts.Search || name == Agent && (len(spec.Subagents) == 0 || env.Spawn == nil) {
			continue
		}
		if FromServer(name) {
			theirs, err := b.fromServers(name)
			if err != nil {
				return nil, fmt.Errorf("make tool %q: %w", name, err)
			}
			for _, t := range theirs {
				add(t)
			}
			continue
		}
		if name == WebSearch {
			t, err := webSearch(spec.Search)
			if err != nil {
				return nil, fmt.Errorf("make tool %q: %w", name, err)
			}
			list = append(list, t)
			continue
		}
		newTool, ok := makers[name]
		if !ok {
			return nil, fmt.Errorf("make tool %q: %w", name, errUnknownTool)
		}
		add(newTool(s, spec, env))
	}
	return list, nil
}

// session returns the state of one conversation, a new one for a new key. It lives as long as the Box: after a restart
// files have to be read again before they can be changed.
func (b *Box) session(key agent.Key) *session {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := key.String()
	if b.sessions[id] == nil {
		b.sessions[id] = &session{seen: map[string]version{}}
	}
	return b.sessions[id]
}
