package shell

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// programs is the allow-list: every program a line may start, by the name it is
// called with. Flags are those of the GNU tools, with the letters of the BSD ones
// where they do no harm. Left out everywhere: what writes, starts programs, follows,
// repeats, waits for keys, or prints the environment.
var programs = merge(filePrograms, textPrograms, systemPrograms, map[string]*program{
	"git":       {whole: judgeGit},
	"docker":    {whole: judgeDocker},
	"kubectl":   {whole: judgeKubectl},
	"systemctl": {whole: judgeSystemctl},
})

func merge(tables ...map[string]*program) map[string]*program {
	all := map[string]*program{}
	for _, t := range tables {
		maps.Copy(all, t)
	}
	return all
}

// filePrograms show files and directories, and print words.
var filePrograms = map[string]*program{
	"ls":   listing,
	"dir":  listing,
	"vdir": listing,
	"pwd":  {short: "LP", none: true, tame: true},
	"df": {tame: true, short: "aB:hHiklPt:Tx:", long: `all block-size: human-readable si inodes
		local no-sync output:: portability type: exclude-type: print-type total`},
	"du": {tame: true, short: "0aB:bcDd:hHklLmPSst:x", long: `null all apparent-size block-size:
		bytes total dereference-args max-depth: human-readable si inodes count-links
		dereference no-dereference separate-dirs summarize threshold: time:: time-style:
		exclude: one-file-system`},
	"cat": {tame: true, reads: true, short: "AbeEnstTuv", long: `show-all number-nonblank
		show-ends number squeeze-blank show-tabs show-nonprinting`},
	"tac": {tame: true, reads: true, short: "brs:", long: "before regex separator:"},
	"head": {tame: true, reads: true, digits: true, short: "c:n:qvz",
		long: "bytes: lines: quiet silent verbose zero-terminated"},
	"tail": {tame: true, reads: true, digits: true, short: "c:n:qvz",
		long: "bytes: lines: quiet silent verbose zero-terminated", check: checkTail},
	"wc":   {tame: true, reads: true, short: "cmlLw", long: "bytes chars lines max-line-length words total:"},
	"stat": {tame: true, short: "Lfc:tFlnqrsx", long: "dereference file-system format: printf: terse cached:"},
	"file": {tame: true, reads: true, short: "bhiIkLNnrvF:e:0", long: `brief mime mime-type
		mime-encoding keep-going dereference no-dereference no-pad no-buffer separator:
		raw extension apple print0 exclude: exclude-quiet:`},
	"find": {whole: judgeFind},
	// Some versions of tree take the value of a letter from the next word even when
	// more letters follow, so that "-Lo 2 out" writes a file.
	"tree": {apart: true, short: "adfilxL:P:I:pugshDFqNQrtcUvACSnJXH:T:", long: `dirsfirst
		filesfirst noreport charset: filelimit: timefmt: du si prune matchdirs ignore-case
		gitignore sort: inodes device nolinks metafirst`},
	"echo":     {whole: anything},
	"printf":   {whole: judgePrintf},
	"cd":       {whole: judgeCd},
	"test":     {whole: judgeTest},
	"[":        {whole: judgeBracket},
	"true":     {whole: anything},
	"false":    {whole: anything},
	":":        {whole: anything},
	"basename": {tame: true, short: "as:z", long: "multiple suffix: zero"},
	"dirname":  {tame: true, short: "z", long: "zero"},
	"realpath": {tame: true, short: "emLPqsz", long: `canonicalize-existing canonicalize-missing
		logical physical quiet strip no-symlinks zero relative-to: relative-base:`},
	"readlink": {tame: true, short: "fenmqsvz", long: `canonicalize canonicalize-existing
		canonicalize-missing no-newline quiet silent verbose zero`},
	"md5sum":    checksum,
	"sha1sum":   checksum,
	"sha224sum": checksum,
	"sha256sum": checksum,
	"sha384sum": checksum,
	"sha512sum": checksum,
	"b2sum":     checksum,
	"cksum":     {tame: true, reads: true},
	"od":        {tame: true, reads: true, short: "A:j:N:t:vabcdfilosx", long: "address-radix: skip-bytes: read-bytes: format: output-duplicates width::"},
	"hexdump":   {tame: true, reads: true, short: "bcCdn:os:vx"},
	"strings": {tame: true, reads: true, short: "an:t:e:fo", long: "all print-file-name bytes: radix: encoding:",
		check: func(c call) string {
			for _, o := range c.operands {
				if strings.HasPrefix(o.text, "@") {
					return "a file with more arguments is not on the line"
				}
			}
			return ""
		}},
	"xxd":    {whole: judgeXxd},
	"base64": {reads: true, short: "dDw:", long: "decode wrap: ignore-garbage"},
	"shasum": {tame: true, reads: true, short: "a:bct", long: "algorithm: binary check text"},
	"zcat":   {reads: true},
	// -x and -X start programs, and so does -l.
	"fd":     fdFind,
	"fdfind": fdFind,
	"cmp":    {tame: true, reads: true, short: "bi:ln:s", long: "print-bytes ignore-initial: verbose bytes: quiet silent"},
}

var fdFind = &program{short: "HIusigFaLp0qd:t:e:E:S:c:", long: `hidden no-ignore no-ignore-vcs unrestricted
	case-sensitive ignore-case glob fixed-strings absolute-path follow full-path print0 quiet max-depth:
	min-depth: exact-depth: type: extension: exclude: size: changed-within: changed-before: color:
	max-results: strip-cwd-prefix`}

