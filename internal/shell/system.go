package shell

import (
	"fmt"
	"slices"
	"strings"
)

// systemPrograms show the state of the machine and where programs are.
var systemPrograms = map[string]*program{
	"free":   {none: true, short: "bkmghltvw", long: "bytes kilo mega giga tera kibi mebi gibi tebi human si lohi total line committed wide"},
	"uptime": {none: true, short: "ps", long: "pretty since"},
	"date": {short: "uRI::d:r:", long: `utc universal rfc-email rfc-2822 iso-8601:: rfc-3339: date:
		reference: debug resolution`, check: checkDate},
	"whoami":   {none: true},
	"hostname": {none: true, short: "fsiIdA", long: "fqdn long short ip-address all-ip-addresses domain all-fqdns"},
	"id":       {tame: true, short: "ugGnrzaZ", long: "user group groups name real zero context"},
	"groups":   {tame: true},
	"logname":  {none: true},
	"who":      {reads: true, short: "abdHlmpqrsTtu", long: "all boot dead heading login count runlevel short time users mesg"},
	"w":        {short: "hsfiop", long: "no-header short from ip-addr old-style pids"},
	"users":    {none: true},
	"tty":      {none: true, short: "s"},
	"uname": {none: true, short: "asnrvmpio", long: `all kernel-name nodename kernel-release
		kernel-version machine processor hardware-platform operating-system`},
	"arch":    {none: true},
	"nproc":   {none: true, long: "all ignore:"},
	"lscpu":   {none: true, short: "aepJy", long: "all extended:: parse:: json"},
	"lsblk":   {short: "abdfilmnpPrstJo:e:I:", long: "all bytes nodeps fs ascii list perms noheadings paths pairs raw topology json output: exclude: include:"},
	"vmstat":  {none: true, short: "afimstwS:", long: "active forks stats slabs timestamp wide unit:"},
	"locale":  {short: "amck", long: "all-locales charmaps category-name keyword-name"},
	"getconf": {short: "a", max: 2},
	"sw_vers": {whole: func(args []word) string {
		return only(args, "-productName -productVersion -buildVersion --productName --productVersion --buildVersion --productVersionExtra")
	}},
	"ps":   {whole: judgePs},
	"jobs": {short: "lnprs"},
	"lsof": {whole: judgeLsof},
	// No letter w: elsewhere it is the pause between repetitions.
	"netstat": {none: true, short: "aelnoprstuvxgi46", long: `all listening numeric numeric-hosts
		numeric-ports numeric-users tcp udp programs route interfaces statistics extend verbose
		groups timers inet inet6 unix wide`},
	// -K closes, -D and -F use files, -N enters a namespace, -E never ends.
	"ss": {short: "aHlnrOoempiTsbztuwx0146dSVf:A:", long: `all no-header listening numeric resolve oneline options
		extended memory processes info tcp-info threads summary bpf context tcp udp raw unix packet
		ipv4 ipv6 sctp vsock family: query:`},
	"pgrep": {short: "acd:fg:G:ilnoP:s:t:u:U:vwx", long: `list-full count delimiter: full pgroup:
		group: ignore-case list-name newest oldest parent: session: terminal: euid: uid: inverse
		lightweight exact`},
	"pidof":    {short: "cnqsxo:S:"},
	"top":      {none: true, short: "bn:cHio:p:u:l:", check: checkTop},
	"ip":       {whole: judgeIP},
	"ifconfig": {none: true, short: "a"},
	"mount":    {none: true, short: "lt:v"},
	"findmnt":  {short: "lJnruDCbo:t:S:T:"},
	"lsmod":    {none: true},
	"sysctl":   {short: "anNbeq", check: checkSysctl},
	// -c and -C clear, -D, -E and -n set, -w follows, -H starts a pager.
	"dmesg":   {none: true, short: "TtxkuedrPf:l:"},
	"ulimit":  {none: true, short: "aHSbcdefiklmnpqrstuvxPR"},
	"umask":   {none: true, short: "Sp"},
	"cal":     {tame: true, max: 2, short: "13jmywhMSN"},
	"ncal":    {tame: true, max: 2, short: "13jmywhMSN"},
	"command": {whole: judgeCommand},
	"type":    {short: "afptP"},
	"which":   {short: "as", long: "all"},
	"whereis": {short: "bmsu"},
}

// only accepts arguments that are words of list.
func only(args []word, list string) string {
	allowed := set(list)
	for _, a := range args {
		if !allowed[a.text] || a.glob || a.dyn {
			return fmt.Sprintf("%s is not on the list of harmless arguments", clip(a.text))
		}
	}
	return ""
}

