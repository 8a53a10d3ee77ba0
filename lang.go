package flower

import (
	"embed"
	"fmt"
	"strings"
	"sync"
	"text/template"
)

// Lang is the language in which flower speaks to models: role prompts and the words between them.
type Lang string

// The languages with prompts of their own. Any other uses the English ones.
const (
	English Lang = "en"
	Chinese Lang = "zh"
)

//go:embed prompts
var promptFiles embed.FS

// prompts holds, for each language, the role prompts (one file each) and the messages (templates of messages.tmpl). They are
// parsed when they are first needed.
var prompts = map[Lang]func() *template.Template{
	English: sync.OnceValue(func() *template.Template { return loadPrompts(English) }),
	Chinese: sync.OnceValue(func() *template.Template { return loadPrompts(Chinese) }),
}

func loadPrompts(lang Lang) *template.Template {
	t := template.New(string(lang)).Option("missingkey=error")
	return template.Must(t.ParseFS(promptFiles, "prompts/"+string(lang)+"/*"))
}

// say renders one of the messages.
func say(lang Lang, name string, data map[string]any) string {
	t, ok := prompts[lang]
	if !ok {
		t = prompts[English]
	}
	var out strings.Builder
	if err := t().ExecuteTemplate(&out, name, data); err != nil {
		panic(fmt.Sprintf("render %s: %v", name, err)) // a template and its call are both ours; a test renders all of them
	}
	return strings.TrimSpace(out.String())
}

// role returns the system prompt of a role.
func role(lang Lang, name string) string { return say(lang, name+".md", nil) }
