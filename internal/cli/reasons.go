package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"flower"
	"flower/agent"
	"flower/internal/config"
	"flower/internal/demo"
	"flower/internal/disk"
	"flower/internal/mcp"
	"flower/internal/proc"
	"flower/internal/shell"
	"flower/internal/text"
	"flower/messages"
	"flower/sqlite"
	"flower/tools"
)

// sentinels are the messages of errors that say all there is to say by being what they are.
var sentinels = []struct {
	err error
	id  string
}{
	{config.ErrNoCredentials, "config.none"},
	{flower.ErrInterrupted, "interrupted"},
	{flower.ErrNothingToDo, "request.none"},
	{flower.ErrLeaseLost, "error.lease"},
	{flower.ErrNoSession, "error.session"},
	{flower.ErrSessionExists, "error.session.exists"},
	{flower.ErrNoGoal, "error.goal"},
	{flower.ErrChecksOutOfTime, "problem.late"},
	{flower.ErrChecksInterrupted, "problem.interrupted"},
	{flower.ErrChecksTooMany, "problem.many"},
	{flower.ErrCheckMentioned, "problem.mentioned"},
	{agent.ErrNoSpace, "error.space"},
	{sqlite.ErrNotDatabase, "error.store"},
	{sqlite.ErrForeign, "error.store.foreign"},
	{sqlite.ErrNewer, "error.store.newer"},
	{sqlite.ErrDamaged, "error.store.damaged"},
	{sqlite.ErrUnsettled, "error.store.busy"},
	{disk.ErrLocked, "error.locked"},
	{proc.ErrClosed, "error.ending"},
	{demo.ErrFailed, "error.demo"},
	{exec.ErrNotFound, "error.program"},
	{context.DeadlineExceeded, "error.time"},
	{context.Canceled, "error.canceled"},
	{os.ErrDeadlineExceeded, "error.time"},
}

// errnos are the messages of what the system says most often.
var errnos = map[syscall.Errno]string{
	unix.ENOENT: "errno.missing", unix.EACCES: "errno.denied", unix.EPERM: "errno.denied", unix.EROFS: "errno.readonly",
	unix.ENOSPC: "errno.full", unix.EDQUOT: "errno.quota", unix.EFBIG: "errno.big", unix.EEXIST: "errno.exists",
	unix.ENOTDIR: "errno.nodir", unix.EISDIR: "errno.isdir", unix.ENOTEMPTY: "errno.notempty", unix.EIO: "errno.io",
	unix.EMFILE: "errno.files", unix.ENFILE: "errno.files", unix.ENAMETOOLONG: "errno.name", unix.ELOOP: "errno.loop",
	unix.EBUSY: "errno.busy", unix.ETXTBSY: "errno.busy", unix.ENOMEM: "errno.memory", unix.EXDEV: "errno.device",
	unix.ENOEXEC: "errno.noexec", unix.ECONNREFUSED: "errno.refused", unix.EPIPE: "errno.pipe", unix.ETIMEDOUT: "error.time",
}

// faults are the messages of what can be wrong with settings.
var faults = map[config.Fault]string{
	config.LineBreak: "fault.linebreak", config.NotASCII: "fault.ascii", config.ControlCharacter: "fault.control",
	config.BlankInKey: "fault.blank", config.NotURL: "fault.url", config.NotHTTP: "fault.http", config.NoHost: "fault.host",
	config.UserInURL: "fault.user", config.QueryInURL: "fault.query", config.BadPort: "fault.port", config.BadModel: "fault.model",
	config.BadWindow: "fault.window", config.BadSearch: "value.websearch", config.NoSuchFile: "fault.missing", config.NotRegularFile: "fault.irregular",
	config.TooLargeFile: "fault.large", config.Unreadable: "fault.unreadable", config.Unwritable: "fault.unwritable",
	config.NotUTF8: "fault.utf8", config.BadLine: "fault.line", config.OpenQuote: "fault.quote",
	config.Unchangeable: "fault.unchangeable", config.BadPrices: "fault.prices",
}

