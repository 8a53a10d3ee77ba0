package document

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// clause is the unit in which a conclusion is understood: what stands between
// two commas, brackets, full stops or conjunctions.
type clause struct {
	words    []word
	before   rune // strongest separator before it: '.' ',' '-' ':' '/', 0 for none
	after    rune
	sentence int
	group    int // number of the bracket it stands in, 0 for none
	question bool
}

type word struct {
	text  string
	class class
}

func (w word) is(c class) bool { return w.class&c != 0 }

var (
	comments = regexp.MustCompile(`(?s)<!--.*?-->`)
	struck   = regexp.MustCompile(`~~[^\n]*?~~`)
	boxes    = regexp.MustCompile(`^\[( |x|v|✓|✔)?\]\s*`)
	ratio    = regexp.MustCompile(`\b(\d{1,6}) ?(?:/|of the|of|out of|von|sur|de) ?(\d{1,6})\b`)
	percent  = regexp.MustCompile(`\b(\d{1,6}(?:[.,]\d+)?) ?(?:%|percent\b|per cent\b|prozent\b)`)
	shortNot = strings.NewReplacer("can't", "cannot", "won't", "will not", "n't", " not", "'", " ", "n/a", "na")
)

// plain is a conclusion as words only: folded, without what is crossed out,
// quoted or an empty box to tick, without marks, figures reduced to whole or
// portion.
func plain(text string) string {
	text = comments.ReplaceAllString(text, "")
	text = struck.ReplaceAllString(text, "")
	var b strings.Builder
	for line := range strings.SplitSeq(fold(text), "\n") {
		line = strings.TrimLeft(line, " \\")
		if strings.HasPrefix(line, ">") {
			continue
		}
		line, _ = cutItem(line)
		if box := boxes.FindString(line); box != "" {
			if strings.Trim(box, "[] ") == "" {
				continue
			}
			line = line[len(box):]
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
	s := shortNot.Replace(b.String())
	s = ratio.ReplaceAllStringFunc(s, func(m string) string {
		f := ratio.FindStringSubmatch(m)
		return figure(f[1] == f[2])
	})
	s = percent.ReplaceAllStringFunc(s, func(m string) string { return figure(strings.HasPrefix(m, "100")) })
	return strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune("_-", r):
			return ' '
		case strings.ContainsRune("*`~\"“”„‟«»「」『』《》〈〉\\✅✔☑🎉✓🟢", r):
			return -1
		}
		return r
	}, strings.NewReplacer(" - ", "–", " -- ", "–").Replace(s))
}

func figure(whole bool) string {
	if whole {
		return " wholefigure "
	}
	return " portionfigure "
}

// clauses cuts a plain conclusion.
func clauses(s string) []clause {
	var out []clause
	cur := clause{sentence: 1}
	groups, depth := 0, 0
	end := func(sep rune, question bool) {
		if len(cur.words) > 0 {
			cur.after, cur.question = sep, question
			out = append(out, cur)
			cur.before = 0
		}
		if strength(sep) > strength(cur.before) {
			cur.before = sep
		}
		cur.words = nil
		if sep == '.' {
			cur.sentence++
		}
	}
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if sep := separator(s, i, r, size); sep != 0 {
			end(sep, r == '?')
			switch r {
			case '(', '[', '【':
				if depth++; depth == 1 {
					groups++
					cur.group = groups
				}
			case ')', ']', '】', '\n':
				if depth = max(depth-1, 0); depth == 0 || r == '\n' {
					depth, cur.group = 0, 0
				}
			}
			i += size
			continue
		}
		if r == ' ' || !isIdeograph(r) && !isWord(r) && !unicode.IsSymbol(r) {
			i += size
			if r == '¿' {
				cur.words = append(cur.words, word{"¿", reserve})
			}
			continue
		}
		w, n := lookup(s, i)
		i += n
		switch {
		case w.is(alt):
			end('/', false)
		case w.is(conj):
			if len(cur.words) > 0 {
				end(',', false)
			}
		default:
			cur.words = append(cur.words, w)
		}
	}
	end('.', false)
	return out
}

func strength(sep rune) int { return strings.IndexRune(".,-:/", sep) }

// separator classifies a character that ends a clause, 0 when it does not.
func separator(s string, i int, r rune, size int) rune {
	switch r {
	case '。', '!', '?', '\n':
		return '.'
	case '.':
		next, _ := utf8.DecodeRuneInString(s[i+size:])
		if next == utf8.RuneError || !isWord(next) && next != '/' && next != '.' {
			return '.'
		}
	case ',', '、', ';', '(', ')', '[', ']', '【', '】', '→', '·', '=':
		return ','
	case '—', '–':
		return '-'
	case ':':
		return ':'
	case '/', '|', '⁄':
		return '/'
	}
	return 0
}

// lookup takes the longest known word at s[i:]; an unknown one is a whole word,
// or one character in scripts without blanks.
func lookup(s string, i int) (word, int) {
	r, size := utf8.DecodeRuneInString(s[i:])
	best, classes := 0, class(0)
	for _, e := range lexicon()[r] {
		if len(e.text) < best && !e.stem || !strings.HasPrefix(s[i:], e.text) {
			continue
		}
		n := len(e.text)
		if last, _ := utf8.DecodeLastRuneInString(e.text); isWord(last) {
			more := wordLen(s[i+n:])
			if more > 0 && !e.stem {
				continue
			}
			n += more
		}
		if n > best {
			best, classes = n, 0
		}
		if n == best {
			classes |= e.class
		}
	}
	if best > 0 {
		return word{s[i : i+best], classes}, best
	}
	if !isWord(r) {
		return word{s[i : i+size], 0}, size
	}
	n := wordLen(s[i:])
	if strings.Trim(s[i:i+n], "0123456789") == "" {
		return word{s[i : i+n], number}, n
	}
	return word{s[i : i+n], 0}, n
}

func wordLen(s string) int {
	n := strings.IndexFunc(s, func(r rune) bool { return !isWord(r) })
	if n < 0 {
		return len(s)
	}
	return n
}
