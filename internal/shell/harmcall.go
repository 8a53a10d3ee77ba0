package shell

import (
	"regexp"
	"strings"
)

// call judges one simple command: its program, the one it starts, and so on.
func (j *fitness) call(words []word, depth int) *UnfitError {
	if j.calls++; depth > maxNested || j.calls > maxCalls {
		return &UnfitError{Hidden, words[0].text}
	}
	first := words[0]
	if first.dyn || first.glob || first.text == "" {
		return &UnfitError{Hidden, "$…"}
	}
	name := first.text[strings.LastIndexByte(first.text, '/')+1:]
	bare := !strings.Contains(first.text, "/") || strings.HasPrefix(first.text, "/")
	name = strings.TrimPrefix(name, "\\")
	args := words[1:]
	if !bare && !shells[name] && interpreters[name] == "" && harmful[name] == "" {
		return targets(name, args) // a program of the project
	}
	if h, ok := harmful[name]; ok {
		return &UnfitError{h, name}
	}
	if strings.HasPrefix(name, "mkfs.") {
		return &UnfitError{Deletes, name}
	}
	if version(args) {
		return nil
	}
	switch {
	case name == "command" && len(args) > 0 && (args[0].text == "-v" || args[0].text == "-V"):
		return nil
	case shells[name]:
		return j.shell(name, args, depth)
	case name == "python" || strings.HasPrefix(name, "python3") || interpreters[name] != "":
		return j.interpreter(name, args, depth)
	}
	if skip, ok := starters[name]; ok {
		return j.started(name, args, skip, depth)
	}
	if subs := subStarters[name]; subs != nil {
		for i, a := range args {
			if subs[a.text] && !a.dyn {
				return j.started(name, args[i+1:], 0, depth)
			}
		}
	}
	return looks(name, args)
}

// version reports whether a program is only asked who it is.
func version(args []word) bool {
	return len(args) == 1 && set("--version --help -V version")[args[0].text] && !args[0].dyn
}

// looks judges a program that starts no other by its arguments.
func looks(name string, args []word) *UnfitError {
	if h, ok := judged[name]; ok {
		p := programs[name]
		if name == "podman" {
			p = programs["docker"]
		}
		for _, a := range args {
			if a.dyn && (a.text == "" || h == Deletes) || strings.HasPrefix(a.text, "-") && a.dyn {
				return &UnfitError{Hidden, name}
			}
		}
		if p.judge(args) != "" {
			return &UnfitError{h, name}
		}
		return nil
	}
	switch name {
	case "curl", "wget":
		return fetching(name, args)
	case ".", "source":
		if len(args) == 0 || args[0].dyn || args[0].glob || strings.HasPrefix(args[0].text, "/dev/") || strings.HasPrefix(args[0].text, "/proc/") {
			return &UnfitError{Hidden, name}
		}
		return nil
	case "tee":
		for _, a := range args {
			if !streams[a.text] && !strings.HasPrefix(a.text, "-") || a.dyn {
				return &UnfitError{Writes, a.text}
			}
		}
		return nil
	}
	if databases[name] {
		return asking(name, args)
	}
	if e := flagged(name, args); e != nil {
		return e
	}
	return targets(name, args)
}

// asking judges a client of a database: a question must stand on the line, and nothing that changes.
func asking(name string, args []word) *UnfitError {
	asks := false
	for _, a := range args {
		switch {
		case changingSQL.MatchString(a.text):
			return &UnfitError{Deletes, name}
		case a.dyn && a.text == "" || set("-f --file -init --init-command --eval")[a.text]:
			return &UnfitError{Hidden, name}
		}
		asks = asks || question.MatchString(a.text)
	}
	if !asks {
		return &UnfitError{Hidden, name} // it comes on its input
	}
	return nil
}

// fetching judges curl and wget.
func fetching(name string, args []word) *UnfitError {
	p := curlLooks
	if name == "wget" {
		p = wgetLooks
	}
	for _, a := range args {
		if a.dyn && (a.text == "" || a.text[0] == '-') {
			return &UnfitError{Hidden, name}
		}
	}
	c, reason := p.split(args)
	if reason != "" || p.check(c) != "" || name == "wget" && !c.has("O", "output-document", "spider") || c.has("output-document") && name == "curl" {
		return &UnfitError{Sends, name}
	}
	return nil
}