// priceFaults are the messages of what can be wrong with a table of prices.
var priceFaults = map[messages.PriceFault]string{
	messages.PriceNoName: "price.noname", messages.PriceTwice: "price.twice", messages.PriceMore: "price.more",
	messages.PriceCutShort: "price.short", messages.PriceNotJSON: "price.json", messages.PriceNotObject: "price.object",
	messages.PriceKeyTwice: "price.keytwice", messages.PriceUnknownKey: "price.key", messages.PriceMissing: "price.missing",
	messages.PriceHalfLong: "price.long", messages.PriceRange: "price.range", messages.PriceTokens: "price.tokens",
	messages.PriceSearches: "price.search",
}

// serverFaults are the messages of what can be wrong with MCP servers.
var serverFaults = map[mcp.Fault]string{
	mcp.NotJSON: "mcp.json", mcp.NotList: "mcp.form", mcp.NoServers: "mcp.none", mcp.BadName: "mcp.name", mcp.TakenName: "mcp.taken",
	mcp.NeitherNor: "mcp.neither", mcp.UnknownType: "mcp.type", mcp.BadURL: "mcp.url", mcp.NoVariable: "mcp.variable",
	mcp.NotStarted: "mcp.start", mcp.NoAnswer: "mcp.answer", mcp.NotListed: "mcp.list", mcp.TooManyTools: "mcp.many",
	mcp.ToolTwice: "mcp.tool.twice", mcp.ToolName: "mcp.tool.name", mcp.ToolSchema: "mcp.tool.schema", mcp.SchemaSize: "mcp.tool.size",
}

// aborts are the messages of why the goal guard ends a workflow.
var aborts = map[flower.AbortCause]string{
	flower.RoundsUsed: "abort.rounds", flower.StandingStill: "abort.still", flower.GoalUnreachable: "abort.unreachable",
	flower.DisagreedTooLate: "abort.disagreed", flower.GoalChangedTooLate: "abort.changed",
}

// endpointTypes and endpointStatuses are the messages of what an endpoint can say, by the API's error type and by HTTP
// status.
var (
	endpointTypes = map[string]string{
		"authentication_error": "endpoint.key", "billing_error": "endpoint.billing", "permission_error": "endpoint.denied",
		"not_found_error": "endpoint.notfound", "request_too_large": "endpoint.large", "rate_limit_error": "endpoint.rate",
		"overloaded_error": "endpoint.overloaded", "timeout_error": "endpoint.slow", "api_error": "endpoint.server",
		"invalid_request_error": "endpoint.invalid",
	}
	endpointStatuses = map[int]string{
		http.StatusUnauthorized: "endpoint.key", http.StatusPaymentRequired: "endpoint.billing", http.StatusForbidden: "endpoint.denied",
		http.StatusNotFound: "endpoint.notfound", http.StatusRequestEntityTooLarge: "endpoint.large",
		http.StatusTooManyRequests: "endpoint.rate", http.StatusRequestTimeout: "endpoint.slow", http.StatusGatewayTimeout: "endpoint.slow",
		http.StatusServiceUnavailable: "endpoint.overloaded", statusOverloaded: "endpoint.overloaded",
	}
)

// statusOverloaded is the API's own.
const statusOverloaded = 529

// known explains an error by itself, not by what it wraps; false if it is none that has a message.
func (x explainer) known(err error) (explanation, bool) {
	for _, s := range sentinels {
		if any(err) == any(s.err) {
			return explanation{words: x.Say(s.id)}, true
		}
	}
	for _, by := range []func(error) (explanation, bool){x.own, x.settings, x.endpoint, x.work, x.system} {
		if e, ok := by(err); ok {
			return e, true
		}
	}
	return explanation{}, false
}

