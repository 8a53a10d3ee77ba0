package shell

import (
	"regexp"
	"strings"
)

// harmful is the table of programs that are never part of a check, whatever their arguments are.
var harmful = byWord(map[Harm]string{
	Deletes: `rm rmdir unlink mkfs mv cp install truncate shred srm trash rename mmv dd wipefs fallocate split csplit ex ed
		zip cpio mkfifo mknod sponge vidir crudini dos2unix unix2dos`,
	System: `sudo doas su pkexec runuser kill killall pkill skill xkill shutdown reboot halt poweroff init telinit crontab at
		batch umount swapon swapoff fdisk sfdisk parted chown chgrp chroot nsenter unshare useradd userdel usermod
		groupadd passwd visudo iptables nft ufw modprobe insmod rmmod service launchctl update-alternatives apt apt-get
		aptitude dpkg dnf yum rpm zypper pacman apk brew port snap flatpak emerge nix-env pipx ldconfig loginctl
		systemd-run setcap setfacl chattr`,
	Sends: `ssh scp sftp rsync ftp lftp telnet nc ncat netcat socat gh glab hub heroku vercel netlify flyctl fly wrangler
		firebase twine sendmail mail mailx mutt aws gcloud gsutil az doctl rclone s3cmd ansible ansible-playbook pulumi
		serverless cdk http https xh httpie ab wrk surge`,
	Waits:  `vi vim nvim nano emacs pico less more man top htop watch yes screen tmux dialog whiptail select entr`,
	Hidden: `eval trap alias enable hash script expect parallel hyperfine unalias bind complete fc`,
})

func byWord(lists map[Harm]string) map[string]Harm {
	m := map[string]Harm{}
	for harm, list := range lists {
		for name := range set(list) {
			m[name] = harm
		}
	}
	return m
}

// starters are programs that start the one their arguments name, and how many operands stand before it.
var starters = map[string]int{
	"timeout": 1, "gtimeout": 1, "nice": 0, "ionice": 0, "env": 0, "nohup": 0, "time": 0, "gtime": 0, "command": 0, "exec": 0,
	"builtin": 0, "xargs": 0, "setsid": 0, "stdbuf": 0, "unbuffer": 0, "chronic": 0, "flock": 1, "taskset": 1, "chrt": 1,
	"busybox": 0, "toybox": 0, "strace": 0, "ltrace": 0, "valgrind": 0, "xvfb-run": 0, "caffeinate": 0, "npx": 0, "bunx": 0,
	"pnpx": 0, "uvx": 0, "faketime": 1, "prlimit": 0, "setarch": 1, "not": 0, "coverage": 1,
}

// subStarters are sub-commands that do the same.
var subStarters = map[string]map[string]bool{
	"npm": set("exec x"), "pnpm": set("exec dlx"), "yarn": set("exec dlx"), "bun": set("x"), "poetry": set("run"),
	"uv": set("run"), "pipenv": set("run"), "pdm": set("run"), "hatch": set("run"), "rye": set("run"), "pixi": set("run"),
	"conda": set("run"), "mamba": set("run"), "bundle": set("exec"), "mise": set("exec x"), "direnv": set("exec"),
	"nix": set("run shell develop"), "rbenv": set("exec"), "pyenv": set("exec"), "asdf": set("exec"),
}

// judged are programs whose arguments must be on the list of what only reads.
var judged = map[string]Harm{
	"git": Git, "find": Deletes, "fd": Deletes, "fdfind": Deletes, "sed": Deletes, "gsed": Deletes, "awk": Deletes,
	"gawk": Deletes, "mawk": Deletes, "nawk": Deletes, "sort": Deletes, "uniq": Deletes, "xxd": Deletes, "tree": Deletes,
	"docker": System, "podman": System, "kubectl": Sends, "systemctl": System, "sysctl": System, "date": System, "ip": System,
	"ifconfig": System, "mount": System, "dmesg": System, "hostname": System,
}

