package text

import (
	"embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/language"
)

// Lang is a language of the interface, by its two letters.
type Lang string

// English is spoken when nothing says otherwise, and has every message.
const English Lang = "en"

//go:embed catalogue/*.json
var catalogues embed.FS

// bundles has what was read of the catalogues: of a process that speaks one language no others.
var bundles struct {
	mu sync.Mutex
	of map[Lang]*i18n.Bundle
}

// bundle reads the catalogue of a language, and the English one, at first use.
func bundle(lang Lang) *i18n.Bundle {
	bundles.mu.Lock()
	defer bundles.mu.Unlock()
	if b := bundles.of[lang]; b != nil {
		return b
	}
	b := i18n.NewBundle(language.English)
	for _, l := range Languages() {
		if l != English && l != lang {
			continue
		}
		name := "catalogue/" + string(l) + ".json"
		data, err := catalogues.ReadFile(name)
		if err == nil {
			_, err = b.ParseMessageFileBytes(data, path.Base(name))
		}
		if err != nil {
			panic(fmt.Sprintf("read catalogue %s: %v", l, err)) // a file of our own; a test reads all of them
		}
	}
	if bundles.of == nil {
		bundles.of = make(map[Lang]*i18n.Bundle)
	}
	bundles.of[lang] = b
	return b
}

// Languages are the languages there is a catalogue for, in alphabetical order.
func Languages() []Lang {
	files, err := catalogues.ReadDir("catalogue")
	if err != nil {
		panic(err) // embedded
	}
	var langs []Lang
	for _, f := range files {
		langs = append(langs, Lang(strings.TrimSuffix(f.Name(), ".json")))
	}
	return langs
}

// UnknownLangError is a language there is no catalogue for.
type UnknownLangError struct{ Lang string }

// Error implements error.
func (e *UnknownLangError) Error() string {
	return fmt.Sprintf("unknown language %q, there are %v", e.Lang, Languages())
}

// Choose decides the language: the one asked for (by a flag), FLOWER_LANG, then the locale, whose first variable that
// is set decides (LC_ALL, LC_MESSAGES, LANG), then English. Only a language that was asked for and is not there is an
// error: *UnknownLangError, in which the language is the one without having been asked. getenv is os.Getenv or the like.
func Choose(asked string, getenv func(string) string) (Lang, error) {
	if asked == "" {
		return unasked(getenv), nil
	}
	if lang, ok := find(asked); ok {
		return lang, nil
	}
	return unasked(getenv), &UnknownLangError{Lang: asked}
}

// unasked is the language when none was asked for.
func unasked(getenv func(string) string) Lang {
	if lang, ok := find(getenv("FLOWER_LANG")); ok {
		return lang
	}
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if value := getenv(name); value != "" {
			lang, ok := find(value)
			if !ok {
				return English
			}
			return lang
		}
	}
	return English
}

// find reads a language or a locale: zh, zh-Hans, zh_CN.UTF-8.
func find(name string) (Lang, bool) {
	name = strings.ToLower(name)
	if i := strings.IndexAny(name, "_-.@"); i >= 0 {
		name = name[:i]
	}
	lang := Lang(name)
	return lang, slices.Contains(Languages(), lang)
}

// Printer says messages in one language. It is safe for concurrent use.
type Printer struct {
	lang Lang
	loc  *i18n.Localizer
}

// NewPrinter returns the printer of a language; one without a catalogue speaks English.
func NewPrinter(lang Lang) *Printer {
	return &Printer{lang: lang, loc: i18n.NewLocalizer(bundle(lang), string(lang), string(English))}
}

// Lang is the printer's language.
func (p *Printer) Lang() Lang { return p.lang }

// Data fills the places of a message. The key N chooses between one and many.
type Data map[string]any

// Say returns a message. One that no catalogue has comes out as its id between marks, which tests look for: people see
// a strange word instead of a crash.
func (p *Printer) Say(id string, data ...Data) string {
	config := &i18n.LocalizeConfig{MessageID: id}
	all := Data{}
	for _, d := range data {
		maps.Copy(all, d)
	}
	config.TemplateData = map[string]any(all)
	if n, ok := all["N"]; ok {
		config.PluralCount = n
	}
	said, err := p.loc.Localize(config)
	if said == "" && err != nil {
		return "[[" + id + "]]"
	}
	return said
}
