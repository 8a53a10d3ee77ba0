package document

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// simplify maps traditional and Japanese forms that occur in the tables to one
// spelling, so that each word is listed once.
var simplify = map[rune]rune{
	'達': '达', '標': '标', '沒': '没', '無': '无', '經': '经', '過': '过', '為': '为', '驗': '验', '証': '证',
	'證': '证', '終': '终', '結': '结', '論': '论', '決': '决', '準': '准', '邊': '边', '與': '与', '設': '设',
	'現': '现', '場': '场', '進': '进', '項': '项', '條': '条', '單': '单', '檢': '检', '査': '查', '確': '确',
	'認': '认', '問': '问', '題': '题', '還': '还', '實': '实', '後': '后', '據': '据', '敗': '败', '錯': '错',
	'誤': '误', '齊': '齐', '個': '个', '這': '这', '輪': '轮', '當': '当', '測': '测', '試': '试',
	'‘': '\'', '’': '\'', 'ʼ': '\'', '´': '\'', '`': '`', '∶': ':', '﹣': '-', '‐': '-', '‑': '-',
}

// fold brings a text to the form in which words are compared: compatibility
// forms joined (full-width letters, colons and brackets become plain), lower
// case, no accents, no invisible characters, runs of blanks as one.
func fold(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	blank := false
	for _, r := range norm.NFKD.String(s) {
		switch {
		case r >= 0x300 && r <= 0x36f || r == 0xad || r == 0x200b || r == 0x200c || r == 0x200d ||
			r == 0x2060 || r == 0xfeff || r == 0xfe0f || r == 0xfe0e:
			continue
		case r == '\n':
			blank = false
			b.WriteByte('\n')
			continue
		case unicode.IsSpace(r):
			blank = true
			continue
		}
		if blank && b.Len() > 0 {
			b.WriteByte(' ')
		}
		blank = false
		if t, ok := simplify[r]; ok {
			r = t
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return norm.NFC.String(b.String())
}

// clean makes any bytes a text of lines: valid UTF-8, LF line ends, no NUL and
// no byte order mark.
func clean(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	s = strings.TrimPrefix(s, "\ufeff")
	if strings.ContainsAny(s, "\x00\r") {
		s = strings.NewReplacer("\x00", "", "\r\n", "\n", "\r", "\n").Replace(s)
	}
	return s
}

// oneLine makes s safe to stand in a heading.
func oneLine(s string) string { return strings.Join(strings.Fields(clean(s)), " ") }

// isIdeograph tells the scripts that are written without blanks.
func isIdeograph(r rune) bool {
	return r >= 0x2e80 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r == 'ー' || r == '々')
}

// isWord tells the letters and digits of scripts written with blanks.
func isWord(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !isIdeograph(r)
}
