package document

import (
	"regexp"
	"strings"
	"unicode"
)

// Claim is what an item says about a text in back-ticks, as far as its words show.
type Claim int

// The claims. What is not certain counts as mentioned.
const (
	// Mentioned: the item speaks of it, and does not say that it is run for the check.
	Mentioned Claim = iota
	// Opens: the item, or a part of it after a colon, begins with it and says nothing against its being run.
	Opens
	// Runs: the item says that it is run, or what comes of it: "running X", "X exits 0", "X 退出码为 0".
	Runs
)

// Quote is a text of an item that stands in back-ticks, and what the item claims about it.
type Quote struct {
	Text  string // without back-ticks and blanks around it; never empty
	Claim Claim
	Alone bool // the item is nothing else
}

// Quotes are the texts of the item that stand in back-ticks, in order. Whether one is a command and not a name is for the
// caller to find out; the Claim says whether the item wants it run. The rule, in the words of the languages of the
// interface:
//
//   - A text is mentioned if the part of the item before it, back to the last colon, comma or full stop, denies something
//     or speaks about texts (no, not, never, without, instead of, calls, contains, 不, 没有, 调用, 包含 …), or if what
//     follows speaks about the text before it speaks of an outcome (is called, is documented, must not be run, 被调用 …).
//   - Otherwise it runs if a word of running stands right before it (run, running, the output of, $, 运行, 执行 …) or a
//     word of outcome follows in the same part (exits, prints, passes, fails, succeeds, 退出, 打印, 通过, 成功 …).
//   - Otherwise it opens if nothing but marks stands before it in the item, or after the last colon where the whole
//     item denies nothing.
//   - Otherwise it is mentioned.
func (c Check) Quotes() []Quote {
	spans := backTicked(c.Text)
	var list []Quote
	for i, s := range spans {
		text := strings.TrimSpace(c.Text[s.inner:s.innerEnd])
		if text == "" {
			continue
		}
		end := len(c.Text)
		if i+1 < len(spans) {
			end = spans[i+1].start
		}
		before, after := c.Text[:s.start], c.Text[s.end:end]
		list = append(list, Quote{
			Text: text, Claim: claim(withoutQuotes(before, spans[:i]), after),
			Alone: i == 0 && len(spans) == 1 && !hasWords(before) && !hasWords(after),
		})
	}
	return list
}

// span is where a text in back-ticks stands, with them and without.
type span struct{ start, inner, innerEnd, end int }

// backTicked finds the texts in back-ticks: one back-tick or several, closed by as many.
func backTicked(s string) []span {
	var list []span
	at := 0
	for {
		open := strings.IndexByte(s[at:], '`')
		if open < 0 {
			return list
		}
		start := at + open
		inner := start + ticks(s[start:])
		end := closing(s, inner, inner-start)
		if end < 0 {
			at = inner
			continue
		}
		at = end + inner - start
		list = append(list, span{start, inner, end, at})
	}
}

func ticks(s string) int { return len(s) - len(strings.TrimLeft(s, "`")) }

// closing is where a run of exactly n back-ticks begins at from or later, -1 if none does.
func closing(s string, from, n int) int {
	for {
		i := strings.IndexByte(s[from:], '`')
		if i < 0 {
			return -1
		}
		from += i
		m := ticks(s[from:])
		if m == n {
			return from
		}
		from += m
	}
}

// withoutQuotes is the text before a quote, with a mark where others stand: their words are not the item's.
func withoutQuotes(before string, spans []span) string {
	var b strings.Builder
	at := 0
	for _, s := range spans {
		b.WriteString(before[at:s.start])
		b.WriteString(" \x00 ")
		at = s.end
	}
	b.WriteString(before[at:])
	return b.String()
}

// claim says what the words around a quote claim about it.
func claim(before, after string) Claim {
	before, after = strings.ToLower(harmless.ReplaceAllString(before, " ")), strings.ToLower(after)
	part := before
	colon := false
	if i := strings.LastIndexFunc(before, isPartEnd); i >= 0 {
		r := []rune(before[i:])[0]
		part, colon = before[i+len(string(r)):], isColon(r)
	}
	follows := after
	if i := strings.IndexFunc(after, func(r rune) bool { return strings.ContainsRune(".;。；", r) }); i >= 0 {
		follows = after[:i]
	}
	against, outcome := mentions.FindStringIndex(follows), outcomes.FindStringIndex(follows)
	switch {
	case denials.MatchString(part), values.MatchString(part), against != nil && (outcome == nil || against[0] < outcome[0]):
		return Mentioned
	case running.MatchString(part), outcome != nil:
		return Runs
	case !hasWords(before) && !strings.ContainsRune(before, 0), colon && !hasWords(part) && !denials.MatchString(before):
		return Opens
	}
	return Mentioned
}

