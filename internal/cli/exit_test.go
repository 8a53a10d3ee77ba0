package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"flower"
	"flower/agent"
)

// brokenOutput takes so many bytes and then none.
type brokenOutput struct {
	room int
	err  error
}

func (w *brokenOutput) Write(p []byte) (int, error) {
	n := min(w.room, len(p))
	w.room -= n
	if n < len(p) {
		return n, &fs.PathError{Op: "write", Path: "/dev/stdout", Err: w.err}
	}
	return n, nil
}

// A command whose output was not written has failed, also when only the end of it is missing; what went wrong before that
// has its own code.
func TestOutputNotWritten(t *testing.T) {
	tests := []struct {
		args string
		want int // where the output is broken
	}{
		{"status", exitFailed},
		{"status --json", exitFailed},
		{"sessions", exitFailed},
		{"sessions --json", exitFailed},
		{"version", exitFailed},
		{"version --json", exitFailed},
		{"--version", exitFailed},
		{"completion bash", exitFailed},
		{"help", exitFailed},
		{"once --help", exitFailed},
		{"--bogus --json", exitUsage},
		{"--bogus", exitUsage},
	}
	for _, tt := range tests {
		var whole, errs strings.Builder
		run := func(out io.Writer) int {
			errs.Reset()
			return Main(strings.Fields(tt.args), []string{"HOME=" + t.TempDir(), "LANG=C"}, Stdio{In: strings.NewReader(""), Out: out, Err: &errs}, Options{Dir: t.TempDir()})
		}
		if code := run(&whole); tt.want == exitFailed && (code != exitOK || whole.Len() == 0) {
			t.Fatalf("%s: %d with a whole output: %q %q", tt.args, code, whole.String(), errs.String())
		}
		for _, room := range []int{0, max(0, whole.Len()-1)} {
			if code := run(&brokenOutput{room, syscall.ENOSPC}); code != tt.want || tt.want == exitFailed && !strings.Contains(errs.String(), "ENOSPC") {
				t.Errorf("%s, room for %d: %d %q, want %d", tt.args, room, code, errs.String(), tt.want)
			}
			want := tt.want
			if want == exitFailed {
				want = exitUnread
			}
			if code := run(&brokenOutput{room, syscall.EPIPE}); code != want || want == exitUnread && errs.Len() > 0 {
				t.Errorf("%s, unread after %d: %d %q, want %d", tt.args, room, code, errs.String(), want)
			}
		}
	}
}

func TestCodeOf(t *testing.T) {
	tests := []struct {
		err  error
		want int
	}{
		{nil, exitOK},
		{errors.New("anything"), exitFailed},
		{&usageError{errors.New("x")}, exitUsage},
		{flower.ErrNothingToDo, exitUsage},
		{&flower.InUse{}, exitInUse},
		{flower.ErrLeaseLost, exitInUse},
		{&agent.ModelError{Kind: agent.Fatal, Type: "billing_error"}, exitConfig},
		{&agent.ModelError{Kind: agent.Fatal, Type: "authentication_error"}, exitConfig},
		{&agent.ModelError{Kind: agent.Fatal, Type: "permission_error"}, exitConfig},
		{&agent.ModelError{Kind: agent.Fatal, Type: "not_found_error"}, exitConfig},
		{&agent.ModelError{Kind: agent.Fatal, Status: 402}, exitConfig},
		{&agent.ModelError{Kind: agent.Fatal, Status: 400, Type: "invalid_request_error"}, exitFailed},
		{&agent.ModelError{Kind: agent.Transient, Type: "billing_error"}, exitNetwork},
		{&agent.ModelError{Kind: agent.Unknown}, exitNetwork},
		{&agent.ModelError{Kind: agent.Unknown, Status: 200}, exitFailed},
		{flower.ErrInterrupted, exitInterrupt},
		{&stopError{exitTerm}, exitTerm},
	}
	for _, tt := range tests {
		err := tt.err
		if err != nil {
			err = fmt.Errorf("wrapped: %w", err)
		}
		if got := codeOf(err); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.err, got, tt.want)
		}
	}
}
