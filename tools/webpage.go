package tools

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// webPage is the body of an answer as text.
type webPage struct {
	text string
	kind string // the media type, without parameters
	part bool   // text is the main text only
}

// readPage makes text of a body. mediaType is what the server says, at is the address, for links. It is an error if the
// body is no text.
func readPage(body []byte, mediaType string, at *url.URL, full bool) (webPage, error) {
	kind, params, err := mime.ParseMediaType(mediaType)
	if err != nil || kind == "application/octet-stream" {
		kind, _, _ = mime.ParseMediaType(http.DetectContentType(body)) // it makes valid ones
		mediaType = kind
		if params["charset"] != "" {
			mediaType += "; charset=" + params["charset"]
		}
	}
	if !isText(kind) || isBinary(body) {
		return webPage{}, fmt.Errorf("it is no text but %s", oneLine(clip(kind, 100)))
	}
	text := decodeText(body, mediaType)
	p := webPage{kind: oneLine(clip(kind, 100)), text: text}
	if kind != "text/html" && kind != "application/xhtml+xml" {
		return p, nil
	}
	if !full {
		doc, base, err := parsePage(text, at)
		if err != nil {
			return webPage{}, err
		}
		if p.text, p.part = mainText(doc, base); p.part {
			return p, nil
		}
	}
	doc, base, err := parsePage(text, at) // anew: the search for the main text changes the tree
	if err != nil {
		return webPage{}, err
	}
	p.text, err = toMarkdown(doc, base)
	return p, err
}

// parsePage reads HTML. It returns the address that links are relative to as well, and leaves out what is in the page as
// base64, images mostly, which nobody can read.
func parsePage(text string, at *url.URL) (*html.Node, *url.URL, error) {
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return nil, nil, fmt.Errorf("the HTML cannot be read: %w", err)
	}
	base := at
	for n := range doc.Descendants() {
		for i, attr := range n.Attr {
			switch {
			case attr.Key == "href" && n.DataAtom == atom.Base:
				if u, err := at.Parse(strings.TrimSpace(attr.Val)); err == nil && u.Host != "" && base == at {
					base = u
				}
			case len(attr.Val) > 5 && strings.EqualFold(attr.Val[:5], "data:"):
				n.Attr[i].Val = "data:"
			}
		}
	}
	return doc, base, nil
}

// textual are media types besides text/* that are text.
var textual = map[string]bool{
	"application/json": true, "application/xml": true, "application/xhtml+xml": true, "application/javascript": true,
	"application/ecmascript": true, "application/x-javascript": true, "application/yaml": true, "application/x-yaml": true,
	"application/toml": true, "application/sql": true, "application/graphql": true, "application/x-sh": true,
	"application/x-ndjson": true, "application/jsonl": true, "application/rtf": true, "application/x-httpd-php": true,
	"application/x-tex": true, "application/typescript": true, "message/rfc822": true, "image/svg+xml": true,
}

func isText(kind string) bool {
	return strings.HasPrefix(kind, "text/") || textual[kind] || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+yaml")
}

// decodeText makes UTF-8 of a body, by its byte order mark, what the server says, or what the page says of itself. What
// is valid UTF-8 and says nothing is that.
func decodeText(body []byte, mediaType string) string {
	enc, name, sure := charset.DetermineEncoding(body, mediaType)
	if name == "utf-8" || !sure && utf8.Valid(trimRune(body)) {
		return strings.ToValidUTF8(string(bytes.TrimPrefix(body, []byte(markUTF8))), "\uFFFD")
	}
	out, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		out = body
	}
	return strings.ToValidUTF8(string(out), "\uFFFD")
}

// trimRune takes the beginning of a character from the end of text that was cut off.
func trimRune(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-n:]) {
				return b[:len(b)-n]
			}
			break
		}
	}
	return b
}

// Figures of the search for the main text: product settings.
const (
	pageElements = 50_000 // of a document; longer ones are taken as a whole
	mainTextMin  = 200    // bytes of Markdown; less is a sign that the search went wrong
)

// mainText is the main text of a page; false if it has none that can be told from the rest. It changes doc.
func mainText(doc *html.Node, at *url.URL) (string, bool) {
	parser := readability.NewParser()
	parser.MaxElemsToParse = pageElements
	article, err := parser.ParseAndMutate(doc, at)
	if err != nil || article.Node == nil {
		return "", false
	}
	text, err := toMarkdown(article.Node, at)
	if err != nil || len(text) < mainTextMin {
		return "", false
	}
	if title := strings.Join(strings.Fields(article.Title()), " "); title != "" {
		text = "# " + title + "\n\n" + text
	}
	return text, true
}

// toMarkdown renders a tree; links become complete addresses.
func toMarkdown(doc *html.Node, at *url.URL) (string, error) {
	c := converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled), converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	out, err := c.ConvertNode(doc, converter.WithDomain(at.String()))
	if err != nil {
		return "", errors.Join(errors.New("the HTML cannot be turned into text"), err)
	}
	return string(out), nil
}
