package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"flower/agent"
)

//go:embed notebook.md
var notebookText string

// Modes of NotebookEdit.
const (
	replaceCell = "replace"
	insertCell  = "insert"
	deleteCell  = "delete"
)

func (b *Box) notebookEdit(s *session, _ agent.Spec, _ agent.Env) agent.Tool {
	return agent.Tool{
		ToolSpec: agent.ToolSpec{Name: NotebookEdit, Description: notebookText, InputSchema: json.RawMessage(`{
"type":"object",
"properties":{
"notebook_path":{"type":"string","description":"Absolute path of the .ipynb file, or one relative to the workspace"},
"cell_id":{"type":"string","description":"The id of the cell. With insert the new cell goes behind it"},
"cell_number":{"type":"integer","minimum":0,"description":"The cell by its place, counted from 0, instead of cell_id"},
"new_source":{"type":"string","description":"The new text of the cell; not needed to delete one"},
"cell_type":{"type":"string","enum":["code","markdown","raw"],"description":"Kind of the cell. Needed to insert one; otherwise it stays as it is"},
"edit_mode":{"type":"string","enum":["replace","insert","delete"],"description":"Default replace"}
},
"required":["notebook_path"],
"additionalProperties":false}`)},
		Run: func(ctx context.Context, call agent.Call) (agent.ToolResult, error) {
			p := decode(call.Input)
			path := p.filled("notebook_path")
			e := cellEdit{
				id: p.textOr("cell_id", ""), number: p.integer("cell_number", -1, 0, math.MaxInt32),
				source: p.textOr("new_source", ""), kind: p.textOr("cell_type", ""),
				mode: p.choice("edit_mode", replaceCell, insertCell, deleteCell),
			}
			if e.kind != "" {
				e.kind = p.choice("cell_type", "code", "markdown", "raw")
			}
			_, hasSource := p.get("new_source")
			switch {
			case e.mode != deleteCell && !hasSource:
				p.fail("parameter %q is missing", "new_source")
			case e.mode == insertCell && e.kind == "":
				p.fail("parameter %q is missing", "cell_type")
			case e.id != "" && e.number >= 0:
				p.fail("give %q or %q, not both", "cell_id", "cell_number")
			case e.mode != insertCell && e.id == "" && e.number < 0:
				p.fail("parameter %q or %q is missing", "cell_id", "cell_number")
			}
			if r, bad := p.bad(); bad {
				return r, nil
			}
			return b.revise(ctx, s, path, func(data []byte) ([]byte, string, string) {
				out, at, err := e.apply(data)
				if err != nil {
					return nil, "", err.Error()
				}
				done := map[string]string{replaceCell: "Replaced", insertCell: "Inserted", deleteCell: "Deleted"}[e.mode]
				return out, fmt.Sprintf("%s cell %d of %s.", done, at, oneLine(path)), ""
			}), nil
		},
	}
}

// cellEdit is a call of NotebookEdit.
type cellEdit struct {
	id, source, kind, mode string
	number                 int // below 0: not given
}

// apply makes the edit and returns the number of the cell it was made to. Everything else stays as it is, byte for byte.
func (e cellEdit) apply(data []byte) (out []byte, at int, err error) {
	n, err := parseNotebook(data)
	if err != nil {
		return nil, 0, err
	}
	at, err = e.find(n)
	if err != nil {
		return nil, 0, err
	}
	switch e.mode {
	case insertCell:
		at++
		return n.insert(at, e), at, nil
	case deleteCell:
		return n.remove(at), at, nil
	}
	out, err = n.replace(at, e)
	return out, at, err
}

// find returns the number of the cell that is meant; -1 is the place before the first one.
func (e cellEdit) find(n *notebook) (int, error) {
	switch {
	case e.number >= len(n.cells) && (e.mode != insertCell || e.number > len(n.cells)):
		return 0, fmt.Errorf("there is no cell %d; the notebook has %s, counted from 0", e.number, plural(len(n.cells), "cell"))
	case e.number >= 0 && e.mode == insertCell:
		return e.number - 1, nil
	case e.number >= 0:
		return e.number, nil
	case e.id == "":
		return -1, nil
	}
	found := -1
	for i, c := range n.cells {
		if c.id != e.id {
			continue
		}
		if found >= 0 {
			return 0, fmt.Errorf("cells %d and %d both have the id %q; use cell_number", found, i, clip(e.id, 80))
		}
		found = i
	}
	if found < 0 {
		return 0, fmt.Errorf("no cell has the id %q; the notebook has %s. Read it again, or use cell_number", clip(e.id, 80), plural(len(n.cells), "cell"))
	}
	return found, nil
}