// own explains the errors of the command line.
func (x explainer) own(err error) (explanation, bool) {
	is := func(id string, data ...text.Data) (explanation, bool) {
		return explanation{words: x.Say(id, data...)}, true
	}
	switch e := any(err).(type) {
	case spoken:
		return explanation{words: string(e)}, true
	case *aboutError:
		return explanation{words: e.what, details: []string{x.explain(e.err)}}, true
	case *budgetError:
		return explanation{words: outOfMoney(x.Printer, e)}, true
	case *text.UnknownLangError:
		return is("error.lang", text.Data{"Lang": strconv.Quote(e.Lang), "All": langs()})
	case *pflag.NotExistError:
		return is("wrongflag.unknown", text.Data{"Flag": dashed(e.GetSpecifiedName(), e.GetSpecifiedShortnames())})
	case *pflag.ValueRequiredError:
		return is("wrongflag.novalue", text.Data{"Flag": dashed(e.GetSpecifiedName(), e.GetSpecifiedShortnames())})
	case *pflag.InvalidSyntaxError:
		return is("wrongflag.syntax", text.Data{"Flag": e.GetSpecifiedFlag()})
	case *pflag.InvalidValueError:
		data := text.Data{"Flag": "--" + e.GetFlag().Name, "Value": strconv.Quote(e.GetValue())}
		if id := valueTypes[e.GetFlag().Value.Type()]; id != "" {
			return is("wrongflag.value", data, text.Data{"Why": x.Say(id)})
		}
		return is("wrongflag.value", data, text.Data{"Why": x.explain(errors.Unwrap(e))})
	}
	return explanation{}, false
}

// valueTypes are the messages of what a flag's value must be, by the type's name.
var valueTypes = map[string]string{"int": "value.int", "float64": "value.float", "bool": "value.bool", patienceType: "value.patience"}

// dashed is a flag as it was typed.
func dashed(name, shorthands string) string {
	if shorthands != "" {
		return "-" + name
	}
	return "--" + name
}

// settings explains what is wrong with settings, prices and servers.
func (x explainer) settings(err error) (explanation, bool) {
	switch e := any(err).(type) {
	case *config.EndpointError:
		return explanation{words: x.elsewhere(e)}, true
	case *config.ValueError:
		words := x.Say(faults[e.Why])
		if e.Source != "" {
			words = x.Say("error.value", text.Data{"Name": e.Name, "Source": x.source(e.Source), "Why": words})
		}
		return explanation{words: words}, true
	case *config.FileError:
		words := x.at(tilde(e.Path, x.home), e.Line, x.Say(faults[e.Why]))
		var price *messages.PriceError
		if errors.As(e.Err, &price) {
			return explanation{words: x.at(tilde(e.Path, x.home), e.Line, x.price(price))}, true
		}
		return explanation{words: words}, true
	case *messages.PriceError:
		return explanation{words: x.price(e)}, true
	case *mcp.Error:
		words := x.Say(serverFaults[e.Why], text.Data{"Detail": oneLine(e.Detail)})
		switch {
		case e.Tool != "":
			words = x.Say("mcp.tool", text.Data{"Server": e.Server, "Tool": oneLine(e.Tool), "Why": words})
		case e.Server != "":
			words = x.Say("mcp.server", text.Data{"Server": e.Server, "Why": words})
		}
		out := explanation{words: words}
		if e.Err != nil {
			out.details = []string{x.explain(e.Err)}
		}
		return out, true
	}
	return explanation{}, false
}

// at is what is wrong at a line of a file; 0 is none in particular.
func (x explainer) at(path string, line int, why string) string {
	if line > 0 {
		return x.Say("error.line", text.Data{"Path": path, "Line": line, "Why": why})
	}
	return x.Say("error.path", text.Data{"Path": path, "Why": why})
}

func (x explainer) price(e *messages.PriceError) string {
	words := x.Say(priceFaults[e.Why], text.Data{"Key": oneLine(e.Key), "Detail": oneLine(e.Detail)})
	if e.Model != "" {
		words = x.Say("error.path", text.Data{"Path": strconv.Quote(oneLine(e.Model)), "Why": words})
	}
	return words
}

// source is where a setting came from.
func (x explainer) source(name string) string {
	switch name {
	case config.SourceEnvironment:
		return x.Say("source.environment")
	case config.SourceDefault:
		return x.Say("source.default")
	}
	return tilde(name, x.home)
}

