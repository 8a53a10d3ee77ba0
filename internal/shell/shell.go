// Package shell says what a bash command line does, from its syntax tree.
//
// # Terms
//
// A line is ephemeral when it only reads, when its result is stale by tomorrow,
// and when it is safe for a coordinator to run itself. One predicate decides both
// "may it run" and "does its result expire".
//
// # Trust model
//
// The line comes from a language model and is hostile until shown otherwise. The
// judgement is an allow-list at every level: node of the syntax tree, program,
// sub-command, flag, operand, sed command, awk token. Whatever is not on a list is
// refused, so an unknown flag or a new node type costs usefulness and never safety.
// A flag counts only in its full spelling: an abbreviation that is unambiguous for
// one version of a program may name something else in the next.
//
// Taken for granted, because a line cannot show it:
//   - bash runs the line, non-interactive, without functions, aliases or shell
//     options from outside, stdin closed, in a UTF-8 or the C locale;
//   - PATH leads to the usual programs and names no directory of the workspace;
//   - the environment sets nothing that makes a reader start programs
//     (LD_PRELOAD, RIPGREP_CONFIG_PATH, GREP_OPTIONS and their kind);
//   - git gets the entries of [GitEnv] and the line is passed through [Harden],
//     because a repository's own configuration names programs that readers start, in
//     every directory of [Dirs];
//   - CDPATH is not set;
//   - a deadline ends a line that reads a pipe or a huge tree.
//
// Reading is not restricted: which files may be seen is another guard's business.
// Everything here is pure and safe for concurrent use.
package shell