// flagged looks for the flags that make a program write.
func flagged(name string, args []word) *UnfitError {
	own, all := set(writingFlags[name]), set(writingFlags[""])
	for _, a := range args {
		if a.text == "--" {
			break
		}
		flag, _, _ := strings.Cut(a.text, "=")
		if own[flag] || all[flag] {
			return &UnfitError{Deletes, name}
		}
		if len(flag) > 2 && flag[0] == '-' && flag[1] != '-' { // a cluster of letters
			for f := range own {
				if len(f) == 2 && strings.Contains(flag[1:], f[1:]) {
					return &UnfitError{Deletes, name}
				}
			}
		}
	}
	if wanted, ok := unlessFlags[name]; ok {
		flags := set(wanted)
		for _, a := range args {
			if flags[a.text] && !a.dyn {
				return nil
			}
		}
		return &UnfitError{Deletes, name}
	}
	return nil
}

// targets looks for sub-commands and targets that a check must not name.
func targets(name string, args []word) *UnfitError {
	if h, word := named(name, args); word != "" {
		return &UnfitError{h, name + " " + word}
	}
	sub := func(i int) string {
		if i < len(args) {
			return args[i].text
		}
		return ""
	}
	switch name + " " + sub(0) {
	case "go mod", "go work":
		if m := sub(1); m != "verify" && m != "graph" && m != "why" && (m != "tidy" || sub(2) != "-diff") {
			return &UnfitError{Deletes, name + " " + sub(0)}
		}
	case "go env":
		if strings.HasPrefix(sub(1), "-w") || strings.HasPrefix(sub(1), "-u") {
			return &UnfitError{System, "go env -w"}
		}
	case "cargo fmt", "terraform fmt", "ruff format":
		for _, a := range args {
			if set("--check -check --diff")[a.text] {
				return nil
			}
		}
		return &UnfitError{Deletes, name + " " + sub(0)}
	}
	return nil
}

// named is the first of the sub-commands and targets that do harm. Of a build tool every word is a target; of others the
// first word counts, and of those that run scripts the name of the script too. What stands after a flag may be its value
// or not, and is looked at besides.
func named(name string, args []word) (Harm, string) {
	table := subHarms[name]
	left := 1
	if buildTools[name] {
		left = len(args)
	}
	afterFlag := false
	for _, a := range args {
		if a.text == "--" {
			break
		}
		if strings.HasPrefix(a.text, "-") || strings.HasPrefix(a.text, "+") {
			afterFlag = true
			continue
		}
		if h, ok := table[a.text]; ok {
			return h, a.text
		}
		if scriptRunners[name] {
			left += map[string]int{"run": 1, "run-script": 1, "workspaces": 1, "workspace": 2}[a.text]
		}
		if !afterFlag {
			left--
		}
		if left == 0 {
			break
		}
		afterFlag = false
	}
	return "", ""
}

// shell judges a shell: a line on it as a line, a script of the project as a program of the project.
func (j *fitness) shell(name string, args []word, depth int) *UnfitError {
	if len(args) == 2 && args[0].text == "-n" && !strings.HasPrefix(args[1].text, "+") && !strings.HasPrefix(args[1].text, "-") &&
		args[1].text != "" {
		return nil // it only reads the script
	}
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a.dyn && a.text == "" || a.glob:
			return &UnfitError{Hidden, name}
		case a.text == "-o" || a.text == "+o" || a.text == "-O":
			i++
		case strings.HasPrefix(a.text, "--") || a.text == "-":
			if !set("--norc --noprofile --posix --login --")[a.text] {
				return &UnfitError{Hidden, name}
			}
		case strings.HasPrefix(a.text, "-") || strings.HasPrefix(a.text, "+"):
			switch {
			case strings.Contains(a.text, "c"):
				return j.code(name, args[i+1:], depth)
			case strings.ContainsAny(a.text, "si"):
				return &UnfitError{Hidden, name}
			case strings.HasSuffix(a.text, "o"):
				i++
			}
		default:
			if strings.HasPrefix(a.text, "/dev/") || strings.HasPrefix(a.text, "/proc/") || a.dyn {
				return &UnfitError{Hidden, name}
			}
			return nil // a script
		}
	}
	return &UnfitError{Hidden, name} // what it runs comes on its input
}