// elsewhere says why an endpoint that the directory names is not used.
func (x explainer) elsewhere(e *config.EndpointError) string {
	data := text.Data{"Path": tilde(e.File, x.home), "URL": e.BaseURL}
	if e.Credential == "" {
		return x.Say("config.keyless", data)
	}
	return x.Say("config.elsewhere", data, text.Data{"Source": x.source(e.Credential)})
}

// endpoint explains requests that failed.
func (x explainer) endpoint(err error) (explanation, bool) {
	switch e := any(err).(type) {
	case *agent.TooLargeError:
		return explanation{words: x.Say("endpoint.prompt", text.Data{"Bytes": text.Bytes(int64(e.Bytes)), "Max": text.Bytes(int64(e.Max))})}, true
	case *agent.ModelError:
		var large *agent.TooLargeError
		if errors.As(e.Err, &large) {
			return x.endpoint(large)
		}
		return explanation{words: x.Say(endpointReason(e)), details: []string{technical(e)}}, true
	case *agent.OutageError:
		id := map[agent.Outage]string{agent.Busy: "gone.busy", agent.Portal: "gone.portal"}[e.Outage]
		if id == "" {
			id = "gone.offline"
		}
		data := text.Data{"Time": text.Elapsed(e.Waited)}
		if !e.Until.IsZero() {
			id, data["Until"] = "gone.until", e.Until.Format("2006-01-02 15:04")
		}
		return explanation{words: x.Say(id, data), details: []string{technical(e.Err)}}, true
	case *agent.RefusalError:
		out := explanation{words: x.Say("error.refusal")}
		if e.Details != "" {
			out.details = []string{oneLine(e.Details)}
		}
		return out, true
	}
	return explanation{}, false
}

// endpointReason is the message of why a request failed. The status decides, as in messages.Classify; without an answer
// it is the cause.
func endpointReason(e *agent.ModelError) string {
	id := endpointTypes[e.Type]
	if e.Status >= http.StatusMultipleChoices {
		id = endpointStatuses[e.Status]
	}
	var dns *net.DNSError
	switch {
	case e.Kind == agent.Overflow:
		return "endpoint.overflow"
	case e.Kind == agent.Fatal && e.Status == http.StatusTooManyRequests, e.Kind == agent.Fatal && id == "endpoint.rate":
		return "endpoint.spent"
	case e.Outage == agent.Portal:
		return "endpoint.portal"
	case errors.Is(e.Err, messages.ErrStalled):
		return "endpoint.stalled"
	case errors.Is(e.Err, messages.ErrAsleep):
		return "endpoint.asleep"
	case id != "":
		return id
	case e.Status/100 == 4:
		return "endpoint.invalid"
	case e.Status/100 == 5:
		return "endpoint.server"
	case e.Status != 0:
		return "endpoint.broken"
	case errors.As(e.Err, &dns) && dns.IsNotFound:
		return "endpoint.name"
	case errors.Is(e.Err, unix.ECONNREFUSED):
		return "endpoint.nobody"
	}
	return "endpoint.unreached"
}

// technical is what the endpoint or the network said of a failure, without our own words.
func technical(err error) string {
	var e *agent.ModelError
	if !errors.As(err, &e) {
		return oneLine(err.Error())
	}
	said := e.Type
	if e.Status >= http.StatusMultipleChoices {
		said = strings.TrimSpace(strconv.Itoa(e.Status) + " " + said)
	}
	if said == "" || e.Message == "" {
		return oneLine(said + e.Message)
	}
	return oneLine(said + ": " + e.Message)
}