import (
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// maxLine is the longest line that is judged, in bytes. Lines people and models
// write are far shorter; the bound keeps the parser's recursion small.
const maxLine = 16 << 10

// Ephemeral reports whether the bash line command only reads, is stale by
// tomorrow and may be run by the coordinator. It fails closed and never panics.
func Ephemeral(command string) bool {
	ok, _ := Explain(command)
	return ok
}

// Explain is Ephemeral with the reason for a refusal: one line of plain English,
// empty when ok. The line's own words in it are quoted, so it holds no control
// characters.
func Explain(command string) (ok bool, why string) {
	if _, reason := judge(command); reason != "" {
		return false, reason
	}
	return true, ""
}

// parsers are kept because a history may hold thousands of lines, and a new parser costs more than reading one.
var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

// judge parses and judges command. It returns the tree of an accepted line, or the
// reason for the refusal.
func judge(command string) (file *syntax.File, reason string) {
	defer func() {
		if r := recover(); r != nil {
			file, reason = nil, "the line could not be understood"
		}
	}()
	if reason := scanSource(command); reason != "" {
		return nil, reason
	}
	parser := parsers.Get().(*syntax.Parser)
	file, err := parser.Parse(strings.NewReader(command), "")
	parsers.Put(parser) // not reached after a panic, which may leave it in any state
	if err != nil {
		return nil, "the line is not valid bash"
	}
	if len(file.Stmts) == 0 {
		return nil, "there is nothing to run"
	}
	if reason := judgeStmts(file.Stmts); reason != "" {
		return nil, reason
	}
	return file, onlyMoves(file)
}

// scanSource refuses text on which bash and the parser could disagree, before it
// reaches the parser.
func scanSource(command string) string {
	if len(command) > maxLine {
		return fmt.Sprintf("the line is longer than %d bytes", maxLine)
	}
	if !utf8.ValidString(command) {
		return "the line is not valid UTF-8"
	}
	for _, r := range command {
		// CR among them: the parser takes it for a blank, bash for a letter.
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return fmt.Sprintf("the line holds the control character %U", r)
		}
	}
	// A comment ends with its line. The parser lets a backslash carry it on, and
	// would take the next command for arguments of this one.
	for line := range strings.SplitSeq(command, "\n") {
		if strings.Contains(line, "#") && strings.HasSuffix(line, `\`) {
			return "a line with a # in it ends with a backslash"
		}
	}
	// A backslash before the end of the line joins nothing; what it means there
	// differs between shells.
	if strings.HasSuffix(command, `\`) {
		return "the line ends with a backslash"
	}
	return ""
}

func judgeStmts(stmts []*syntax.Stmt) string {
	for _, s := range stmts {
		if reason := judgeStmt(s); reason != "" {
			return reason
		}
	}
	return ""
}

func judgeStmt(s *syntax.Stmt) string {
	if s.Background || s.Coprocess || s.Disown {
		return "commands in the background are not read-only"
	}
	for _, r := range s.Redirs {
		if reason := judgeRedirect(r); reason != "" {
			return reason
		}
	}
	switch c := s.Cmd.(type) {
	case nil:
		return "there is a redirection without a command"
	case *syntax.CallExpr:
		return judgeCall(c)
	case *syntax.BinaryCmd:
		switch c.Op {
		case syntax.AndStmt, syntax.OrStmt, syntax.Pipe, syntax.PipeAll:
			return judgeStmts([]*syntax.Stmt{c.X, c.Y})
		}
		return "an unknown operator joins the commands"
	case *syntax.Subshell:
		return judgeStmts(c.Stmts)
	case *syntax.Block:
		return judgeStmts(c.Stmts)
	}
	return fmt.Sprintf("%s is not a plain command", construct(s.Cmd))
}

// construct names a compound command for people.
func construct(c syntax.Command) string {
	switch c.(type) {
	case *syntax.IfClause:
		return "if"
	case *syntax.WhileClause, *syntax.ForClause:
		return "a loop"
	case *syntax.CaseClause:
		return "case"
	case *syntax.FuncDecl:
		return "a function"
	case *syntax.ArithmCmd, *syntax.LetClause:
		return "arithmetic"
	case *syntax.TestClause:
		return "a test"
	case *syntax.DeclClause:
		return "a declaration"
	case *syntax.TimeClause:
		return "time"
	case *syntax.CoprocClause:
		return "a coprocess"
	}
	return "this construct"
}

// judgeRedirect accepts what reaches /dev/null or another descriptor, and input
// from a file that ends.
func judgeRedirect(r *syntax.Redirect) string {
	if r.N != nil && !isDigits(r.N.Value) {
		return "a redirection to a named descriptor opens a file"
	}
	w, reason := evalWord(r.Word)
	if reason != "" {
		return reason
	}
	if w.glob || w.dyn {
		return "the target of a redirection is not a plain word"
	}
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
		if w.text != "/dev/null" {
			return fmt.Sprintf("a redirection writes to %q", w.text)
		}
		return ""
	case syntax.DplOut:
		// With anything but a number after it, >& is an older spelling of &>.
		if isDigits(w.text) || w.text == "-" || r.N == nil && w.text == "/dev/null" {
			return ""
		}
		return fmt.Sprintf("a redirection writes to %q", w.text)
	case syntax.RdrIn:
		return endless(w)
	default:
		return fmt.Sprintf("the redirection %s is not on the list", r.Op)
	}
}

// judgeCall judges one simple command.
func judgeCall(c *syntax.CallExpr) string {
	if len(c.Args) == 0 {
		if len(c.Assigns) > 0 {
			return "an assignment changes how the next command works"
		}
		return "there is nothing to run"
	}
	if reason := judgeAssigns(c.Assigns); reason != "" {
		return reason
	}
	args, reason := evalArguments(c)
	if reason != "" {
		return reason
	}
	name := args[0]
	if name.glob || name.dyn {
		return "the name of the command is not a plain word"
	}
	p, ok := programs[name.text]
	if !ok {
		return fmt.Sprintf("%s is not on the list of read-only programs", clip(name.text))
	}
	if p.whole == nil && !p.none && len(args) == 2 && (args[1].text == "--version" || args[1].text == "--help") {
		return ""
	}
	reason = wideFormat(name.text, args[1:])
	if reason == "" {
		reason = p.judge(args[1:])
	}
	if reason != "" {
		return name.text + ": " + reason
	}
	return ""
}

// clip quotes a word of the line for a reason and keeps it short.
func clip(s string) string {
	const most = 40 // runes; enough to recognise the word
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
