package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"flower/internal/shell"
)

// runner runs git.
type runner struct {
	program string // "" if there is none
	env     []string
	timeout time.Duration
}

func newRunner(opts Options) runner {
	r := runner{timeout: opts.Timeout}
	path := "/usr/local/bin:/usr/bin:/bin"
	for _, entry := range opts.Environ {
		name, value, _ := strings.Cut(entry, "=")
		// What begins with GIT_ may name another repository, index or program.
		if strings.HasPrefix(name, "GIT_") || name == "LC_ALL" || name == "LANGUAGE" || name == "PWD" {
			continue
		}
		if name == "PATH" {
			path = value
		}
		r.env = append(r.env, entry)
	}
	r.env = append(r.env, "LC_ALL=C")
	for _, dir := range filepath.SplitList(path) {
		rel, err := filepath.Rel(opts.Workspace, dir)
		if !filepath.IsAbs(dir) || err == nil && filepath.IsLocal(rel) {
			continue // no program that a worker may have written
		}
		if found, err := exec.LookPath(filepath.Join(dir, "git")); err == nil {
			r.program = found
			break
		}
	}
	return r
}

// gitError is a git that has failed.
type gitError struct {
	args   []string
	code   int // -1 if it did not end by itself
	stderr string
	err    error
}

func (e *gitError) Error() string {
	what := e.stderr
	if what == "" {
		what = e.err.Error()
	}
	what, _, _ = strings.Cut(what, "\n")
	return fmt.Sprintf("git %s: %s", e.args[0], strings.TrimPrefix(what, "fatal: "))
}

func (e *gitError) Unwrap() error { return e.err }

// run runs git in a directory and returns what it prints, without the last line feed.
func (r runner) run(ctx context.Context, dir string, args ...string) (string, error) {
	// Listing settings starts no program; the names tell GitEnv what to switch off.
	keys, err := r.start(ctx, dir, shell.GitEnv(), "config", "--list", "--name-only", "-z")
	if err != nil {
		return "", err
	}
	return r.start(ctx, dir, shell.GitEnv(strings.Split(keys, "\x00")...), args...)
}

func (r runner) start(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	if r.program == "" {
		return "", &UnfitError{Why: NoGit}
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.program, args...)
	cmd.Dir = dir
	cmd.Env = append(append([]string{}, r.env...), env...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	// A group of its own: Ctrl-C on the terminal is flower's to act on, and what git starts ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		code := -1
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		}
		return "", &gitError{args: args, code: code, stderr: strings.TrimSpace(stderr.String()), err: err}
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// asks runs a git that answers with its exit code: 0 is yes, 1 is no.
func (r runner) asks(ctx context.Context, dir string, args ...string) (bool, error) {
	_, err := r.run(ctx, dir, args...)
	var failed *gitError
	if errors.As(err, &failed) && failed.code == 1 && failed.args[0] == args[0] {
		return false, nil
	}
	return err == nil, err
}

// has says whether there is a ref. A git that fails has not said no.
func (r runner) has(ctx context.Context, dir, ref string) (bool, error) {
	out, err := r.run(ctx, dir, "for-each-ref", "--format=%(refname)", ref)
	return slices.Contains(strings.Split(out, "\n"), ref), err
}

// maxSlug bounds what of a title is in a branch's name, in characters: names of files end at 255 bytes.
const maxSlug = 40

// slug is a title as a part of a branch's name: small letters and digits of any script, joined by hyphens.
func slug(title string) string {
	var out []rune
	for _, c := range title {
		switch {
		case unicode.IsLetter(c) || unicode.IsDigit(c):
			out = append(out, unicode.ToLower(c))
		case len(out) > 0 && out[len(out)-1] != '-':
			out = append(out, '-')
		}
		if len(out) == maxSlug {
			break
		}
	}
	if s := strings.Trim(string(out), "-"); s != "" {
		return s
	}
	return "task"
}

// short is the end of an id.
func short(id string) string {
	const shown = 6
	return strings.ToLower(strings.Trim(id[max(0, len(id)-shown):], "-_"))
}