func isPartEnd(r rune) bool { return isColon(r) || strings.ContainsRune(",.;，。；、", r) }

// hasWords reports whether there is a letter or a digit: marks of lists and of stress are none.
func hasWords(s string) bool {
	return strings.ContainsFunc(numbering.ReplaceAllString(s, ""), func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

var numbering = regexp.MustCompile(`^\s*[(（]?\d{1,3}[.)）、]\s*`)

// The words. A denial or a mention is looked for before an outcome is, and there are more of them than needed: a check
// that is not run says so, one that is run by mistake may do harm.
var (
	// harmless are denials that speak of how a command is called.
	harmless = regexp.MustCompile(`(?i)\b(without|with no|no) (any )?(arguments?|options?|flags?|input)\b|(不带|不加|不给|无|没有)(任何)?(参数|选项|输入)`)

	denials = regexp.MustCompile(`\b(no|not|never|none|nothing|nobody|neither|nor|without|instead|rather|except|avoids?|forbid\w*|prohibit\w*|refus\w+|don't|doesn't|mustn't|cannot|can't|isn't|aren't|won't|` +
		`calls?|called|calling|invokes?|invoked|contains?|containing|mentions?|mentioned|mentioning|includes?|document\w*|describes?|explains?|lists?|named?|names|says|tells|warns?|replac\w+|removes?|uses?|` +
		`kein\w*|nicht|nie|ohne|statt|ruft|enthält|erwähnt|aucun\w*|jamais|sans|ne|pas|appelle|contient|mentionne|ning\w+|nunca|sin|llama|contiene|menciona)\b|n't\b|` +
		`不|没|未|无|勿|别|禁|避免|拒绝|而非|代替|调用|包含|含有|含|写着|写有|提到|提及|说明|记载|列出|使用|出现|ない|せず|呼び|含む|禁止`)

	values = regexp.MustCompile(`(\b(prints?|printed|outputs?|shows?|displays?|returns?|equals?|reads|holds|is|are|line|string|text|value|file|folder|directory|variable|function|field|key)|` +
		`打印|输出|显示|返回|等于|内容是|内容为|是|为|文件|目录|变量|函数|字段)\s*["“”'‘’(（]?\s*$`)

	mentions = regexp.MustCompile(`\b(never|calls?|called|invoked?|used|mention\w*|document\w*|described|explained|listed|defined|declared|removed|replaced|contained|included|found|exists?|appears?|occurs?|printed|shown|displayed|written|` +
		`(must|should|may|can|could|need) (not )?(be )?(run|executed|started)|not (be )?(run|runs|executed|started)|be (run|executed)|as (a|an|the) |` +
		`aufgerufen|erwähnt|appelée?|mentionnée?|llamad\w+|mencionad\w+)\b|被|调用|提到|提及|写在|写明|说明|出现在|出现过|不运行|不执行|不要|不得|不能|不可|不应|禁止|呼ば|記載|しない`)

	outcomes = regexp.MustCompile(`\b(exits?|exit code|exiting|returns?|prints?|outputs?|shows?|displays?|reports?|lists?|passes|pass|succeeds?|fails?|works?|runs|ends|finishes|completes|terminates|compiles?|builds?|gives|yields|says|ok|green|matches|starts|stops|writes|responds|answers|produces|creates|generates|` +
		`endet|gibt|druckt|zeigt|liefert|läuft|schlägt|gelingt|termine|affiche|imprime|renvoie|réussit|échoue|sale|muestra|devuelve|termina|pasa|falla)\b|` +
		`退出|打印|输出|通过|成功|失败|报错|返回|显示|列出|得到|结果|为真|正常|完成|终了|終了|表示|出力|を返|合格`)

	running = regexp.MustCompile(`(\b(run|runs|running|ran|execut\w+|invoking|try|typing|output of|result of|status of|code of|command|ausführen|führe|exécuter?|lancer|lance|ejecutar|ejecuta)|[$>]|运行|执行|跑|运行命令|执行命令|命令|実行|コマンド)\s*["“”'‘’(（]?\s*$`)
)