// subHarms are sub-commands, and targets, that a check must not name, by program.
var subHarms = map[string]map[string]Harm{
	"npm": nodeHarms, "pnpm": nodeHarms, "yarn": nodeHarms, "bun": nodeHarms,
	"cargo": byWord(map[Harm]string{Sends: "publish yank login logout owner", System: "install uninstall",
		Deletes: "clean fix add remove rm update new init"}),
	"go":     byWord(map[Harm]string{System: "install", Deletes: "clean get fmt fix"}),
	"gem":    byWord(map[Harm]string{Sends: "push yank owner signin", System: "install uninstall update cleanup"}),
	"poetry": byWord(map[Harm]string{Sends: "publish", Deletes: "add remove update cache"}),
	"uv":     byWord(map[Harm]string{Sends: "publish", System: "tool pip", Deletes: "add remove cache"}),
	"pip":    pipHarms, "pip3": pipHarms,
	"composer": byWord(map[Harm]string{System: "global", Deletes: "require remove update"}),
	"dotnet":   byWord(map[Harm]string{Sends: "nuget publish", System: "tool workload", Deletes: "clean"}),
	"mvn":      targetHarms, "mvnw": targetHarms, "gradle": targetHarms, "gradlew": targetHarms, "make": makeHarms, "gmake": makeHarms,
	"just": makeHarms, "task": makeHarms, "ninja": makeHarms, "rake": makeHarms, "invoke": makeHarms, "mage": makeHarms,
	"helm":      byWord(map[Harm]string{Sends: "install upgrade uninstall rollback push delete repo registry plugin test"}),
	"terraform": terraformHarms, "tofu": terraformHarms,
	"hg":        byWord(map[Harm]string{Git: "push pull commit update revert merge strip purge rm mv add"}),
	"svn":       byWord(map[Harm]string{Git: "commit ci update up revert switch delete rm add merge cleanup"}),
	"jj":        byWord(map[Harm]string{Git: "git new abandon squash rebase restore commit describe edit undo"}),
	"fossil":    byWord(map[Harm]string{Git: "commit push sync update rm"}),
	"redis-cli": byWord(map[Harm]string{Deletes: "del DEL flushall FLUSHALL flushdb FLUSHDB set SET expire EXPIRE shutdown SHUTDOWN"}),
}

var (
	nodeHarms = byWord(map[Harm]string{
		Sends:   "publish unpublish deprecate dist-tag login logout adduser token owner access team org profile star hook deploy release push upload",
		System:  "link unlink config set",
		Deletes: "uninstall un remove rm r prune update up upgrade cache version init create pkg add dedupe",
	})
	pipHarms       = byWord(map[Harm]string{System: "install uninstall config", Deletes: "cache download"})
	targetHarms    = byWord(map[Harm]string{Sends: "deploy publish release upload push"})
	makeHarms      = byWord(map[Harm]string{Sends: "deploy publish release upload push", System: "install uninstall", Deletes: "reset destroy drop purge wipe"})
	terraformHarms = byWord(map[Harm]string{Sends: "apply destroy import taint untaint state workspace login logout init"})
)

// buildTools take any number of targets; scriptRunners take the name of a script after run.
var (
	buildTools    = set("make gmake just task ninja rake invoke mage mvn mvnw gradle gradlew")
	scriptRunners = set("npm pnpm yarn bun")
)

// question is a statement that only asks.
var question = regexp.MustCompile(`(?i)^\s*(-[ec]\s*)?(select|with|explain|show|describe|desc|values|pragma|\.tables|\.schema|\\d|\\l|db\.)`)

// writingFlags are flags with which a program overwrites files in place, or starts others; "" holds those of every
// program that is called by its bare name.
var writingFlags = map[string]string{
	"":      "--fix --write --in-place --inplace --overwrite --autofix",
	"gofmt": "-w", "goimports": "-w", "gofumpt": "-w", "shfmt": "-w", "prettier": "-w", "clang-format": "-i", "autopep8": "-i",
	"yq": "-i", "rg": "--pre --hostname-bin", "chmod": "-R --recursive", "ln": "-f --force", "perl": "-i", "ruby": "-i",
	"patch": "-o", "npm": "-g --global --location", "pnpm": "-g --global", "yarn": "global", "bun": "-g --global",
	"diff": "-l --paginate --output", "jq": "-i", "tar": "--delete --remove-files --to-command --checkpoint-action",
	"openssl": "-out", "iconv": "-o --output", "tidy": "-m -modify", "make": "--eval", "xmllint": "-o --output", "gunzip": "", "markdownlint": "-f",
}

