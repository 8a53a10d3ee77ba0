package transcript

import (
	"cmp"
	"slices"
)

// Append adds a message to a history that is sent, as an in-process conversation grows: nothing that is there changes,
// except that a message of the same role is joined with the last one, in a user message results first and in the order
// of the calls before it. Blank texts, thinking at the end of an answer and searches of a paused answer that something else
// follows on, which the API refuses, are left out, as Prepare leaves them out when the conversation is loaded again; a
// message of which nothing remains is not added. The list given stays as it is.
func Append(messages []Message, m Message) []Message {
	content := slices.DeleteFunc(slices.Clone(m.Content), func(b Block) bool { return b.Type == TypeText && blank(b.Text) })
	for m.Role == RoleAssistant && len(content) > 0 && content[len(content)-1].IsThinking() {
		content = content[:len(content)-1]
	}
	if len(content) == 0 {
		return messages
	}
	m.Content = content
	last := len(messages) - 1
	if last >= 0 && m.Role == RoleUser && messages[last].Role == RoleAssistant {
		if rest := closed(messages[last].Content); len(rest) < len(messages[last].Content) {
			messages = slices.Clone(messages)
			if messages[last].Content = rest; len(rest) == 0 {
				return Append(messages[:last], m)
			}
		}
	}
	if last < 0 || messages[last].Role != m.Role {
		m.Content = resultsFirst(m, messages)
		return append(messages[:len(messages):len(messages)], m)
	}
	messages = slices.Clone(messages)
	m.Content = append(slices.Clone(messages[last].Content), m.Content...)
	m.Content = resultsFirst(m, messages[:last])
	messages[last] = m
	return messages
}

// closed is the content of an answer that something is said behind: a paused one may have ended with a search that is not
// done, which now never will be.
func closed(content []Block) []Block {
	rest := withoutOpenSearches(content)
	if len(rest) == len(content) {
		return content
	}
	for len(rest) > 0 && rest[len(rest)-1].IsThinking() {
		rest = rest[:len(rest)-1]
	}
	return rest
}

// resultsFirst orders the content of a user message that follows the messages before it.
func resultsFirst(m Message, before []Message) []Block {
	if m.Role != RoleUser || len(before) == 0 {
		return m.Content
	}
	calls := before[len(before)-1].ToolUses()
	place := func(b Block) int {
		if b.Type != TypeToolResult {
			return len(calls) + 1
		}
		if i := slices.IndexFunc(calls, func(c Block) bool { return c.ID == b.ToolUseID }); i >= 0 {
			return i
		}
		return len(calls)
	}
	slices.SortStableFunc(m.Content, func(a, b Block) int { return cmp.Compare(place(a), place(b)) })
	return m.Content
}

// Context is the number of tokens that the main thread fills of the model's window: input, cache read and cache creation
// of its last answer. Subagents do not count, nor do answers without a usage. 0 is unknown.
func Context(entries []Entry) int {
	for _, e := range slices.Backward(entries) {
		if e.IsSidechain || e.IsAPIError || e.Message == nil || e.Message.Role != RoleAssistant {
			continue
		}
		if n := e.Message.Usage.Context(); n > 0 && e.Message.Model != SyntheticModel {
			return n
		}
	}
	return 0
}
