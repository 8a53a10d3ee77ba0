package document

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// items reads a list: one text an item, on one line, without its mark. A nested
// item and an indented line belong to the item above. loose are the texts of
// the paragraphs that are no items, one string a line.
func items(body string) (list, loose []string) {
	const none = -1
	top, blank := none, false // indent of the open item; was there a blank line
	var item []byte
	flush := func() {
		if text := tidyItem(string(item)); text != "" {
			list = append(list, text)
		}
		item, top = item[:0], none
	}
	for line := range strings.SplitSeq(body, "\n") {
		indent, rest := cutIndent(line)
		inner, isItem := cutItem(rest)
		switch {
		case rest == "":
			blank = true
			continue
		case isItem && (top == none || indent < top+2):
			flush()
			item, top = append(item, inner...), indent
		case isItem:
			item = join(item, inner, "; ")
		case top != none && (indent >= top+2 || !blank && !isCaption(rest)):
			item = join(item, rest, "")
		default:
			flush()
			loose = append(loose, rest)
		}
		blank = false
	}
	flush()
	return list, loose
}

// items are the list items of a block, or the text on its heading line when it
// is all there is and no placeholder.
func (b *block) items() []string {
	list, loose := items(b.text())
	if len(list) == 0 && len(loose) == 1 && b.inline && !isBlank(loose[0], true) {
		list = append(list, tidyItem(loose[0]))
	}
	return slices.DeleteFunc(list, func(s string) bool { return isBlank(s, true) })
}

// cutItem takes a list mark off the front: the ones of CommonMark, the bullets
// models type, and every ordinal a heading may have.
func cutItem(s string) (inner string, ok bool) {
	if n := listMark(s); n > 0 {
		return strings.TrimSpace(s[n:]), true
	}
	if r, size := utf8.DecodeRuneInString(s); strings.ContainsRune("•·◦▪●○■‣∙–—", r) && size > 1 {
		return strings.TrimSpace(s[size:]), true
	}
	if s != "" && (s[0] >= '0' && s[0] <= '9' || s[0] >= utf8.RuneSelf || s[0] == '(') {
		if rest, ok := cutOrdinal(s, false); ok {
			return strings.TrimSpace(rest), true
		}
	}
	return s, false
}

// isCaption tells a line that introduces what comes and belongs to no item.
func isCaption(s string) bool {
	return strings.HasSuffix(s, ":") || strings.HasSuffix(s, "：") || strings.HasPrefix(s, "#") ||
		strings.HasPrefix(s, "**") && strings.HasSuffix(s, "**")
}

// join adds text to an item. sep stands before a nested item unless the text
// before ends in punctuation; scripts without blanks get none.
func join(item []byte, text, sep string) []byte {
	end, _ := utf8.DecodeLastRune(item)
	start, _ := utf8.DecodeRuneInString(text)
	switch {
	case len(item) == 0 || text == "":
		sep = ""
	case sep != "" && !strings.ContainsRune(":：;；,，", end):
	case isIdeograph(start) && (isIdeograph(end) || unicode.IsPunct(end) && end > utf8.RuneSelf):
		sep = ""
	default:
		sep = " "
	}
	return append(append(item, sep...), text...)
}

// tidyItem takes marks that stand inside the mark ("- 1. x", "- [ ] x") off and
// makes the text safe behind "- ". An item without a letter or digit is none.
func tidyItem(s string) string {
	for {
		t := strings.TrimSpace(s)
		for _, box := range []string{"[ ]", "[x]", "[X]", "☐", "☑"} {
			t = strings.TrimPrefix(t, box)
		}
		if inner, ok := cutItem(t); ok {
			t = inner
		}
		if t == s {
			break
		}
		s = t
	}
	if strings.IndexFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsSymbol(r) }) < 0 {
		return ""
	}
	if mark, run := fenceRun(s); run >= 3 || mark == '~' && run > 0 {
		return `\` + s
	}
	return s
}

func bullets(list []string) string {
	var b strings.Builder
	for _, text := range list {
		b.WriteString("- " + strings.NewReplacer("\n", " ", "\r", " ").Replace(text) + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}
