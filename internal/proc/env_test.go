package proc

import (
	"reflect"
	"strings"
	"testing"
)

func TestScrubEnv(t *testing.T) {
	const ours = "value-of-our-own-key"
	keep := []string{
		"PATH=/usr/bin:/bin", "HOME=/home/ann", "LANG=C.UTF-8", "LC_ALL=C", "PWD=/x", "OLDPWD=/y", "USER=ann", "TERM=xterm",
		"SHELL=/bin/bash", "TMPDIR=/tmp", "EDITOR=vi", "GOPATH=/go", "GOFLAGS=-mod=mod", "SSH_AUTH_SOCK=/tmp/agent",
		"XDG_CONFIG_HOME=/c", "ANTHROPIC_BASE_URL=https://api.example.com", "ANTHROPIC_MODEL=m", "AWS_REGION=eu", "AWS_PROFILE=p",
		"MAX_OUTPUT_TOKENS=100", "TOKENIZERS_PARALLELISM=false", "KEYBOARD=de", "MONKEY=1", "PASSAGE=1", "COMPASS=n", "AUTHOR=ann",
		"HTTP_PROXY=http://proxy:3128", "EMPTY=", "EQ=a=b", "URL=http://h:80/@x", "MAIL=ann@example.com", "PATTERN=x",
	}
	drop := []string{
		"ANTHROPIC_API_KEY=x", "ANTHROPIC_AUTH_TOKEN=x", "ANTHROPIC_CUSTOM_HEADERS=x", "CLAUDE_CODE_OAUTH_TOKEN=x",
		"OPENAI_API_KEY=x", "AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x", "AWS_SESSION_TOKEN=x", "GITHUB_TOKEN=x", "GH_PAT=x",
		"GITHUBTOKEN=x", "GOOGLE_APPLICATION_CREDENTIALS=x", "CLIENT_SECRET=x", "MYSECRETS=x", "DB_PASSWORD=x", "PGPASSWORD=x",
		"SMTP_PASS=x", "MYSQL_PWD=x", "SSH_PASSPHRASE=x", "DOCKER_AUTH_CONFIG=x", "NPM_AUTH=x", "npm_config__authtoken=x",
		"my_api_key=x", "SENTRY_DSN=x", "SESSION_COOKIE=x", "AZURE_STORAGE_CONNECTION_STRING=x", "APIKEY=x", "KEY=x", "TOKEN=x",
		"DATABASE_URL=postgres://ann:pw@db/x", "REDIS_URL=redis://:pw@r:6379", "HTTPS_PROXY=http://u:p@proxy:1",
		"OTHER_NAME=" + ours, "HEADER=Bearer " + ours,
		"BASH_ENV=/x", "ENV=/x", "PROMPT_COMMAND=x", "SHELLOPTS=xtrace", "BASHOPTS=x", "PS4=$(x)",
		"BASH_FUNC_ls%%=() { x; }", "ls=() { x; }", "noequals", "=x",
	}
	in := append(append([]string{}, drop...), keep...)
	if got := ScrubEnv(in, ours, "short", ""); !reflect.DeepEqual(got, keep) {
		for _, e := range drop {
			if len(ScrubEnv([]string{e}, ours)) > 0 {
				t.Errorf("kept %s", e)
			}
		}
		for _, e := range keep {
			if len(ScrubEnv([]string{e}, ours)) == 0 {
				t.Errorf("dropped %s", e)
			}
		}
		t.Errorf("got %s", strings.Join(got, " "))
	}
	if got := ScrubEnv([]string{"A=short"}, "short"); len(got) != 1 {
		t.Error("a secret too short to be one emptied the environment")
	}
	if got := ScrubEnv(nil); got == nil || len(got) != 0 {
		t.Errorf("nil gives %v: as a command's environment that would mean all of ours", got)
	}
}
