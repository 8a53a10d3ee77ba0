package flower

import "context"

// StepAside is the name under which side questions stand in their own books.
const StepAside = "旁问"

// Consult puts a side question to the oracle, which can only read, and returns its row: the answer is its Text. session is
// the one of an earlier question, "" for the first. events are what has happened lately, oldest first, as a person would
// read it. It is for a Runtime of its own, beside the one that works: with other books, so that nothing of the work is
// touched.
func (rt *Runtime) Consult(ctx context.Context, session, question string, events []string) (StepResult, error) {
	return rt.Run(ctx, Attempt{
		Step: StepAside, Agent: Oracle(rt.opts.Lang), SessionID: session, Index: true,
		Prompt: rt.text("aside", map[string]any{"Question": question, "Events": events}),
	})
}