// judgeXxd accepts flags of one letter, alone or with a number, before one file: a second is written, and what stands
// after the first is no flag.
func judgeXxd(args []word) string {
	for i := 0; i < len(args); i++ {
		w := args[i]
		if w.glob || w.dyn {
			return fmt.Sprintf("%s is not a plain word", clip(w.text))
		}
		if len(w.text) < 2 || w.text[0] != '-' {
			if i+1 < len(args) {
				return "what stands after the file may be written"
			}
			return endless(w)
		}
		switch rest := w.text[2:]; {
		case set("-a -b -e -E -i -p -u")[w.text]:
		case strings.IndexByte("clsg", w.text[1]) < 0:
			return fmt.Sprintf("the flag %s is not on the list of harmless ones", clip(w.text))
		case isDigits(rest):
		case rest != "" || i+1 == len(args) || !isDigits(args[i+1].text):
			return fmt.Sprintf("the flag %s has no plain number", clip(w.text))
		default:
			i++
		}
	}
	return ""
}

var listing = &program{
	tame:  true,
	short: "aAbBcCdDfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1@%",
	long: `all almost-all author escape block-size: ignore-backups color:: directory dired
		classify:: file-type format: full-time group-directories-first no-group human-readable
		si dereference-command-line dereference-command-line-symlink-to-dir hide: hyperlink::
		indicator-style: inode ignore: kibibytes dereference numeric-uid-gid literal
		hide-control-chars show-control-chars quote-name quoting-style: reverse recursive size
		sort: time: time-style: tabsize: width: context zero`,
}

var checksum = &program{tame: true, reads: true, short: "bctwz",
	long: "binary check tag text zero ignore-missing quiet status strict warn"}

// anything accepts whatever it is given: the program takes every argument for text.
func anything([]word) string { return "" }

// checkTail keeps the old spelling "+10f" out, which follows, and values that are no numbers but flags.
func checkTail(c call) string {
	for _, f := range c.flags {
		if f.has && !startsWithDigit(strings.TrimLeft(f.value.text, "+-")) {
			return fmt.Sprintf("%s is no number", clip(f.value.text))
		}
	}
	for _, o := range c.operands {
		if n, ok := strings.CutPrefix(o.text, "+"); ok && !isDigits(n) {
			return fmt.Sprintf("%s may mean to follow the file", clip(o.text))
		}
	}
	return ""
}

func startsWithDigit(s string) bool { return s != "" && isDigits(s[:1]) }

// judgePrintf keeps -v out, which evaluates a subscript, and %n, which assigns.
func judgePrintf(args []word) string {
	if len(args) > 0 && args[0].text == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return "there is no format"
	}
	format := args[0]
	if format.glob || strings.HasPrefix(format.text, "-") {
		return fmt.Sprintf("%s is not a plain format", clip(format.text))
	}
	for rest := format.text; ; {
		_, after, ok := strings.Cut(rest, "%")
		if !ok {
			return ""
		}
		if flags, _, _ := strings.Cut(after, "%"); strings.HasPrefix(strings.TrimLeft(flags, "-+ #0'."), "*") && slices.ContainsFunc(args[1:], big) {
			return "the width could be without bound"
		}
		after = strings.TrimLeft(after, "-+ #0123456789.*'")
		if after == "" || strings.IndexByte("diouxXfFeEgGaAcsbq%", after[0]) < 0 {
			return "the format holds a conversion that is not on the list"
		}
		rest = after[1:]
	}
}

// findTests are the words of a find expression and how many arguments each takes.
var findTests = func() map[string]int {
	m := map[string]int{"(": 0, ")": 0, "!": 0, ",": 0}
	for _, f := range strings.Fields(`-print -print0 -ls -prune -quit -empty -daystart -depth -d
		-mount -xdev -noleaf -nouser -nogroup -readable -writable -executable -true -false -a
		-and -o -or -not -follow -warn -nowarn -ignore_readdir_race -noignore_readdir_race`) {
		m[f] = 0
	}
	for _, f := range strings.Fields(`-name -iname -path -ipath -wholename -iwholename -regex
		-iregex -lname -ilname -type -xtype -size -mtime -atime -ctime -mmin -amin -cmin -newer
		-anewer -cnewer -perm -user -group -uid -gid -links -inum -samefile -maxdepth -mindepth
		-fstype -used -printf -regextype`) {
		m[f] = 1
	}
	for _, x := range "aBcm" {
		for _, y := range "aBcmt" {
			m["-newer"+string(x)+string(y)] = 1
		}
	}
	return m
}()

// judgeFind reads options, then starting points, then the expression.
func judgeFind(args []word) string {
	i := 0
	for i < len(args) && set("-H -L -P -O0 -O1 -O2 -O3")[args[i].text] {
		i++
	}
	for ; i < len(args); i++ {
		w := args[i]
		if w.lead {
			return fmt.Sprintf("a file name matching %s could be taken for an action; write ./ before it, or quote it", clip(w.text))
		}
		if strings.HasPrefix(w.text, "-") || w.text == "(" || w.text == "!" {
			break
		}
	}
	for ; i < len(args); i++ {
		n, ok := findTests[args[i].text]
		if !ok || args[i].glob || args[i].dyn {
			return fmt.Sprintf("%s is not on the list of harmless tests", clip(args[i].text))
		}
		if i += n; i >= len(args) {
			return fmt.Sprintf("%s has no value", args[i-n].text)
		}
		if n == 1 && args[i].glob {
			return fmt.Sprintf("the shell expands %s before find sees it; quote it", clip(args[i].text))
		}
	}
	return ""
}
