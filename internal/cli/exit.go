package cli

import (
	"errors"
	"net/http"

	"flower"
	"flower/agent"
	"flower/internal/config"
	"flower/sqlite"
)

// Exit codes. This table is the only one: help shows it, and codeOf decides by it.
const (
	exitOK        = 0
	exitFailed    = 1
	exitUsage     = 2
	exitPerson    = 3
	exitConfig    = 4
	exitNetwork   = 5
	exitInUse     = 6
	exitHangup    = 129
	exitInterrupt = 130
	exitUnread    = 141 // what shells make of SIGPIPE
	exitTerm      = 143
)

// exitCodes names, for help, the message that explains each code.
var exitCodes = []struct {
	codes string
	id    string
}{
	{"0", "exit.done"},
	{"1", "exit.failed"},
	{"2", "exit.usage"},
	{"3", "exit.person"},
	{"4", "exit.config"},
	{"5", "exit.network"},
	{"6", "exit.inuse"},
	{"130, 129, 143", "exit.signal"},
	{"141", "exit.unread"},
}

// usageError is something that was asked for and cannot be done as asked: a flag, a value, a place, a request.
type usageError struct{ err error }

// Error implements error.
func (e *usageError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *usageError) Unwrap() error { return e.err }

// flagError is a flag that does not exist, or whose value is none.
type flagError struct{ err error }

// Error implements error.
func (e *flagError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *flagError) Unwrap() error { return e.err }

// stopError is a run that a signal has ended.
type stopError struct{ code int }

// Error implements error.
func (e *stopError) Error() string { return "stopped by a signal" }

// stopped says whether a signal has ended something.
func stopped(err error) bool {
	var stop *stopError
	return errors.As(err, &stop)
}

// codeOf is the exit code of how a command ended.
func codeOf(err error) int {
	var (
		usage *usageError
		stop  *stopError
		abort *flower.Abort
		value *config.ValueError
		file  *config.FileError
		model *agent.ModelError
		busy  *flower.InUse
		small *flower.WindowError
		limit *agent.LimitError
		ends  *config.EndpointError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &stop):
		return stop.code
	case errors.Is(err, flower.ErrInterrupted):
		return exitInterrupt
	case errors.As(err, &usage), errors.Is(err, flower.ErrNothingToDo):
		return exitUsage
	case errors.As(err, &abort) && abort.ForPerson, errors.As(err, &limit) && limit.WholeRun():
		return exitPerson
	case errors.Is(err, config.ErrNoCredentials), errors.As(err, &value), errors.As(err, &file), errors.As(err, &small),
		errors.As(err, &ends), errors.Is(err, sqlite.ErrNewer):
		return exitConfig
	case errors.As(err, &busy), errors.Is(err, flower.ErrLeaseLost):
		return exitInUse
	case errors.As(err, &model):
		return codeOfModel(model)
	}
	return exitFailed
}

// codeOfModel tells an endpoint that does not want us from one that does not answer.
func codeOfModel(e *agent.ModelError) int {
	switch {
	case refusesUs(e):
		return exitConfig
	case e.Kind == agent.Transient, e.Kind == agent.Unknown && e.Status == 0:
		return exitNetwork
	}
	return exitFailed
}

// refusesUs says whether the endpoint refused the credentials, or a model it does not know or does not give to them.
func refusesUs(e *agent.ModelError) bool {
	if e.Kind != agent.Fatal {
		return false
	}
	switch e.Status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound:
		return true
	}
	switch e.Type {
	case "authentication_error", "billing_error", "permission_error", "not_found_error":
		return true
	}
	return false
}
