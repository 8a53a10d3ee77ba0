//go:build unix

package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Tool is one tool of a server.
type Tool struct {
	Server, Name string // as the server calls it
	FullName     string // mcp__server__tool, as the model calls it
	Description  string
	Schema       json.RawMessage // of an object, and one that resolves
	ReadOnly     bool            // the server says that it changes nothing
}

var notInNames = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// names are what the model calls the tools: the server's names in the letters that the API takes. One that would be too
// long, or that another tool has then, ends with a mark made of the server's name for it, which depends on that alone:
// the same list gives the same names, in whatever order it comes.
func (c *client) names(tools []*sdk.Tool) []string {
	count := map[string]int{}
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = "mcp__" + c.server.Name + "__" + notInNames.ReplaceAllString(t.Name, "_")
		count[names[i]]++
	}
	for i, t := range tools {
		own := strings.HasSuffix(names[i], "__"+t.Name) // nothing in it was replaced
		if len(names[i]) > maxName || count[names[i]] > 1 && !own {
			sum := sha256.Sum256([]byte(t.Name))
			mark := "_" + hex.EncodeToString(sum[:4])
			names[i] = names[i][:min(len(names[i]), maxName-len(mark))] + mark
		}
	}
	return names
}

// tool is a tool as it is offered, or what is wrong with it.
func (c *client) tool(t *sdk.Tool, name string) (Tool, *Error) {
	out := Tool{
		Server: c.server.Name, Name: t.Name, FullName: name, Description: strings.ToValidUTF8(t.Description, "\uFFFD"),
		ReadOnly: t.Annotations != nil && t.Annotations.ReadOnlyHint,
	}
	if t.Name == "" {
		return Tool{}, &Error{Why: ToolName, Detail: strconv.Itoa(maxName)}
	}
	var bad *Error
	var rest string
	if out.Schema, rest, bad = offered(t.InputSchema); bad != nil {
		return Tool{}, bad
	}
	if len(out.Description) > maxDescription {
		out.Description = strings.ToValidUTF8(out.Description[:maxDescription], "") + " …"
	}
	out.Description += rest
	return out, nil
}

// apart are the keywords that the API does not take at the top of a schema; the server checks them itself.
var apart = []string{"oneOf", "anyOf", "allOf", "not", "if", "then", "else"}

// propertyName is how the API wants properties to be called. A tool with another one would have every request refused.
var propertyName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// offered is a schema as the API takes it: of an object, with nothing at its top that the API refuses. What had to be taken
// out of it is told in rest, for the description.
func offered(theirs any) (schema json.RawMessage, rest string, bad *Error) {
	refuse := func(err error) (json.RawMessage, string, *Error) { return nil, "", &Error{Why: ToolSchema, Err: err} }
	raw, err := json.Marshal(theirs)
	if err != nil {
		return refuse(err)
	}
	if len(raw) > maxSchema {
		return nil, "", &Error{Why: SchemaSize, Detail: strconv.Itoa(maxSchema)}
	}
	keys := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &keys); err != nil {
		return refuse(nil) // true, a list, a text
	}
	if keys == nil { // null: the server says nothing of an input
		keys = map[string]json.RawMessage{}
	}
	changed := false
	if keys["type"] == nil {
		keys["type"], changed = json.RawMessage(`"object"`), true
	}
	var said []string
	for _, k := range apart {
		if v := keys[k]; v != nil {
			said = append(said, fmt.Sprintf("%q: %s", k, v))
			delete(keys, k)
			changed = true
		}
	}
	if len(said) > 0 {
		if rest = "\nBesides, the input must fit: " + strings.Join(said, ", "); len(rest) > maxDescription/2 {
			rest = strings.ToValidUTF8(rest[:maxDescription/2], "") + " …"
		}
	}
	if changed {
		if raw, err = json.Marshal(keys); err != nil {
			return refuse(err)
		}
	}
	if err := checkSchema(raw); err != nil {
		return refuse(err)
	}
	return raw, rest, nil
}

// checkSchema says why a schema cannot be offered.
func checkSchema(raw json.RawMessage) error {
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	if s.Type != "object" {
		return errors.New(`its type is not "object"`)
	}
	for name := range s.Properties {
		if !propertyName.MatchString(name) {
			return fmt.Errorf("the model's endpoint takes no property called %.80q", name)
		}
	}
	_, err := s.Resolve(nil)
	return err
}
