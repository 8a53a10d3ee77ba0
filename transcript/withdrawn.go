package transcript

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"
)

// toolWithdrawnKind is the subtype of the entries that ToolWithdrawn makes.
const toolWithdrawnKind = "flower_tool_withdrawn"

// ToolWithdrawn returns an entry which says that a tool the session was begun with is not offered any more. It is a note
// like that of ThinkingDropped, and stays with the conversation wherever that goes.
func ToolWithdrawn(s Stamp, uuid, parent string, at time.Time, tool string) Entry {
	return remark(NewEntry(s, uuid, parent, at, Message{}), toolWithdrawnKind, "withdrawnTool", tool,
		"A tool is no longer offered: the endpoint does not have it.")
}

// Withdrawn returns the names of the tools that entries say are not offered any more, each once.
func Withdrawn(entries []Entry) []string {
	var names []string
	for _, e := range entries {
		if e.Type != "system" || !bytes.Contains(e.raw, []byte(toolWithdrawnKind)) {
			continue
		}
		var v struct {
			Subtype string `json:"subtype"`
			Tool    string `json:"withdrawnTool"`
		}
		if json.Unmarshal(e.raw, &v) == nil && v.Subtype == toolWithdrawnKind && !slices.Contains(names, v.Tool) {
			names = append(names, v.Tool)
		}
	}
	return names
}

// remark makes an entry of the kind "system" of one that has no message yet.
func remark(e Entry, subtype, key, value, content string) Entry {
	e.Type, e.Message = "system", nil
	raw := mustEncode(e)
	for _, m := range []struct{ key, value string }{{"subtype", subtype}, {"level", "info"}, {key, value}, {"content", content}} {
		raw = setMember(raw, m.key, mustEncode(m.value))
	}
	e.raw = raw
	return e
}
