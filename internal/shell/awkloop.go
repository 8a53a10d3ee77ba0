package shell

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// awkProgram is the tokens of a program that was scanned, without blanks and comments, and what is assigned from outside.
type awkProgram struct {
	tokens []string
	given  []string // NAME=value of flags and operands
	loops  []awkLoop
}

// awkLoop is one for. The tokens [test, body) are its head behind the first semicolon, [body, end) what it repeats.
type awkLoop struct {
	test, body, end int
	name            string   // the variable that counts, or takes the keys
	array           string   // whose keys are taken; empty for one that counts
	bound           []string // what name is compared with
}

var (
	// awkStar is a conversion whose width is an argument.
	awkStar = regexp.MustCompile(`%[-+ #0']*(\*|[0-9]*\.\*)`)
	// awkOpen is the begin of a conversion, without its letter, at the end of a text.
	awkOpen = regexp.MustCompile(`^"(?:[^%]|%[-+ #0-9.]*[%a-zA-Z])*%[-+ #0-9.']*"$`)
)

// awkEnds returns the reason for refusing a program that goes round without end or without bound, or "".
func awkEnds(tokens, given []string) string {
	p := &awkProgram{tokens: tokens, given: given}
	formats := slices.Contains(tokens, "printf") || slices.Contains(tokens, "sprintf")
	for i, t := range tokens {
		if formats && t[0] == '"' && (awkStar.MatchString(t) || awkOpen.MatchString(t) && i+1 < len(tokens) && !strings.Contains(";,)}]\n", tokens[i+1])) {
			return "the width of a conversion is not on the line"
		}
		if t != "for" {
			continue
		}
		if !p.head(i) {
			return "a loop need not end"
		}
	}
	for _, l := range p.loops {
		if l.array == "" && !p.counted(l) || l.array != "" && !p.keys(l) {
			return "a loop need not end: it changes what it counts"
		}
	}
	if p.rounds() > mostTimes {
		return "the loops go round too often"
	}
	if p.grows() {
		return "a text of the program may be doubled again and again"
	}
	return ""
}

func (p *awkProgram) at(i int) string {
	if i < 0 || i >= len(p.tokens) {
		return ""
	}
	return p.tokens[i]
}

