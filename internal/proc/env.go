package proc

import (
	"regexp"
	"strings"
)

// secretWords are the words of a variable's name, between underscores, that
// mark its value as a credential wherever they stand.
var secretWords = map[string]bool{
	"KEY": true, "APIKEY": true, "TOKEN": true, "JWT": true, "BEARER": true, "COOKIE": true, "PASS": true, "DSN": true,
}

// secretEnds mark a credential only as the end of a name: PWD alone is the
// current directory, AUTH is also the first half of SSH_AUTH_SOCK.
var secretEnds = []string{"TOKEN", "APIKEY", "_PWD", "_AUTH", "_PAT"}

// secretParts mark a credential anywhere in a name.
var secretParts = []string{
	"SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CONNECTION_STRING", "AUTH_CONFIG", "CUSTOM_HEADERS",
}

// shellStart are the variables that make bash run or do something before the
// first word of a script.
var shellStart = map[string]bool{
	"BASH_ENV": true, "ENV": true, "PROMPT_COMMAND": true, "SHELLOPTS": true, "BASHOPTS": true,
	"BASH_XTRACEFD": true, "PS4": true,
}

// userinfo is a URL with a password in it.
var userinfo = regexp.MustCompile(`://[^/\s:@]*:[^/\s@]+@`)

// minSecret is the length from which a secret is looked for inside values: a
// shorter one would be found by chance.
const minSecret = 8

// ScrubEnv returns the entries of environ ("NAME=value") that a command may
// see. Left out are
//
//   - credentials by name, letter case ignored: a word KEY, TOKEN, PASS, …
//     between underscores, an end like _PWD, a part like SECRET or PASSWORD;
//   - credentials by value: a URL with a password, and any value that holds
//     one of secrets;
//   - what changes how bash starts: BASH_ENV, ENV, SHELLOPTS, … and exported
//     functions;
//   - entries without a name.
//
// The rule is wide on purpose: a variable missing from a command's environment
// is seen at once, a leaked key is not. SSH_AUTH_SOCK stays: it lets git use
// the agent and shows no key. environ is not changed.
func ScrubEnv(environ []string, secrets ...string) []string {
	kept := make([]string, 0, len(environ))
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || name == "" || startsShell(name, value) || secretName(name) || secretValue(value, secrets) {
			continue
		}
		kept = append(kept, entry)
	}
	return kept
}

func startsShell(name, value string) bool {
	return shellStart[name] || strings.HasPrefix(name, "BASH_FUNC_") || strings.HasPrefix(value, "() {")
}

func secretName(name string) bool {
	name = strings.ToUpper(name)
	for word := range strings.SplitSeq(name, "_") {
		if secretWords[word] {
			return true
		}
	}
	for _, end := range secretEnds {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	for _, part := range secretParts {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

func secretValue(value string, secrets []string) bool {
	for _, s := range secrets {
		if len(s) >= minSecret && strings.Contains(value, s) {
			return true
		}
	}
	return userinfo.MatchString(value)
}