// notebook is a file of Jupyter's format 4 and where its cells are in it.
type notebook struct {
	data  []byte
	cells []cell
	list  extent // of the array of cells
	ids   bool   // cells have ids: from format 4.5 on
	unit  string // by which a level is indented; "" if all is on one line
	ascii bool   // characters beyond ASCII are escaped
}

type cell struct {
	extent
	id, kind string
	members  map[string]extent // of their values, by name
}

// extent is a piece of the file: data[from:to].
type extent struct{ from, to int }

func (x extent) of(data []byte) []byte { return data[x.from:x.to] }

func parseNotebook(data []byte) (*notebook, error) {
	if !json.Valid(data) {
		return nil, fmt.Errorf("it is not a notebook: the file is not valid JSON")
	}
	n := &notebook{data: data, ascii: isASCII(string(data)) && bytes.Contains(data, []byte(`\u`))}
	top, err := members(data, extent{0, len(data)})
	if err != nil {
		return nil, err
	}
	var major, minor int
	if json.Unmarshal(top["nbformat"].of(data), &major) != nil || major != 4 {
		return nil, fmt.Errorf("it is not a notebook of format 4 (nbformat), the only one that is edited; convert it with jupyter nbconvert")
	}
	_ = json.Unmarshal(top["nbformat_minor"].of(data), &minor) // without one it is 0
	n.ids = minor >= 5
	n.list = top["cells"]
	if n.list.to == 0 || data[n.list.from] != '[' {
		return nil, fmt.Errorf("it is not a notebook: it has no list of cells")
	}
	for _, x := range elements(data, n.list) {
		c := cell{extent: x}
		if c.members, err = members(data, x); err != nil {
			return nil, err
		}
		_ = json.Unmarshal(c.members["id"].of(data), &c.id) // cells of old formats have none
		_ = json.Unmarshal(c.members["cell_type"].of(data), &c.kind)
		n.cells = append(n.cells, c)
	}
	brace := bytes.IndexByte(data, '{')
	if line, _, ok := bytes.Cut(data[brace+1:], []byte(`"`)); ok && bytes.IndexByte(line, '\n') >= 0 {
		n.unit = string(line[bytes.LastIndexByte(line, '\n')+1:])
	}
	return n, nil
}

// members finds the values of the object at x, which is valid JSON.
func members(data []byte, x extent) (map[string]extent, error) {
	d := json.NewDecoder(bytes.NewReader(x.of(data)))
	if t, _ := d.Token(); t != json.Delim('{') {
		return nil, fmt.Errorf("it is not a notebook: something in it is no object")
	}
	found := map[string]extent{}
	for d.More() {
		name, _ := d.Token()
		key := fmt.Sprint(name)
		if _, twice := found[key]; twice {
			return nil, fmt.Errorf("the notebook has the member %q twice in one object", clip(key, 80))
		}
		found[key] = next(d, x.from)
	}
	return found, nil
}

// elements finds those of the array at x.
func elements(data []byte, x extent) (found []extent) {
	d := json.NewDecoder(bytes.NewReader(x.of(data)))
	_, _ = d.Token() // the bracket
	for d.More() {
		found = append(found, next(d, x.from))
	}
	return found
}

// next is the place of the next value of a decoder of valid JSON that began at from.
func next(d *json.Decoder, from int) extent {
	var raw json.RawMessage
	_ = d.Decode(&raw) // valid
	to := from + int(d.InputOffset())
	return extent{to - len(raw), to}
}

// splice is the file with pieces replaced.
func (n *notebook) splice(pieces map[extent]string) []byte {
	var places []extent
	for x := range pieces {
		places = append(places, x)
	}
	slices.SortFunc(places, func(a, b extent) int { return a.from - b.from })
	var out []byte
	last := 0
	for _, x := range places {
		out = append(append(out, n.data[last:x.from]...), pieces[x]...)
		last = x.to
	}
	return append(out, n.data[last:]...)
}