// code judges the line that a shell is given.
func (j *fitness) code(name string, args []word, depth int) *UnfitError {
	for len(args) > 0 && (args[0].text == "--" || strings.HasPrefix(args[0].text, "-") && !args[0].dyn) {
		if args[0].text == "-o" {
			args = args[1:]
		}
		if len(args) > 0 {
			args = args[1:]
		}
	}
	if len(args) == 0 || args[0].dyn || args[0].glob || name == "fish" {
		return &UnfitError{Hidden, name}
	}
	return j.line(args[0].text, depth+1)
}

// interpreter judges a program that runs code: code on the line by what it names, code on the input not at all.
func (j *fitness) interpreter(name string, args []word, depth int) *UnfitError {
	letters := interpreters[name]
	if letters == "" && name != "deno" && name != "tclsh" {
		letters = "c"
	}
	if e := flagged(name, clusters(args)); e != nil {
		return e
	}
	for i, a := range args {
		switch {
		case a.text == "-m" && i+1 < len(args) && strings.HasPrefix(name, "py"):
			return j.call(args[i+1:], depth+1) // a module is a program of that name
		case name == "node" && (a.text == "--eval" || a.text == "--print"),
			len(a.text) > 1 && a.text[0] == '-' && a.text[1] != '-' && strings.ContainsAny(a.text[1:], letters):
			for _, code := range args[i:] {
				if code.dyn || destructive.MatchString(code.text) || strings.Contains(code.text, "`") {
					return &UnfitError{Hidden, name}
				}
			}
			return nil
		case a.text == "-" || a.dyn && a.text == "" || strings.HasPrefix(a.text, "/dev/"):
			return &UnfitError{Hidden, name}
		case !strings.HasPrefix(a.text, "-"):
			return nil // a script of the project, or a sub-command
		}
	}
	if len(args) == 0 {
		return &UnfitError{Hidden, name} // what it runs comes on its input
	}
	return nil
}

// clusters are the flags before the first operand.
func clusters(args []word) []word {
	for i, a := range args {
		if !strings.HasPrefix(a.text, "-") {
			return args[:i]
		}
	}
	return args
}

// valueLike are words that may stand between a program and the one it starts.
var valueLike = regexp.MustCompile(`^([0-9.]+[smhd]?|0x[0-9a-f]+|[A-Za-z_][A-Za-z0-9_]*\+?=.*)$`)

// started judges what a program starts. Where a word may be the value of a flag as well, it is judged as a program and
// the next one too, so the doubt goes against the line.
func (j *fitness) started(name string, args []word, skip, depth int) *UnfitError {
	afterFlag := false
	for i, a := range args {
		switch {
		case a.text == "-S" || strings.HasPrefix(a.text, "--split-string") || name == "npx" && (a.text == "-c" || a.text == "--call"):
			return &UnfitError{Hidden, name}
		case strings.HasPrefix(a.text, "-") && a.text != "-":
			if name == "env" && strings.Contains(a.text[1:], "S") && a.text[1] != '-' {
				return &UnfitError{Hidden, name}
			}
			afterFlag = a.text != "--"
			continue
		case valueLike.MatchString(a.text):
			if n, _, ok := strings.Cut(a.text, "="); ok && steering.MatchString(n) {
				return &UnfitError{Hidden, n + "="}
			}
			if skip > 0 && !afterFlag {
				skip--
			}
			afterFlag = false
			continue
		case skip > 0 && !afterFlag:
			skip--
			continue
		}
		if e := j.call(args[i:], depth+1); e != nil {
			return e
		}
		if !afterFlag {
			return nil
		}
		afterFlag = false
	}
	return nil
}
