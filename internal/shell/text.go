package shell

import (
	"fmt"
	"strings"
)

// textPrograms read files or their input and print what they make of it.
var textPrograms = map[string]*program{
	"grep":  grep,
	"egrep": grep,
	"fgrep": grep,
	// -z and --pre start programs, and so does the host name of --hyperlink-format.
	"rg": {reads: true, text: true, short: "e:f:g:t:T:m:M:j:d:E:r:A:B:C:acFHiIlLnNopPqsSuUvVwx0.",
		long: `regexp: file: glob: iglob: type: type-not: max-count: max-columns: max-columns-preview
		max-depth: max-filesize: threads: encoding: replace: after-context: before-context: context:
		text count count-matches fixed-strings with-filename no-filename ignore-case no-ignore
		no-ignore-vcs no-ignore-parent no-ignore-dot no-ignore-global files-with-matches
		files-without-match files follow line-number no-line-number only-matching pretty pcre2
		quiet no-messages smart-case case-sensitive unrestricted multiline multiline-dotall
		invert-match word-regexp line-regexp null null-data hidden json stats sort: sortr: color:
		colors: heading no-heading column no-column type-list trim vimgrep passthru passthrough
		byte-offset crlf no-config no-unicode engine: glob-case-insensitive one-file-system
		context-separator: field-match-separator: path-separator: line-buffered no-require-git
		include-zero binary no-mmap mmap debug`, check: checkRipgrep},
	"sort": {reads: true, short: "bcCdfghiMnRrVmsuzk:t:S:", long: `ignore-leading-blanks
		dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort
		human-numeric-sort numeric-sort random-sort reverse sort: version-sort check:: key:
		field-separator: merge stable unique zero-terminated debug buffer-size: parallel: batch-size:`},
	// Some versions of uniq take a word after the operand for the output file, dash or not.
	"uniq": {reads: true, first: true, max: 1, short: "cdDuif:s:w:z", long: `count repeated
		all-repeated:: unique ignore-case skip-fields: skip-chars: check-chars: group:: zero-terminated`},
	"cut": {tame: true, reads: true, short: "b:c:d:f:nsz", long: `bytes: characters: delimiter:
		fields: complement only-delimited output-delimiter: zero-terminated`},
	"column": {tame: true, reads: true, short: "tns:o:c:xJN:R:T:H:O:W:l:Le", long: `table separator:
		output-separator: output-width: table-columns: json fillrows table-right: table-hide:
		table-truncate: table-noheadings table-order: table-wrap: table-columns-limit: keep-empty-lines`},
	"jq": {whole: judgeJq},
	"nl": {tame: true, reads: true, short: "b:d:f:h:i:l:n:ps:v:w:", long: `body-numbering:
		section-delimiter: footer-numbering: header-numbering: line-increment: join-blank-lines:
		number-format: no-renumber number-separator: starting-line-number: number-width:`},
	"rev":      {tame: true, reads: true},
	"comm":     {tame: true, reads: true, short: "123z", long: "check-order nocheck-order output-delimiter: total zero-terminated"},
	"paste":    {tame: true, reads: true, short: "d:sz", long: "delimiters: serial zero-terminated"},
	"join":     {tame: true, reads: true, short: "a:e:ij:o:t:v:1:2:z", long: "ignore-case check-order nocheck-order header zero-terminated"},
	"tr":       {tame: true, short: "cCdst", long: "complement delete squeeze-repeats truncate-set1"},
	"fold":     {tame: true, reads: true, short: "bsw:", long: "bytes spaces width:"},
	"fmt":      {tame: true, reads: true, digits: true, short: "cstuw:p:g:", long: "crown-margin split-only tagged-paragraph uniform-spacing width: goal: prefix:"},
	"expand":   {tame: true, reads: true, short: "it:", long: "initial tabs:"},
	"unexpand": {tame: true, reads: true, short: "at:", long: "all first-only tabs:"},
	// -l pipes the result through another program.
	"diff": {reads: true, short: "qrsuNawBbitEyecdnpTZU:C:W:x:I:L:F:", long: `brief recursive
		unified:: context:: side-by-side width: ignore-case ignore-all-space ignore-space-change
		ignore-blank-lines ignore-matching-lines: ignore-trailing-space ignore-tab-expansion
		ignore-file-name-case exclude: new-file unidirectional-new-file text color::
		report-identical-files label: suppress-common-lines left-column minimal no-dereference
		strip-trailing-cr expand-tabs initial-tab normal ed rcs speed-large-files show-c-function
		show-function-line: tabsize: starting-file:`},
	"iconv": {reads: true, short: "f:t:cls", long: "from-code: to-code: list silent"},
	"seq":   {whole: judgeSeq},
	"sed":   {whole: judgeSed},
	"gsed":  {whole: judgeSed},
	"awk":   {whole: judgeAwk},
	"gawk":  {whole: judgeAwk},
	"mawk":  {whole: judgeAwk},
	"nawk":  {whole: judgeAwk},
}

// judgeSeq accepts a few numbers that are not far apart.
func judgeSeq(args []word) string {
	if len(args) > 0 && args[0].text == "-w" {
		args = args[1:]
	}
	if len(args) < 1 || len(args) > 3 {
		return "it takes one to three numbers here"
	}
	for i, a := range args {
		n := strings.TrimPrefix(a.text, "-")
		if !isDigits(n) || len(n) > 6 || a.dyn || len(args) == 3 && i == 1 && strings.Trim(n, "0") == "" {
			return fmt.Sprintf("%s is not a small number", clip(a.text))
		}
	}
	return ""
}

var grep = &program{
	tame: true, reads: true, text: true, digits: true,
	short: "EFGPe:f:ivwxyczolLqsbHhnTZaIrRUm:A:B:C:d:",
	long: `extended-regexp fixed-strings basic-regexp perl-regexp regexp: file: ignore-case
		no-ignore-case invert-match word-regexp line-regexp count color:: colour:: files-with-matches
		files-without-match max-count: only-matching quiet silent no-messages byte-offset
		with-filename no-filename label: line-number initial-tab null after-context: before-context:
		context: text binary-files: directories: exclude: exclude-dir: include: recursive
		dereference-recursive line-buffered null-data`,
}

// checkRipgrep keeps operands away that only --files and --type-list turn into
// paths: everything else was judged already.
func checkRipgrep(c call) string {
	if len(c.operands) > 0 && c.has("files", "type-list") {
		return endless(c.operands[0])
	}
	return ""
}

// quoted returns the index after the double-quoted string that begins at s[i], or -1
// when it does not end on its line.
func quoted(s string, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
			if i < len(s) && s[i] == '\n' {
				return -1
			}
		case '"':
			return i + 1
		case '\n':
			return -1
		}
	}
	return -1
}

func isNameStart(c byte) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// nameEnd returns the index after the name that begins at s[i].
func nameEnd(s string, i int) int {
	for i < len(s) && (isNameStart(s[i]) || s[i] >= '0' && s[i] <= '9') {
		i++
	}
	return i
}
