package transcript

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Validate says whether the Messages API accepts the list as the messages of a request: the first one the user's, roles
// alternate, no message empty, every call answered in the very next message, results first and in the order of the
// calls, no result without its call, no id of a call twice, what the endpoint's own tools did in pairs (but at the end), no blank text, no thinking at the end of an answer, names and
// ids of the letters that are allowed, valid UTF-8. The error names the first place that breaks a rule, counted from 0.
func Validate(messages []Message) error {
	if len(messages) == 0 {
		return errors.New("check messages: there is none")
	}
	var calls []Block         // of the message before
	seen := map[string]bool{} // ids of calls
	for i, m := range messages {
		want := RoleUser
		if i%2 == 1 {
			want = RoleAssistant
		}
		if m.Role != want {
			return fmt.Errorf("check messages.%d: role is %q, want %q: the first message is the user's and roles alternate", i, m.Role, want)
		}
		if len(m.Content) == 0 {
			return fmt.Errorf("check messages.%d: content is empty", i)
		}
		for j, b := range m.Content {
			if err := validateBlock(m.Role, b); err != nil {
				return fmt.Errorf("check messages.%d.content.%d: %w", i, j, err)
			}
		}
		if err := validateResults(calls, m); err != nil {
			return fmt.Errorf("check messages.%d: %w", i, err)
		}
		calls = nil
		if last := i == len(messages)-1; m.Role == RoleAssistant && !last && len(withoutOpenSearches(m.Content)) < len(m.Content) {
			return fmt.Errorf("check messages.%d: a call of the endpoint's own tool and its result are not together", i)
		}
		if m.Role == RoleAssistant {
			if m.Content[len(m.Content)-1].IsThinking() {
				return fmt.Errorf("check messages.%d: the last block of an assistant message is thinking", i)
			}
			calls = m.ToolUses()
			for _, c := range calls {
				if seen[c.ID] {
					return fmt.Errorf("check messages.%d: tool_use id %q is not unique", i, c.ID)
				}
				seen[c.ID] = true
			}
		}
	}
	if len(calls) > 0 {
		return fmt.Errorf("check messages.%d: tool_use %q has no tool_result in a next message", len(messages)-1, calls[0].ID)
	}
	return nil
}

// validateResults checks that the message begins with the results of calls, in their order, and has no others.
func validateResults(calls []Block, m Message) error {
	for i, c := range calls {
		if i >= len(m.Content) || m.Content[i].Type != TypeToolResult || m.Content[i].ToolUseID != c.ID {
			return fmt.Errorf("content.%d is not the tool_result of %q: results come first, in the order of the calls", i, c.ID)
		}
	}
	for i, b := range m.Content[len(calls):] {
		if b.Type == TypeToolResult {
			return fmt.Errorf("content.%d: tool_result of %q has no tool_use in the message before, or is there twice", len(calls)+i, b.ToolUseID)
		}
	}
	return nil
}

// validateBlock checks one block by itself.
func validateBlock(role string, b Block) error {
	assistantOnly := b.IsThinking() || b.Type == TypeToolUse
	switch {
	case b.Type == "":
		return errors.New("a block has no type")
	case assistantOnly && role != RoleAssistant:
		return fmt.Errorf("a %s block in a message of the user", b.Type)
	case b.Type == TypeToolResult && role != RoleUser:
		return errors.New("a tool_result block in a message of the assistant")
	case b.Type == TypeText && blank(b.Text):
		return errors.New("text is blank")
	case b.Type == TypeToolUse && (b.ID == "" || b.Name == "" || !isObject(b.Input)):
		return errors.New("a tool_use block needs an id, a name and an object as input")
	case b.Type == TypeToolUse && (PlainID(b.ID) != b.ID || PlainName(b.Name) != b.Name):
		return fmt.Errorf("tool_use %q of %q: only letters, digits, _ and - are allowed, at most %d in a name", b.ID, b.Name, longestName)
	case (b.Type == TypeImage || b.Type == TypeDocument) && role != RoleUser:
		return fmt.Errorf("a %s block in a message of the assistant", b.Type)
	case slices.ContainsFunc(b.Content, b.refusesInside):
		return fmt.Errorf("tool_result of %q holds an empty block, or one that may not stand there", b.ToolUseID)
	}
	if !validUnicode(b) {
		return errors.New("a string is not valid UTF-8")
	}
	return nil
}

// validUnicode says whether all strings of the block decode to valid UTF-8.
func validUnicode(b Block) bool {
	if b.raw != nil {
		return sendable(b.raw)
	}
	for _, s := range []string{b.Type, b.Text, b.Thinking, b.Signature, b.Data, b.ID, b.Name, b.ToolUseID} {
		if !utf8.ValidString(s) {
			return false
		}
	}
	for _, c := range b.Content {
		if !validUnicode(c) {
			return false
		}
	}
	return sendable(b.Input)
}
