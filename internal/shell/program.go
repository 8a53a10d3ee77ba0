package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Program is the name of the program that a bash line starts first, "" if the line is no valid bash or its first command
// is none that the line names in so many words.
func Program(line string) string {
	if len(line) > maxLine {
		return ""
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil || len(file.Stmts) == 0 {
		return ""
	}
	return firstProgram(file.Stmts[0].Cmd)
}

func firstProgram(cmd syntax.Command) string {
	switch cmd := cmd.(type) {
	case *syntax.CallExpr:
		if len(cmd.Args) == 0 {
			return ""
		}
		w, reason := evalWord(cmd.Args[0])
		if reason != "" || w.dyn || w.glob && w.text != "[" {
			return ""
		}
		return w.text
	case *syntax.BinaryCmd:
		return firstProgram(cmd.X.Cmd)
	case *syntax.TestClause:
		return "[["
	case *syntax.ArithmCmd:
		return "(("
	case *syntax.IfClause:
		return firstOf(cmd.Cond)
	case *syntax.WhileClause:
		return firstOf(cmd.Cond)
	case *syntax.ForClause:
		return firstOf(cmd.Do)
	case *syntax.CaseClause:
		if len(cmd.Items) > 0 {
			return firstOf(cmd.Items[0].Stmts)
		}
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			return firstProgram(cmd.Stmt.Cmd)
		}
	case *syntax.Subshell:
		return firstOf(cmd.Stmts)
	case *syntax.Block:
		return firstOf(cmd.Stmts)
	}
	return ""
}

func firstOf(stmts []*syntax.Stmt) string {
	if len(stmts) == 0 {
		return ""
	}
	return firstProgram(stmts[0].Cmd)
}
