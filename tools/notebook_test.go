package tools

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// ipynb is a notebook as Jupyter writes it, with things that a careless rewrite would lose.
const ipynb = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Title <b>\n",
    "日本"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 7,
   "id": "c1",
   "metadata": {"tags":   ["a"], "big": 12345678901234567890, "e": 1.0e+2},
   "outputs": [
    {
     "data": {
      "image/png": "iVBORw0KGgo=\n"
     },
     "output_type": "display_data"
    }
   ],
   "source": "x = 1"
  }
 ],
 "metadata": {"zeta": 1, "alpha": "\u00e9"},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

func TestNotebookEdit(t *testing.T) {
	const compact = `{"cells":[{"cell_type":"code","metadata":{},"outputs":[],"execution_count":null,"source":["a"]}],"metadata":{},"nbformat":4,"nbformat_minor":2}`
	const empty = "{\n \"cells\": [],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 4\n}\n"
	tests := []struct {
		name, content string
		input         in
		old, new      string // the only place that differs
		fault         string
	}{
		{name: "replace by id", content: ipynb, input: in{"cell_id": "intro", "new_source": "a < b\n\"c\"\n"},
			old: "    \"# Title <b>\\n\",\n    \"日本\"\n", new: "    \"a < b\\n\",\n    \"\\\"c\\\"\\n\"\n"},
		{name: "replace with nothing", content: ipynb, input: in{"cell_number": 0, "new_source": ""},
			old: "[\n    \"# Title <b>\\n\",\n    \"日本\"\n   ]", new: "[]"},
		{name: "line separators stay characters", content: ipynb, input: in{"cell_number": 0, "new_source": "a\u2028b\\u2028"},
			old: "    \"# Title <b>\\n\",\n    \"日本\"\n", new: "    \"a\u2028b\\\\u2028\"\n"},
		{name: "insert behind", content: ipynb, input: in{"cell_id": "intro", "new_source": "y", "cell_type": "markdown", "edit_mode": "insert"},
			old: "  },\n  {\n   \"cell_type\": \"code\"", new: "  },\n  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"ID\",\n   \"metadata\": {},\n   \"source\": [\n    \"y\"\n   ]\n  },\n  {\n   \"cell_type\": \"code\""},
		{name: "insert first", content: ipynb, input: in{"new_source": "y", "cell_type": "raw", "edit_mode": "insert"},
			old: "\"cells\": [\n  {", new: "\"cells\": [\n  {\n   \"cell_type\": \"raw\",\n   \"id\": \"ID\",\n   \"metadata\": {},\n   \"source\": [\n    \"y\"\n   ]\n  },\n  {"},
		{name: "insert last", content: ipynb, input: in{"cell_number": 2, "new_source": "", "cell_type": "code", "edit_mode": "insert"},
			old: "\"x = 1\"\n  }\n", new: "\"x = 1\"\n  },\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"ID\",\n   \"metadata\": {},\n   \"outputs\": [],\n   \"source\": []\n  }\n"},
		{name: "delete the last", content: ipynb, input: in{"cell_id": "c1", "edit_mode": "delete"},
			old: ipynb[strings.Index(ipynb, ",\n  {\n   \"cell_type\": \"code\""):strings.Index(ipynb, "\n ],\n \"metadata\"")], new: ""},
		{name: "delete the first", content: ipynb, input: in{"cell_number": "0", "edit_mode": "delete"},
			old: ipynb[strings.Index(ipynb, "{\n   \"cell_type\": \"markdown\""):strings.Index(ipynb, "{\n   \"cell_type\": \"code\"")], new: ""},
		{name: "on one line", content: compact, input: in{"cell_number": 0, "new_source": "b\nc"}, old: `["a"]`, new: `["b\n", "c"]`},
		{name: "insert on one line", content: compact, input: in{"cell_number": 1, "new_source": "b", "cell_type": "markdown", "edit_mode": "insert"},
			old: `["a"]}`, new: `["a"]}, {"cell_type": "markdown", "metadata": {}, "source": ["b"]}`},
		{name: "delete the only one", content: compact, input: in{"cell_number": 0, "edit_mode": "delete"},
			old: `[{"cell_type":"code","metadata":{},"outputs":[],"execution_count":null,"source":["a"]}]`, new: "[]"},
		{name: "insert into none", content: empty, input: in{"new_source": "b", "cell_type": "markdown", "edit_mode": "insert"},
			old: "[]", new: "[\n  {\n   \"cell_type\": \"markdown\",\n   \"metadata\": {},\n   \"source\": [\n    \"b\"\n   ]\n  }\n ]"},
		{name: "another kind", content: compact, input: in{"cell_number": 0, "new_source": "b", "cell_type": "markdown"},
			old: `{"cell_type":"code","metadata":{},"outputs":[],"execution_count":null,"source":["a"]}`, new: `{"cell_type": "markdown", "metadata": {}, "source": ["b"]}`},
		{name: "escaped characters", content: strings.ReplaceAll(ipynb, "日本", `\u65e5`), input: in{"cell_number": 0, "new_source": "é👍"},
			old: "    \"# Title <b>\\n\",\n    \"\\u65e5\"\n", new: "    \"\\u00e9\\ud83d\\udc4d\"\n"},
		{name: "no such id", content: ipynb, input: in{"cell_id": "zzz", "new_source": ""}, fault: `no cell has the id "zzz"; the notebook has 2 cells`},
		{name: "no such number", content: ipynb, input: in{"cell_number": 2, "new_source": ""}, fault: "there is no cell 2; the notebook has 2 cells, counted from 0"},
		{name: "the same id twice", content: strings.Replace(ipynb, `"c1"`, `"intro"`, 1), input: in{"cell_id": "intro", "new_source": ""}, fault: "cells 0 and 1 both have the id"},
		{name: "a member twice", content: strings.Replace(ipynb, `"nbformat": 4`, `"nbformat": 4, "cells": []`, 1), input: in{"cell_number": 0, "new_source": ""}, fault: `has the member "cells" twice`},
		{name: "not JSON", content: "x", input: in{"cell_number": 0, "new_source": ""}, fault: "not valid JSON"},
		{name: "a list", content: "[]", input: in{"cell_number": 0, "new_source": ""}, fault: "not a notebook"},
		{name: "format 3", content: `{"worksheets":[],"nbformat":3}`, input: in{"cell_number": 0, "new_source": ""}, fault: "format 4"},
		{name: "without cells", content: `{"cells":{},"nbformat":4}`, input: in{"cell_number": 0, "new_source": ""}, fault: "no list of cells"},
		{name: "a cell that is none", content: `{"cells":[1],"nbformat":4}`, input: in{"cell_number": 0, "new_source": ""}, fault: "no object"},
	}
	f := newFixture(t, nil)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := *f
			f.t = t
			f.file("n.ipynb", test.content)
			wants(t, f.as("other").fails(NotebookEdit, in{"notebook_path": "n.ipynb", "cell_number": 0, "edit_mode": "delete"}), "have not read it")
			f.ok(Read, in{"file_path": "n.ipynb"})
			test.input["notebook_path"] = "n.ipynb"
			want := test.content
			if test.fault != "" {
				wants(t, f.fails(NotebookEdit, test.input), "n.ipynb was not changed", test.fault)
			} else {
				r := f.result(NotebookEdit, test.input)
				if r.IsError || r.Display == "" {
					t.Fatalf("%s, shown %q", textOf(r), r.Display)
				}
				if strings.Count(want, test.old) != 1 {
					t.Fatalf("the place is there %d times", strings.Count(want, test.old))
				}
				want = strings.Replace(want, test.old, test.new, 1)
			}
			got := f.content("n.ipynb")
			if i := strings.Index(want, `"ID"`); i >= 0 && len(got) > i+10 {
				want = strings.Replace(want, `"ID"`, got[i:i+10], 1) // any that is new
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}

	// Code loses the outputs of its old source.
	f.file("n.ipynb", ipynb)
	f.ok(Read, in{"file_path": "n.ipynb"})
	f.ok(NotebookEdit, in{"notebook_path": "n.ipynb", "cell_id": "c1", "new_source": "x = 2"})
	from, to := strings.Index(ipynb, "[\n    {\n     \"data\""), strings.Index(ipynb, ",\n   \"source\": \"x = 1\"")
	want := strings.NewReplacer("execution_count\": 7", "execution_count\": null", ipynb[from:to], "[]", "x = 1", "x = 2").Replace(ipynb)
	if got := f.content("n.ipynb"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, row := range []struct {
		input in
		want  string
	}{
		{in{"cell_id": "c1"}, `"new_source" is missing`},
		{in{"cell_id": "c1", "cell_number": 1, "new_source": ""}, "not both"},
		{in{"new_source": ""}, `"cell_id" or "cell_number" is missing`},
		{in{"new_source": "", "edit_mode": "insert"}, `"cell_type" is missing`},
		{in{"cell_number": 0, "new_source": "", "cell_type": "x"}, "must be one of code, markdown, raw"},
		{in{"cell_number": -1, "new_source": ""}, "whole number"},
	} {
		row.input["notebook_path"] = "n.ipynb"
		wants(t, f.fails(NotebookEdit, row.input), row.want)
	}
	wants(t, f.denied(NotebookEdit, in{"notebook_path": "/etc/n.ipynb", "cell_number": 0, "new_source": ""}), "This is intended")
}

// FuzzNotebook checks that an edit leaves all other cells and members as they were, and that the result is a notebook
// with the new source.
func FuzzNotebook(f *testing.F) {
	f.Add(ipynb, 0, "a\nb", "replace")
	f.Add(ipynb, 1, "\u2028<>&\\", "insert")
	f.Add(`{"nbformat":4,"cells":[{"source":"","a":[1,{"b":null}]},  {"source":[]}] }`, 1, "", "delete")
	f.Add("{\r\n\t\"nbformat\": 4, \"cells\": [ ]}", 0, "x", "insert")
	f.Fuzz(func(t *testing.T, data string, number int, source, mode string) {
		if mode != replaceCell && mode != insertCell && mode != deleteCell || number < 0 {
			return
		}
		source = strings.ToValidUTF8(source, "")
		e := cellEdit{number: number, source: source, kind: "code", mode: mode}
		out, at, err := e.apply([]byte(data))
		if err != nil {
			return
		}
		before, err := parseNotebook([]byte(data))
		if err != nil {
			t.Fatal(err)
		}
		after, err := parseNotebook(out)
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		texts := func(n *notebook) (cells []string) {
			for _, c := range n.cells {
				cells = append(cells, string(c.of(n.data)))
			}
			return cells
		}
		old, new := texts(before), texts(after)
		if mode != deleteCell {
			var c struct{ Source json.RawMessage }
			if err := json.Unmarshal([]byte(new[at]), &c); err != nil {
				t.Fatal(err)
			}
			var got string
			var lines []string
			if json.Unmarshal(c.Source, &got) != nil {
				if err := json.Unmarshal(c.Source, &lines); err != nil {
					t.Fatal(err)
				}
				got = strings.Join(lines, "")
			}
			if got != source {
				t.Fatalf("the source is %q, want %q", got, source)
			}
			new = append(new[:at:at], new[at+1:]...)
		}
		if mode != insertCell {
			old = append(old[:at:at], old[at+1:]...)
		}
		if !reflect.DeepEqual(append([]string{}, old...), append([]string{}, new...)) {
			t.Fatalf("other cells changed: %q, were %q", new, old)
		}
		if tail := data[before.list.to:]; !strings.HasSuffix(string(out), tail) || !strings.HasPrefix(string(out), data[:before.list.from]) {
			t.Fatal("something outside of the cells changed")
		}
	})
}