// work explains why a step, an agent or a whole run ended.
func (x explainer) work(err error) (explanation, bool) {
	is := func(id string, data ...text.Data) (explanation, bool) {
		return explanation{words: x.Say(id, data...)}, true
	}
	switch e := any(err).(type) {
	case *flower.InUse:
		return explanation{words: inUse(x.Printer, e)}, true
	case *flower.StepError:
		return is("step.failed", text.Data{"Step": stepName(x.Printer, e.Step), "Reason": x.explain(e.Err)})
	case *flower.Abort:
		return x.abort(e), true
	case *flower.RejectedError:
		if e.Missing != "" {
			return is("error.rejected.lacks", text.Data{"Missing": e.Missing})
		}
		return explanation{words: x.Say("error.rejected"), details: []string{oneLine(e.Reason)}}, true
	case *flower.JudgeError:
		return is("error.judge", text.Data{"Err": x.explain(e.Err)})
	case *flower.FullError:
		return x.tree(e.Err)
	case *flower.WindowError:
		return is("error.window", text.Data{"Window": text.Tokens(e.Window), "Source": e.Source, "Agent": agentName(x.Printer, e.Agent), "Floor": text.Tokens(e.Floor)})
	case *flower.HandoffError:
		if e.Degraded {
			return is("error.handoff.degraded", text.Data{"Path": e.Path})
		}
		return is("error.handoff", text.Data{"Path": e.Path, "N": e.Generations})
	case *agent.LimitError:
		if e.Turns > 0 {
			return is("error.turns", text.Data{"N": e.Turns})
		}
		return is("error.money", text.Data{"Limit": plainDollars(e.CostUSD), "Spent": text.Dollars(e.SpentUSD, false)})
	case *tools.CheckError:
		switch {
		case e.Err != nil:
			return is("problem.start", text.Data{"Err": x.explain(e.Err)})
		case e.Signal != "":
			return is("problem.signal", text.Data{"Signal": e.Signal})
		}
		return is("problem.stopped", text.Data{"Time": text.Elapsed(e.After)})
	case *shell.UnfitError:
		return is("unfit."+string(e.Harm), text.Data{"Word": e.Word})
	case *agent.StuckError:
		return is("error.stuck", text.Data{"Tool": e.Tool, "N": e.Times})
	case *agent.CutOffError:
		return is("error.cutoff", text.Data{"N": e.Times, "Stop": e.Stop})
	case *agent.StoreError:
		return is("error.unstored", text.Data{"Err": x.explain(e.Err)})
	}
	return explanation{}, false
}

// abort says why a workflow was ended. What a judge said is a model's text, in the language it was asked in.
func (x explainer) abort(e *flower.Abort) explanation {
	id := aborts[e.Cause]
	switch {
	case id == "":
		return explanation{words: oneLine(e.Reason)}
	case e.Unclear:
		return explanation{words: x.Say(id, text.Data{"N": e.Rounds}), details: []string{x.Say("abort.unclear")}}
	case e.Judge != "":
		return explanation{words: x.Say(id, text.Data{"N": e.Rounds}), details: []string{oneLine(e.Judge)}}
	}
	return explanation{words: x.Say(id, text.Data{"N": e.Rounds})}
}

// system explains what the operating system says. Its own name for it stands behind, which is what people search for.
func (x explainer) system(err error) (explanation, bool) {
	path := func(path string, inner error) (explanation, bool) {
		return explanation{words: x.Say("error.path", text.Data{"Path": tilde(path, x.home), "Why": x.explain(inner)})}, true
	}
	switch e := any(err).(type) {
	case *fs.PathError:
		return path(e.Path, e.Err)
	case *os.LinkError:
		return path(e.New, e.Err)
	case *exec.Error:
		return path(e.Name, e.Err)
	case *disk.NotRegularError:
		return explanation{words: x.Say("error.path", text.Data{"Path": tilde(e.Path, x.home), "Why": x.Say("error.irregular")})}, true
	case *disk.TooLargeError:
		return explanation{words: x.Say("error.large", text.Data{
			"Path": tilde(e.Path, x.home), "Size": text.Bytes(e.Size), "Max": text.Bytes(e.Max),
		})}, true
	case *json.SyntaxError:
		return explanation{words: x.Say("mcp.json"), details: []string{oneLine(e.Error())}}, true
	case syscall.Errno:
		if id := errnos[e]; id != "" {
			return explanation{words: x.Say(id) + " (" + unix.ErrnoName(e) + ")"}, true
		}
	}
	return explanation{}, false
}