// unlessFlags are programs that overwrite unless one of these flags is there.
var unlessFlags = map[string]string{
	"black": "--check --diff --version", "isort": "--check --check-only --diff -c --version", "rustfmt": "--check --version",
	"patch": "--dry-run", "gzip": "-c -t -l --stdout --test --list -dc -cd", "gunzip": "-c -t -l --stdout --test --list",
	"xz": "-c -t -l --stdout --test --list -dc", "bzip2": "-c -t --stdout --test -dc", "zstd": "-c -t -l --stdout --test -dc",
	"unzip": "-l -t -p -v -Z -qt -tq", "tar": "-t -tf -tvf -tzf -ztf -tjf -tJf -tzvf -ztvf -tvzf --list t tf tvf tzf tzvf ztf --version",
	"7z": "l t", "cargo-fmt": "--check",
}

// lookingFlags are the calls of curl and wget that only fetch, and keep nothing.
var (
	curlLooks = &program{tame: true, short: "sSLfivIkgGjNn046#m:H:w:A:e:u:x:b:X:o:r:E:z:", long: `silent show-error location fail
		fail-with-body include verbose head insecure globoff get max-time: connect-timeout: header: write-out: user-agent:
		referer: user: proxy: cookie: request: output: range: retry: retry-delay: retry-connrefused retry-all-errors
		retry-max-time: compressed url: ipv4 ipv6 http1.1 http2 no-buffer cacert: cert: key: resolve: unix-socket: noproxy:
		max-redirs: path-as-is version help`, check: fetches}
	wgetLooks = &program{tame: true, short: "qSnvO:T:t:U:", long: `quiet server-response no-verbose output-document: timeout:
		tries: spider user-agent: header: no-check-certificate max-redirect: version help`, check: fetches}
)

// fetches refuses methods that change something, and files to write.
func fetches(c call) string {
	for _, f := range c.flags {
		switch f.name {
		case "X", "request":
			if m := strings.ToUpper(f.value.text); m != "GET" && m != "HEAD" && m != "OPTIONS" || f.value.dyn {
				return "the method sends"
			}
		case "o", "output", "O", "output-document":
			if !streams[f.value.text] || f.value.dyn {
				return "the answer is kept in a file"
			}
		}
	}
	return ""
}

// destructive is code on the line of an interpreter, or in the words of a database, that a check must not run.
var (
	destructive = regexp.MustCompile(`(?i)\b(rmtree|rmdir|unlink\w*|os\.remove\w*|os\.rename\w*|os\.replace|shutil|subprocess|popen|os\.system|` +
		`os\.exec\w*|spawn\w*|child_process|execSync|execFile\w*|writeFile\w*|appendFile\w*|rmSync|rm_rf|rm_r|FileUtils|File\.(delete|write|rename)|` +
		`write_text|write_bytes|truncate|shell_exec|passthru|file_put_contents|urlretrieve|requests\.(post|put|delete|patch)|smtplib|ftplib|paramiko|` +
		`os\.kill|process\.kill|system|exec|qx|eval|pty|ctypes)\b|open\s*\([^)]*,\s*(mode\s*=\s*)?['"][^'"]*[wax+]`)
	changingSQL = regexp.MustCompile(`(?i)\b(drop|delete|truncate|update|insert|alter|create|replace|grant|revoke|vacuum|attach|reindex|into\s+outfile|copy)\b|\.(import|restore|read|output|once|shell|system|save|backup|clone)\b|\\!`)
)

// interpreters are programs that run code: how the flag is called that gives it on the line.
var interpreters = map[string]string{
	"python": "c", "python2": "c", "python3": "c", "pypy": "c", "pypy3": "c", "perl": "eE", "ruby": "e", "node": "ep", "nodejs": "ep",
	"deno": "", "php": "r", "lua": "e", "luajit": "e", "Rscript": "e", "osascript": "e", "tclsh": "", "ts-node": "e", "guile": "c", "swipl": "g",
}

// shells run lines.
var shells = set("bash sh dash zsh ksh mksh ash rbash fish")

// databases run statements that stand on the line.
var databases = set("sqlite3 psql mysql mariadb duckdb mongo mongosh clickhouse-client sqlcmd cockroach")
