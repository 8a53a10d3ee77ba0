package cli

import (
	"flower"
	"flower/internal/text"
)

// window says what happens at the end of a context window.
func (p *printer) window(ev flower.Event) {
	switch ev := ev.(type) {
	case flower.WindowNear:
		p.say("- ", "window.near", text.Data{
			"Context": text.Tokens(ev.Context), "Line": text.Tokens(ev.Line), "Window": text.Tokens(ev.Window),
		})
	case flower.ModelDiffers:
		p.say("! ", "window.model", text.Data{"Asked": ev.Asked, "Answered": ev.Answered})
	case flower.HandingOver:
		id := map[flower.HandoffCause]string{
			flower.Full: "handoff.full", flower.Overflow: "handoff.overflow", flower.Redefined: "handoff.redefined",
		}[ev.Cause]
		p.say("= ", id, text.Data{"Context": text.Tokens(ev.Context)})
	case flower.HandedOver:
		id := "handoff.done"
		if ev.Degraded {
			id = "handoff.degraded"
		}
		p.say("= ", id, text.Data{"Path": p.path(ev.Path), "N": ev.Generation})
		if p.opts.verbose {
			p.say("  ", "handoff.sessions", text.Data{"From": ev.From, "To": ev.To})
		}
	}
}