// match returns the index of the bracket that closes the one at i, or of the end.
func (p *awkProgram) match(i int) int {
	depth := 0
	for ; i < len(p.tokens); i++ {
		switch p.tokens[i] {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return i
}

// head reads the head of the loop at i.
func (p *awkProgram) head(i int) bool {
	if p.at(i+1) != "(" {
		return false
	}
	closing := p.match(i + 1)
	l := awkLoop{test: closing, body: closing + 1, end: p.statement(closing + 1)}
	var parts [][]string
	start := i + 2
	for k := start; k <= closing && k < len(p.tokens); k++ {
		if p.tokens[k] == ";" || k == closing {
			if parts = append(parts, p.tokens[start:k]); len(parts) == 1 && k != closing {
				l.test = k + 1
			}
			start = k + 1
		}
	}
	switch {
	case len(parts) == 1 && len(parts[0]) == 3 && parts[0][1] == "in":
		l.name, l.array = parts[0][0], parts[0][2]
	case len(parts) != 3 || !p.counts(&l, parts[0], parts[1], parts[2]):
		return false
	}
	p.loops = append(p.loops, l)
	return true
}

// counts reports whether step moves a variable, which begins at a small number, to where test fails.
func (p *awkProgram) counts(l *awkLoop, begin, test, step []string) bool {
	up := slices.Contains(step, "+") || slices.Contains(step, "++")
	sign, compare := "+", "<"
	if !up {
		sign, compare = "-", ">"
	}
	switch {
	case len(step) == 2 && step[1] == sign+sign:
		l.name = step[0]
	case len(step) == 2 && step[0] == sign+sign:
		l.name = step[1]
	case len(step) == 4 && step[1] == sign && step[2] == "=" && small(step[3]) && strings.Trim(step[3], "0") != "":
		l.name = step[0]
	default:
		return false
	}
	if len(begin) < 3 || begin[0] != l.name || begin[1] != "=" || !isNameStart(l.name[0]) || strings.ToUpper(l.name) == l.name && len(l.name) > 1 {
		return false
	}
	start := begin[2:]
	if start[0] == "-" {
		start = start[1:]
	}
	if !p.number(start, []string{l.name}) || slices.Contains(test, "||") || slices.Contains(test, "?") {
		return false
	}
	if i := slices.Index(test, "&&"); i >= 0 {
		test = test[:i]
	}
	if len(test) < 3 || test[0] != l.name || test[1] != compare {
		return false
	}
	l.bound = test[2:]
	if l.bound[0] == "=" {
		l.bound = l.bound[1:]
	}
	return p.number(l.bound, []string{l.name})
}

// number reports whether an expression is a number of a size that the program or its input has. busy are the names whose
// own values are being looked at.
func (p *awkProgram) number(e, busy []string) bool {
	if len(e) == 0 {
		return false
	}
	rest := e[1:]
	switch first := e[0]; {
	case first == "length" || first == "split" || first == "index" || first == "int":
		if len(rest) == 0 || rest[0] != "(" {
			if first != "length" {
				return false
			}
			break
		}
		inner := awkProgram{tokens: rest}
		end := inner.match(0)
		if end >= len(rest) || first == "int" && !p.number(rest[1:end], busy) {
			return false
		}
		if first == "length" && end > 3 { // of a name or a field
			return false
		}
		rest = rest[end+1:]
	case small(first), first == "NF", first == "NR", first == "FNR":
	case !isNameStart(first[0]) || awkCalls[first] || !p.numeric(first, busy):
		return false
	}
	for ; len(rest) >= 2; rest = rest[2:] {
		if strings.Trim(rest[1], "0") == "" && rest[0] == "/" {
			return false
		}
		counted := small(rest[1]) || rest[1] == "NF" || isNameStart(rest[1][0]) && !awkCalls[rest[1]] && p.numeric(rest[1], busy)
		if !counted || rest[0] != "+" && rest[0] != "-" && (rest[0] != "/" || !small(rest[1])) {
			return false
		}
	}
	return len(rest) == 0
}

// numeric reports whether the variable name never holds anything but numbers that grow with the input at most.
func (p *awkProgram) numeric(name string, busy []string) bool {
	if name == "NF" || name == "NR" || name == "FNR" {
		return true
	}
	if slices.Contains(busy, name) || strings.ToUpper(name) == name && len(name) > 1 {
		return false // the language's own variables
	}
	for _, g := range p.given {
		if n, value, _ := strings.Cut(g, "="); n == name && !small(value) {
			return false
		}
	}
	busy = append(slices.Clone(busy), name)
	for i, t := range p.tokens {
		if t != name {
			continue
		}
		if p.at(i+1) == "in" && p.at(i-1) == "(" && p.at(i-2) == "for" || p.at(i+1) == "[" || p.written(i) {
			return false
		}
		k := i + 1
		if strings.Contains("+-", p.at(k)) && p.at(k) != "" && p.at(k+1) == "=" {
			k++
		}
		if !p.assigns(k) {
			if strings.Contains("*/%^", p.at(k)) && p.at(k) != "" && strings.Contains("=*", p.at(k+1)) && p.at(k+1) != "" {
				return false
			}
			continue
		}
		e := p.expression(k + 1)
		if k == i+1 && len(e) == 3 && e[0] == name && e[1] == "+" && small(e[2]) {
			continue
		}
		if !p.number(e, busy) {
			return false
		}
	}
	return true
}

// assigns reports whether the token at i is the = of an assignment.
func (p *awkProgram) assigns(i int) bool {
	return p.at(i) == "=" && p.at(i+1) != "=" && !slices.Contains([]string{"=", "!", "<", ">"}, p.at(i-1))
}

// expression returns the tokens from i on to where a statement, an argument or a bracket ends.
func (p *awkProgram) expression(i int) []string {
	for k := i; ; k++ {
		switch p.at(k) {
		case "(", "[", "{":
			k = p.match(k)
		case "", ";", "\n", ",", ")", "]", "}":
			return p.tokens[i:min(k, len(p.tokens))]
		}
	}
}

// statement returns the index behind the statement that begins at i. It may take it for longer than it is.
func (p *awkProgram) statement(i int) int {
	i = p.skip(i)
	switch p.at(i) {
	case "{":
		return min(p.match(i)+1, len(p.tokens))
	case "for", "if":
		end := p.statement(p.match(i+1) + 1)
		if next := p.skip(end); p.at(i) == "if" && p.at(next) == ";" || p.at(next) == "else" {
			end = next
			for p.at(end) == ";" || p.at(end) == "\n" {
				end++
			}
			if p.at(end) == "else" {
				return p.statement(end + 1)
			}
			return next
		}
		return end
	}
	for ; i < len(p.tokens); i++ {
		switch p.tokens[i] {
		case "(", "[", "{":
			i = p.match(i)
		case ";", "}":
			return i
		case "\n":
			if !slices.Contains([]string{",", "&&", "||", "else", "?", ":"}, p.at(i-1)) {
				return i
			}
		}
	}
	return len(p.tokens)
}

func (p *awkProgram) skip(i int) int {
	for p.at(i) == "\n" {
		i++
	}
	return i
}

// written reports whether the name at i is an argument that a function writes to.
func (p *awkProgram) written(i int) bool {
	depth, commas := 0, 0
	for k := i - 1; k >= 0; k-- {
		switch p.tokens[k] {
		case ")", "]", "}":
			depth++
		case ";", "\n", "{":
			return false
		case ",":
			if depth == 0 {
				commas++
			}
		case "(", "[":
			if depth--; depth < 0 {
				switch p.at(k - 1) {
				case "split", "match", "patsplit":
					return commas > 0
				case "sub", "gsub":
					return commas > 1
				case "asort", "asorti":
					return true
				}
				depth, commas = 0, 0
			}
		}
	}
	return false
}

// counted reports whether nothing in a loop that counts changes its variable or what that is compared with.
func (p *awkProgram) counted(l awkLoop) bool {
	fields, whole := false, false
	names := []string{l.name}
	for i, t := range l.bound {
		fields = fields || t == "NF"
		whole = whole || t == "$" || t == "length" && (i+1 == len(l.bound) || l.bound[i+1] != "(")
		names = append(names, t)
	}
	// Behind the last field another one may be made only once.
	last := len(l.bound) == 1 && fields
	for i := l.test; i < l.end; i++ {
		t := p.tokens[i]
		if (t == "sub" || t == "gsub") && (fields || whole) && !p.elsewhere(i, l, last, whole) {
			return false
		}
		if i < l.body && (t == "++" || t == "--" || t == "=" || t == "+" || t == "-") && !p.assignsIn(l, i) {
			continue // the step itself
		}
		for _, target := range p.targets(i) {
			if p.at(target-1) == "$" || p.at(target) == "$" {
				own := last && p.at(target) == l.name || small(p.at(target)) && strings.Trim(p.at(target), "0") != ""
				if whole || fields && !own {
					return false
				}
				continue
			}
			if slices.Contains(names, p.at(target)) {
				return false
			}
		}
		if isNameStart(t[0]) && slices.Contains(names, t) && !awkCalls[t] {
			array := p.at(i+1) == "["
			if array || p.at(i-1) != "$" && p.written(i) || p.at(i+1) == "in" && p.at(i-2) == "for" {
				return false
			}
		}
	}
	return true
}

// assignsIn reports whether the token at i, in the head of l, stands before the step.
func (p *awkProgram) assignsIn(l awkLoop, i int) bool {
	return slices.Contains(p.tokens[i:l.body], ";")
}

// elsewhere reports whether the call of sub or gsub at i, in a loop over fields, changes something else, or the one field
// the loop is at.
func (p *awkProgram) elsewhere(i int, l awkLoop, last, whole bool) bool {
	args := p.arguments(i + 1)
	if len(args) < 3 {
		return false
	}
	t := args[2]
	if t[0] != "$" {
		return true
	}
	return !whole && last && len(t) == 2 && t[1] == l.name
}

// arguments returns the arguments in the bracket at i.
func (p *awkProgram) arguments(i int) [][]string {
	var args [][]string
	for end := p.match(i); i < end; {
		e := p.expression(i + 1)
		args = append(args, e)
		if i += len(e) + 1; len(e) == 0 {
			return nil
		}
	}
	return args
}

// targets returns the indices of the names, or of what names a field, that the operator at i assigns to.
func (p *awkProgram) targets(i int) []int {
	var all []int
	t := p.tokens[i]
	crement := t == "++" || t == "--"
	if !crement && !p.assigns(i) {
		return nil
	}
	k := i - 1
	for !crement && p.at(k) != "" && strings.Contains("+-*/%^", p.at(k)) {
		k--
	}
	switch {
	case k >= 0 && (p.at(k) == "]" || p.at(k) == ")"):
		depth := 0
		for ; k >= 0; k-- {
			switch p.tokens[k] {
			case ")", "]":
				depth++
			case "(", "[":
				depth--
			}
			if depth == 0 {
				break
			}
		}
		all = append(all, k-1)
		if p.at(k) == "(" && p.at(k-1) != "$" { // a variable in brackets
			for ; k < i; k++ {
				all = append(all, k)
			}
		}
	case k >= 0:
		all = append(all, k)
	}
	if crement && (p.at(i+1) == "$" || p.at(i+1) != "" && isNameStart(p.at(i + 1)[0])) {
		all = append(all, i+1)
	}
	return all
}

// keys reports whether a loop over the keys of an array makes no new ones.
func (p *awkProgram) keys(l awkLoop) bool {
	for i := l.body; i < l.end; i++ {
		for _, target := range p.targets(i) {
			if p.at(target) == l.name && p.at(target-1) != "$" {
				return false
			}
		}
		if p.tokens[i] != l.array {
			continue
		}
		switch {
		case p.at(i+1) == "[":
			if p.at(i+3) != "]" || !slices.ContainsFunc(p.loops, func(o awkLoop) bool { return o.array == l.array && o.name == p.at(i+2) }) {
				return false
			}
		case p.at(i-1) == "in", p.at(i-1) == "delete", p.at(i-1) == "(" && p.at(i-2) == "length":
		default:
			return false
		}
	}
	return true
}

// rounds is how often the loops go round for the numbers of the program, were those that may stand in each other to
// count as far as the largest.
func (p *awkProgram) rounds() int {
	most := 1
	for i, t := range p.tokens {
		head := slices.ContainsFunc(p.loops, func(l awkLoop) bool { return l.test <= i && i < l.body })
		if n, err := strconv.Atoi(t); err == nil && (head || p.assigns(i-1)) {
			most = max(most, n)
		}
	}
	for _, g := range p.given {
		_, value, _ := strings.Cut(g, "=")
		if n, err := strconv.Atoi(value); err == nil {
			most = max(most, n)
		}
	}
	times := 1
	for i := range p.tokens {
		around := 1
		for _, l := range p.loops {
			if l.array == "" && l.body <= i && i < l.end {
				around = min(around*most, mostTimes+1)
			}
		}
		times = max(times, around)
	}
	return times
}
