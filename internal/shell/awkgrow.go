package shell

import (
	"slices"
	"strings"
)

// grows reports whether the program puts a text together of two copies of itself, which takes no more than a few dozen
// lines of input to fill the memory.
func (p *awkProgram) grows() bool {
	from := map[string]map[string]bool{} // what a variable is made of
	for i := range p.tokens {
		if to := p.target(i); to != "" {
			for _, name := range names(p.expression(i + 1)) {
				if from[to] == nil {
					from[to] = map[string]bool{}
				}
				from[to][name] = true
			}
		}
	}
	for i, t := range p.tokens {
		if (t == "gsub" || t == "sub") && p.replaces(i) {
			return true
		}
		to := p.target(i)
		if to == "" || to == "$" && p.inner(i) < 0 {
			continue // of a field the next line makes an end
		}
		e := p.expression(i + 1)
		if !joined(e) {
			continue
		}
		copies := 0
		for _, name := range parts(e) {
			if name == to || reaches(from, name, to, map[string]bool{}) {
				copies++
			}
		}
		if copies > 1 || copies > 0 && slices.Contains(e, "gensub") {
			return true
		}
	}
	return false
}

// target returns the variable that the = at i assigns to, $ for a field, or "".
func (p *awkProgram) target(i int) string {
	if !p.assigns(i) {
		return ""
	}
	k := p.targets(i)
	if len(k) == 0 {
		return ""
	}
	if p.at(k[0]) == "$" || p.at(k[0]-1) == "$" {
		return "$"
	}
	return p.at(k[0])
}

// inner returns the begin of the innermost loop's body around i, or -1.
func (p *awkProgram) inner(i int) int {
	begin := -1
	for _, l := range p.loops {
		if l.body <= i && i < l.end {
			begin = max(begin, l.body)
		}
	}
	return begin
}

// names are the variables, and $ for fields, in an expression.
func names(e []string) []string {
	var all []string
	for _, t := range e {
		if t == "$" || isNameStart(t[0]) && !awkCalls[t] {
			all = append(all, t)
		}
	}
	return all
}

// parts are the names in an expression whose text may become part of its value: none that is only compared, asked for,
// measured, or the index of an array.
func parts(e []string) []string {
	compare := []string{"==", "!", "=", "<", ">", "~", "?", "&&", "||", "in"}
	p := awkProgram{tokens: e}
	var all []string
	for i := 0; i < len(e); i++ {
		if (e[i] == "length" || e[i] == "index" || e[i] == "split") && p.at(i+1) == "(" {
			i = p.match(i + 1)
			continue
		}
		if e[i] != "$" && (!isNameStart(e[i][0]) || awkCalls[e[i]]) {
			continue
		}
		name, before := e[i], p.at(i-1)
		if name == "$" {
			i++
		}
		switch {
		case name == "$" && p.at(i) == "(":
			i = p.match(i)
		case p.at(i+1) == "[":
			i = p.match(i + 1)
		}
		after := p.at(i + 1)
		asked := slices.Contains(compare, after) || before != "" && before != "?" && slices.Contains(compare, before)
		if !asked {
			all = append(all, name)
		}
	}
	return all
}

// joined reports whether an expression puts texts together: two values stand beside each other.
func joined(e []string) bool {
	for i, t := range e {
		if t == "sprintf" || t == "gensub" {
			return true
		}
		if i == 0 {
			continue
		}
		before := e[i-1]
		name := isNameStart(before[0]) && !awkCalls[before] && before != "in"
		ends := name || isDigits(before[:1]) || before[0] == '"' || slices.Contains([]string{")", "]", "++", "--"}, before)
		value := isNameStart(t[0]) && t != "in" || isDigits(t[:1]) || t[0] == '"'
		begins := value || t == "$" || t == "(" && !awkCalls[before]
		if ends && begins {
			return true
		}
	}
	return false
}

// reaches reports whether to is made of name and name, by way of others, of to.
func reaches(from map[string]map[string]bool, name, to string, seen map[string]bool) bool {
	if seen[name] {
		return false
	}
	seen[name] = true
	for part := range from[name] {
		if part == to || reaches(from, part, to, seen) {
			return true
		}
	}
	return false
}

// replaces reports whether the call of sub or gsub at i may make a text longer that it made longer before.
func (p *awkProgram) replaces(i int) bool {
	args := p.arguments(i + 1)
	if len(args) < 2 {
		return true
	}
	with := args[1]
	plain := len(with) == 1 && with[0][0] == '"' && !strings.Contains(with[0], "&")
	if plain && (with[0] == `""` || p.tokens[i] == "sub") {
		return false
	}
	target := []string{"$", "0"}
	if len(args) > 2 {
		target = args[2]
	}
	begin := p.inner(i)
	if target[0] == "$" {
		around := 0
		own := false
		for _, l := range p.loops {
			if l.body <= i && i < l.end {
				around++
				own = len(target) == 2 && target[1] == l.name && l.array == ""
			}
		}
		return around > 1 || around == 1 && !own
	}
	// A variable that was set right before is as long as what it was set to.
	depth := 0
	for k := i - 1; k > max(begin, 0) && depth <= 0; k-- {
		switch p.tokens[k] {
		case "{":
			depth++
		case "}":
			depth--
		}
		if depth == 0 && p.target(k) == target[0] && !slices.Contains(names(p.expression(k+1)), target[0]) {
			return false
		}
	}
	return true
}