// checkDate wants every operand to be an output format: a number sets the clock.
func checkDate(c call) string {
	for _, o := range c.operands {
		if !strings.HasPrefix(o.text, "+") || o.glob {
			return fmt.Sprintf("%s could set the clock", clip(o.text))
		}
	}
	return ""
}

// checkTop wants few samples in print.
func checkTop(c call) string {
	few := false
	for _, f := range c.flags {
		if f.name == "n" && c.has("b") || f.name == "l" { // l is the letter of a Mac
			if !set("1 2 3")[f.value.text] || f.value.dyn {
				return "it takes too many samples"
			}
			few = true
		}
	}
	if !few {
		return "without -b and -n 1 it never ends"
	}
	return ""
}

// checkSysctl wants names: with a value they are set.
func checkSysctl(c call) string {
	for _, o := range c.operands {
		if strings.Contains(o.text, "=") || o.glob || o.dyn {
			return fmt.Sprintf("%s could set a value", clip(o.text))
		}
	}
	return ""
}

// ipFlags change only what is printed.
var ipFlags = set("-4 -6 -o -s -d -br -brief -j -json -p -pretty -c -color=never -color=auto")

// ipObjects are what may be listed. Verbs may be shortened, so only whole ones count.
var ipObjects = set("a addr address l link r route ru rule n neigh neighbor maddr")

// judgeIP accepts lists.
func judgeIP(args []word) string {
	for _, a := range args {
		if a.glob || a.dyn {
			return fmt.Sprintf("%s is not a plain word", clip(a.text))
		}
	}
	for len(args) > 0 && ipFlags[args[0].text] {
		args = args[1:]
	}
	switch {
	case len(args) == 0 || !ipObjects[args[0].text]:
		return "only lists of addresses, links, routes, rules and neighbours are on the list"
	case len(args) > 1 && !set("show list ls")[args[1].text]:
		return fmt.Sprintf("%s is not on the list of harmless questions", clip(args[1].text))
	}
	return ""
}

// judgeCommand accepts the question where a program is; without it, command runs one.
func judgeCommand(args []word) string {
	if len(args) < 2 || args[0].text != "-v" && args[0].text != "-V" {
		return "without -v first it runs its argument"
	}
	for _, a := range args[1:] {
		if strings.HasPrefix(a.text, "-") || a.lead {
			return fmt.Sprintf("%s could be taken for a flag", clip(a.text))
		}
	}
	return ""
}

// psFormats are columns of ps; the environment is not among them.
var psFormats = set(`pid ppid pgid pgrp sid sess session user uid euser euid ruser ruid group gid
	egroup egid rgroup comm cmd args command ucmd ucomm fname %cpu pcpu c cp %mem pmem rss rssize rsz
	vsz vsize sz size drs trs stat state s start start_time stime lstart bsdstart etime etimes time
	cputime cputimes bsdtime tty tt tname nice ni pri priority opri rtprio psr cls policy wchan flags
	f nlwp thcount lwp tid spid cgroup ipcns label lxc machine maj_flt min_flt ouid slice unit jobc`)

// judgePs knows ps's two kinds of letters. In the old kind, without a dash, e shows
// the environment; and ps reads a dashed cluster that makes no sense in the new kind
// again as the old one. So a dashed e is accepted only where every other word is
// certain to make sense.
func judgePs(args []word) string {
	selects, every, risky := 0, false, false
	for i := 0; i < len(args); i++ {
		w := args[i].text
		if args[i].glob || args[i].dyn {
			return fmt.Sprintf("%s is not a plain word", clip(w))
		}
		var next string
		if i+1 < len(args) && !args[i+1].glob && !args[i+1].dyn {
			next = args[i+1].text
		}
		var r psWord
		switch {
		case strings.HasPrefix(w, "--"):
			r = psLong(w[2:], next)
		case strings.HasPrefix(w, "-"):
			r = psDashed(w[1:], next)
		default:
			r = psOld(w, next)
		}
		if r.reason != "" {
			return r.reason
		}
		if r.selects {
			selects++
		}
		every = every || r.every
		risky = risky || r.risky
		if r.used {
			i++
		}
	}
	if every && selects > 0 || risky && selects > 1 {
		return "a letter e together with another selection could show the environment"
	}
	return ""
}

// psWord is what one word of a ps line does.
type psWord struct {
	reason  string
	used    bool // it took the next word as its value
	selects bool // ps may reject it and read the line the old way
	every   bool // it is -e
	risky   bool // it is the name of a program with an e in it
}

