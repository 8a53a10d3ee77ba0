//go:build unix

package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of one result: product settings.
const (
	maxText   = 1 << 20 // bytes of its texts
	maxImages = 20
)

// Result is what a tool answered.
type Result struct {
	Parts   []Part
	IsError bool
}

// Part is a piece of a result: a text, or an image with its media type.
type Part struct {
	Text      string
	Image     []byte
	MediaType string // of Image; may be anything
}

// resultOf maps an answer. What cannot be shown to a model is named. Structured content counts only if there is no
// other: servers repeat it as text.
func resultOf(r *sdk.CallToolResult) Result {
	out := Result{IsError: r.IsError}
	room, images := maxText, 0
	text := func(s string) {
		s = strings.ToValidUTF8(s, "\uFFFD")
		if room <= 0 {
			return
		}
		if len(s) > room {
			s = strings.ToValidUTF8(s[:room], "") + fmt.Sprintf("\n[cut off: more than %d bytes]", maxText)
		}
		room -= len(s)
		out.Parts = append(out.Parts, Part{Text: s})
	}
	for _, c := range r.Content {
		switch c := c.(type) {
		case *sdk.TextContent:
			text(c.Text)
		case *sdk.ImageContent:
			if images++; images > maxImages {
				continue
			}
			out.Parts = append(out.Parts, Part{Image: c.Data, MediaType: c.MIMEType})
		case *sdk.AudioContent:
			text(fmt.Sprintf("[audio left out: %s, %d bytes]", c.MIMEType, len(c.Data)))
		case *sdk.ResourceLink:
			text(fmt.Sprintf("[resource %s: %s]", c.Name, c.URI))
		case *sdk.EmbeddedResource:
			switch {
			case c.Resource == nil:
			case c.Resource.Blob != nil:
				text(fmt.Sprintf("[resource left out: %s, %s, %d bytes]", c.Resource.URI, c.Resource.MIMEType, len(c.Resource.Blob)))
			default:
				text(c.Resource.Text)
			}
		default:
			text(fmt.Sprintf("[content left out: %T]", c))
		}
	}
	if images > maxImages {
		text(fmt.Sprintf("[%d more images left out]", images-maxImages))
	}
	if len(out.Parts) == 0 && r.StructuredContent != nil {
		if data, err := json.Marshal(r.StructuredContent); err == nil {
			text(string(data))
		}
	}
	return out
}
