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

// The languages in which agents talk to the person though their prompts are English.
const (
	French   Lang = "fr"
	German   Lang = "de"
	Japanese Lang = "ja"
	Spanish  Lang = "es"
)

// spoken names these languages for models.
var spoken = map[Lang]string{French: "French", German: "German", Japanese: "Japanese", Spanish: "Spanish"}

//go:embed prompts
var promptFiles embed.FS

// prompts holds, for each language, the role prompts (one file each) and the messages (templates of messages.tmpl). They are
// parsed when they are first needed. A spoken language has the English ones, apart from what the person reads.
var prompts = func() map[Lang]func() *template.Template {
	all := map[Lang]func() *template.Template{
		English: sync.OnceValue(func() *template.Template { return loadPrompts(English) }),
		Chinese: sync.OnceValue(func() *template.Template { return loadPrompts(Chinese) }),
	}
	for lang := range spoken {
		all[lang] = sync.OnceValue(func() *template.Template { return loadPrompts(English, lang) })
	}
	return all
}()

// loadPrompts reads the files of languages; what a later one says goes before.
func loadPrompts(langs ...Lang) *template.Template {
	t := template.New("").Option("missingkey=error")
	for _, lang := range langs {
		template.Must(t.ParseFS(promptFiles, "prompts/"+string(lang)+"/*"))
	}
	return t
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

// role returns the system prompt of a role. In a language without prompts of its own it says which one to write in; the
// role is the same, so a session begun in another language goes on with what it was told.
func role(lang Lang, name string) string {
	prompt := say(lang, name+".md", nil)
	if language, ok := spoken[lang]; ok {
		prompt += "\n\n" + say(lang, "language", map[string]any{"Language": language})
	}
	return prompt
}