func psLong(s, next string) psWord {
	name, v, has := strings.Cut(s, "=")
	switch name {
	case "forest", "no-headers", "no-heading", "headers", "cumulative", "deselect":
		if !has {
			return psWord{selects: name == "deselect"}
		}
	case "sort", "format":
		if !has {
			v = next
		}
		return psWord{reason: psColumns(v), used: !has}
	case "cols", "columns", "width", "rows", "lines", "pid", "ppid", "user", "group", "tty", "sid":
		if !has {
			v = next
		}
		if v != "" {
			return psWord{used: !has, selects: true}
		}
	}
	return psWord{reason: fmt.Sprintf("the flag %s is not on the list of harmless ones", clip("--"+s))}
}

func psDashed(s, next string) psWord {
	// -aux and its kin are read the old way.
	if old, columns := strings.CutSuffix(s, "o"); strings.ContainsRune(old, 'x') && strings.Trim(old, "aAuxwfjlrTv") == "" {
		if columns {
			return psWord{reason: psColumns(next), used: true, selects: true}
		}
		return psWord{selects: true}
	}
	for i, c := range s {
		switch {
		case c == 'e':
			r := psDashed(s[i+1:], next)
			r.every = true
			return r
		case strings.ContainsRune("AadfFlLjHwycMTZ", c):
		case strings.ContainsRune("oO", c):
			if rest := s[i+1:]; rest != "" {
				return psWord{reason: psColumns(rest)}
			}
			return psWord{reason: psColumns(next), used: true}
		case strings.ContainsRune("CpgGuUts", c):
			return psSelect(c, s[i+1:], next)
		default:
			return psWord{reason: fmt.Sprintf("the flag %s is not on the list of harmless ones", clip("-"+s))}
		}
	}
	return psWord{}
}

// psSelect judges a flag that selects by a list. When ps finds nobody of that name
// it reads the line the old way, so a name with an e in it must not fail.
func psSelect(letter rune, glued, next string) psWord {
	list := glued
	if list == "" {
		list = next
	}
	switch {
	case isDigits(strings.ReplaceAll(list, ",", "")):
		return psWord{used: glued == "", selects: true}
	case glued != "" || list == "" || list[0] == '-' || letter != 'C' && strings.Contains(list, "e"):
		return psWord{reason: fmt.Sprintf("the value of -%c is not certain to make sense to ps", letter)}
	}
	return psWord{used: true, selects: true, risky: strings.Contains(list, "e")}
}

// psOld judges letters without a dash, and process numbers.
func psOld(s, next string) psWord {
	if isDigits(strings.ReplaceAll(s, ",", "")) {
		return psWord{selects: true}
	}
	letters, wants := strings.CutSuffix(s, "o")
	if strings.Trim(letters, "auxwfjlvrTShmLHgc") != "" {
		return psWord{reason: fmt.Sprintf("the letters %s are not on the list of harmless ones", clip(s))}
	}
	if wants {
		return psWord{reason: psColumns(next), used: true, selects: true}
	}
	return psWord{selects: true}
}

// psColumns judges a list of columns or sort keys.
func psColumns(list string) string {
	for f := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		f = strings.TrimLeft(f, "+-")
		f, _, _ = strings.Cut(f, "=")
		f, _, _ = strings.Cut(f, ":")
		if !psFormats[f] {
			return fmt.Sprintf("the column %s is not on the list", clip(f))
		}
	}
	if list == "" {
		return "a flag has no value"
	}
	return ""
}

// lsofFlags are the flags of lsof with a dash. -D may write a cache, -r repeats.
var lsofFlags = &program{short: "anPtUlRbOHNwi::p:u:c:d:s::F::g::T::"}

// judgeLsof adds the one flag with a plus sign: +D and +d name a directory.
func judgeLsof(args []word) string {
	for i := 0; i < len(args); i++ {
		w := args[i].text
		if !strings.HasPrefix(w, "+") {
			continue
		}
		if w != "+D" && w != "+d" || i+1 == len(args) {
			return fmt.Sprintf("the flag %s is not on the list of harmless ones", clip(w))
		}
		rest := slices.Concat(args[:i], args[i+2:])
		if args[i+1].glob || strings.HasPrefix(args[i+1].text, "-") {
			return fmt.Sprintf("%s is not a plain directory", clip(args[i+1].text))
		}
		return judgeLsof(rest)
	}
	for _, a := range args {
		if a.lead {
			return fmt.Sprintf("a file name matching %s could be taken for a flag; write ./ before it", clip(a.text))
		}
	}
	return lsofFlags.judge(args)
}
