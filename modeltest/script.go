package modeltest

import "strings"

// Script is a Player of rules: the first one that fits and has an answer answers. A Script keeps no state, so the same
// request gets the same answer always.
type Script []Rule

// Rule answers the requests that fit. Exactly one of Play, Turns and Plan is set.
type Rule struct {
	Role Role                // "" fits every role
	When func(*Request) bool // nil fits always

	// Play answers every request.
	Play Player
	// Turns answers by Request.Turn: the first of them right after a prompt, the second after the results of the first
	// one's calls. A new prompt starts again at the first.
	Turns []Player
	// Plan answers by Request.Answers, over all prompts of a conversation: what has been answered and stored once is
	// never played again, wherever the client was killed.
	Plan []Player
}

// Play implements Player.
func (s Script) Play(r *Request) Reply {
	for _, rule := range s {
		if rule.Role != "" && rule.Role != r.Role() || rule.When != nil && !rule.When(r) {
			continue
		}
		if reply := rule.play(r); !reply.pass {
			return reply
		}
	}
	return Pass()
}

// play plays the last of a list again for requests behind its end if that calls no tool: an agent that is asked once
// more has nothing new to say. One that calls tools would go on forever.
func (rule Rule) play(r *Request) Reply {
	var list []Player
	var at int
	switch {
	case rule.Play != nil:
		return rule.Play.Play(r)
	case rule.Plan != nil:
		list, at = rule.Plan, r.Answers()
	default:
		list, at = rule.Turns, r.Turn()
	}
	switch {
	case len(list) == 0:
		return Pass()
	case at < len(list):
		return list[at].Play(r)
	}
	reply := list[len(list)-1].Play(r)
	for _, b := range reply.Content {
		if b.Type == "tool_use" {
			return Pass()
		}
	}
	return reply
}

// Passing plays faults for the first attempts of a request, one each, and then asks the Player: what a client that
// retries lives through.
func Passing(then Player, faults ...Reply) Player {
	return PlayerFunc(func(r *Request) Reply {
		if r.Attempt < len(faults) {
			return faults[r.Attempt]
		}
		return then.Play(r)
	})
}

// Prompted fits requests whose prompt contains s.
func Prompted(s string) func(*Request) bool {
	return func(r *Request) bool { return strings.Contains(r.Prompt(), s) }
}
