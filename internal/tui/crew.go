package tui

import "fmt"

// Crew gives subagents the short names people see: the first letter of what they are, and a number. The zero value has
// no names yet. One goroutine uses it.
type Crew struct {
	names   map[string]string // by event path
	letters map[string]int    // how many have a letter
}

// Name is the short name of the subagent with an event path, made when it is asked for first. agent is what it is
// ("worker").
func (c *Crew) Name(path, agent string) string {
	if name, ok := c.names[path]; ok {
		return name
	}
	if c.names == nil {
		c.names, c.letters = map[string]string{}, map[string]int{}
	}
	letter := "a"
	if agent != "" && agent[0] >= 'a' && agent[0] <= 'z' {
		letter = agent[:1]
	}
	c.letters[letter]++
	name := fmt.Sprintf("%s%d", letter, c.letters[letter])
	c.names[path] = name
	return name
}