// replace gives a cell a new source. Outputs of code go: they are those of the old one.
func (n *notebook) replace(at int, e cellEdit) ([]byte, error) {
	c := n.cells[at]
	if e.kind != "" && e.kind != c.kind {
		meta := "{}"
		if x, ok := c.members["metadata"]; ok {
			meta = string(x.of(n.data))
		}
		return n.splice(map[extent]string{c.extent: n.render(e, c.id, meta)}), nil
	}
	source, ok := c.members["source"]
	if !ok {
		return nil, fmt.Errorf("cell %d has no source", at)
	}
	pieces := map[extent]string{source: n.source(e.source, n.data[source.from] == '"')}
	if c.kind == "code" {
		if x, ok := c.members["outputs"]; ok && string(x.of(n.data)) != "[]" {
			pieces[x] = "[]"
		}
		if x, ok := c.members["execution_count"]; ok {
			pieces[x] = "null"
		}
	}
	return n.splice(pieces), nil
}

// insert puts a new cell at a place, where it has its number.
func (n *notebook) insert(at int, e cellEdit) []byte {
	id := ""
	if n.ids {
		id = n.freshID(at, e.source)
	}
	text, separator := n.render(e, id, "{}"), n.separator()
	if len(n.cells) == 0 {
		end := ""
		if n.unit != "" {
			end = "\n" + n.unit
		}
		return n.splice(map[extent]string{n.list: "[" + strings.TrimPrefix(separator, ",") + text + end + "]"})
	}
	if at == 0 {
		first := n.cells[0].from
		return n.splice(map[extent]string{{first, first}: text + separator})
	}
	last := n.cells[at-1].to
	return n.splice(map[extent]string{{last, last}: separator + text})
}

// separator is what stands between two cells.
func (n *notebook) separator() string {
	if len(n.cells) > 1 {
		return string(n.data[n.cells[0].to:n.cells[1].from])
	}
	if n.unit == "" {
		return ", "
	}
	return ",\n" + strings.Repeat(n.unit, 2)
}

// remove takes a cell out, with what separates it from the one before or, from the first, behind.
func (n *notebook) remove(at int) []byte {
	x := n.cells[at].extent
	switch {
	case at > 0:
		x.from = n.cells[at-1].to
	case len(n.cells) > 1:
		x.to = n.cells[1].from
	default:
		return n.splice(map[extent]string{n.list: "[]"})
	}
	return n.splice(map[extent]string{x: ""})
}

// freshID is an id that no cell has: the same for the same call, so that nothing here depends on chance.
func (n *notebook) freshID(at int, source string) string {
	for try := 0; ; try++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %s", try, at, source))
		id := hex.EncodeToString(sum[:4])
		if !slices.ContainsFunc(n.cells, func(c cell) bool { return c.id == id }) {
			return id
		}
	}
}

// render writes a whole cell, its members in the order in which Jupyter writes them. meta is JSON.
func (n *notebook) render(e cellEdit, id, meta string) string {
	list := []string{`"cell_type": ` + n.quoted(e.kind)}
	if e.kind == "code" {
		list = append(list, `"execution_count": null`)
	}
	if id != "" {
		list = append(list, `"id": `+n.quoted(id))
	}
	list = append(list, `"metadata": `+meta)
	if e.kind == "code" {
		list = append(list, `"outputs": []`)
	}
	list = append(list, `"source": `+n.source(e.source, false))
	return "{" + n.line(3) + strings.Join(list, ","+n.gap(3)) + n.line(2) + "}"
}

// source writes the text of a cell, as a string or as the list of its lines.
func (n *notebook) source(text string, asString bool) string {
	if asString {
		return n.quoted(text)
	}
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, n.quoted(line))
	}
	if len(lines) == 0 {
		return "[]"
	}
	return "[" + n.line(4) + strings.Join(lines, ","+n.gap(4)) + n.line(3) + "]"
}

// line begins a line at a level, where the notebook has lines.
func (n *notebook) line(level int) string {
	if n.unit == "" {
		return ""
	}
	return "\n" + strings.Repeat(n.unit, level)
}

// gap is line, or a blank.
func (n *notebook) gap(level int) string {
	if n.unit == "" {
		return " "
	}
	return n.line(level)
}

// quoted writes a JSON string as Python does.
func (n *notebook) quoted(s string) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // strings can always be encoded
	text := strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029", `\\`, `\\`).Replace(strings.TrimSuffix(out.String(), "\n"))
	if !n.ascii {
		return text
	}
	var escaped strings.Builder
	for _, r := range text {
		switch {
		case r < 0x80:
			escaped.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&escaped, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			fmt.Fprintf(&escaped, `\u%04x`, r)
		}
	}
	return escaped.String()
}
