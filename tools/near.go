package tools

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

var numbered = regexp.MustCompile(`^ *[0-9]+\t`)

// nearMiss says where text comes close to s, which it does not hold.
func nearMiss(text, s string) string {
	if numbered.MatchString(s) && numbered.MatchString(lastLine(s)) {
		return "old_string was not found; it seems to hold the line numbers that Read shows. Leave them and the tab behind them out"
	}
	have, want := strings.Split(text, "\n"), strings.Split(strings.Trim(s, "\n"), "\n")
	soft, wanted := looseAll(have), looseAll(want)
	if at := looseIndex(soft, wanted); at >= 0 {
		for i, line := range want {
			if have[at+i] != line {
				return fmt.Sprintf("old_string was not found, but line %d on is the same except for blanks, quotes, case or the like. Line %d of the file is %s where old_string has %s%s",
					at+1, at+i+1, quote(have[at+i]), quote(line), unlike(have[at+i], line))
			}
		}
		return fmt.Sprintf("old_string was not found, but line %d on is the same except at its ends: compare the blanks and line feeds there", at+1)
	}
	for i := range want {
		if strings.TrimSpace(want[i]) == "" {
			continue
		}
		at := looseIndex(soft, wanted[i:i+1])
		if at < 0 {
			break
		}
		for at+1 < len(have) && i+1 < len(want) && soft[at+1] == wanted[i+1] {
			at, i = at+1, i+1
		}
		next := "the end of the file"
		if at+1 < len(have) {
			next = quote(have[at+1])
		}
		if i+1 >= len(want) {
			break
		}
		return fmt.Sprintf("old_string was not found. The file is the same up to line %d, then it goes on with %s where old_string has %s",
			at+1, next, quote(want[i+1]))
	}
	if !utf8.ValidString(text) && (strings.Contains(s, `\x`) || !isASCII(s)) {
		return `old_string was not found. The file is not UTF-8: Read shows its foreign bytes as \xNN, but they can be given neither so nor as characters. Choose text without them, or use a command`
	}
	for _, line := range want {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if at := nearest(have, line); at >= 0 {
			return fmt.Sprintf("old_string was not found. Nearest to its line %s is line %d: %s%s", quote(line), at+1, quote(have[at]), unlike(have[at], line))
		}
		break
	}
	return "old_string was not found, and nothing close to it. Read the place again and copy the text exactly"
}

func lastLine(s string) string {
	s = strings.TrimSuffix(s, "\n")
	return s[strings.LastIndexByte(s, '\n')+1:]
}

var typewriter = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "‘", "'", "’", "'", "\u00a0", " ", "–", "-", "—", "-",
	"\u2010", "-", "\u2011", "-", "\u2012", "-", "\u2015", "-", "\u2212", "-", "\u2032", "'", "\u2033", `"`, "…", "...", "\u2060", "",
	"\u00ad", "", "\u200b", "", "\u200c", "", "\u200d", "", "\ufeff", "")

// loose is what stays of a line that was typed from memory.
func loose(line string) string {
	if !isASCII(line) {
		line = typewriter.Replace(norm.NFC.String(line))
	}
	return strings.ToLower(strings.Join(strings.Fields(line), " "))
}

func looseAll(lines []string) []string {
	soft := make([]string, len(lines))
	for i, line := range lines {
		soft[i] = loose(line)
	}
	return soft
}

// looseIndex finds the lines want in have, all of them loose; -1 if they are not there or all blank.
func looseIndex(have, want []string) int {
	if strings.Join(want, "") == "" {
		return -1
	}
	for at := 0; at+len(want) <= len(have); at++ {
		if slices.Equal(have[at:at+len(want)], want) {
			return at
		}
	}
	return -1
}

// quote makes the blanks of a line visible.
func quote(line string) string { return fmt.Sprintf("%q", clip(visible(line), 200)) }

// unlike describes the first place where two lines differ, if that cannot be seen in them.
func unlike(have, want string) string {
	at := 0
	for at < len(have) && at < len(want) && have[at] == want[at] {
		at++
	}
	for at > 0 && at < len(have) && !utf8.RuneStart(have[at]) {
		at--
	}
	column := utf8.RuneCountInString(have[:at]) + 1
	if have != want && norm.NFC.String(have) == norm.NFC.String(want) {
		return fmt.Sprintf("; the same characters, but composed differently from column %d on: the file has %s, old_string has %s. Choose text around it, or use a command",
			column, codes(have[at:]), codes(want[at:]))
	}
	if isASCII(have) && isASCII(want) {
		return ""
	}
	return fmt.Sprintf("; they differ at column %d: %s, not %s", column, codes(have[at:]), codes(want[at:]))
}

// codes names the first character of s and the marks on it.
func codes(s string) string {
	if s == "" {
		return "the end of the line"
	}
	var names []string
	for i, r := range s {
		if i > 0 && !unicode.Is(unicode.M, r) || len(names) == 4 {
			break
		}
		names = append(names, fmt.Sprintf("%U", r))
	}
	return strings.Join(names, " ")
}

// nearest finds the line that is most like want, by the pairs of bytes they share; -1 if none is much like it.
func nearest(have []string, want string) int {
	const enough = 0.6 // of the pairs of both
	want = loose(want)
	var pairs [1 << 16]bool
	for i := 1; i < len(want); i++ {
		pairs[int(want[i-1])<<8|int(want[i])] = true
	}
	best, most := -1, enough
	for at, line := range have {
		if n := len(line); n < 3 || n > 4*len(want)+100 || len(want) < 3 {
			continue
		}
		line = strings.TrimSpace(line)
		shared := 0
		for i := 1; i < len(line); i++ {
			if pairs[int(line[i-1])<<8|int(line[i])] {
				shared++
			}
		}
		if like := 2 * float64(min(shared, len(want)-1)) / float64(len(line)+len(want)-2); like > most {
			best, most = at, like
		}
	}
	return best
}
