package cli

import (
	"context"
	"math"

	"flower"
	"flower/tools"
)

// checker runs checks of the goal with the tools' shell. It implements flower.Checker.
type checker struct{ box *tools.Box }

// Runnable implements flower.Checker.
func (c checker) Runnable(text string) bool { return c.box.Runnable(text) }

// Check implements flower.Checker.
func (c checker) Check(ctx context.Context, command string) flower.Evidence {
	r := c.box.Check(ctx, command)
	return flower.Evidence{
		Command: command, ExitCode: r.ExitCode, Output: r.Output, Problem: r.Problem,
		DurationS: math.Round(r.Took.Seconds()*100) / 100,
	}
}
