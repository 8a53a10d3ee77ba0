package cli

import (
	"context"
	"math"

	"flower"
	"flower/tools"
)

// checker runs checks of the goal with the tools' shell, where the work is as a whole. It implements flower.Checker.
type checker struct {
	box   *tools.Box
	trees *isolation // nil is none
}

// Command implements flower.Checker.
func (c checker) Command(text string) (is, found bool) { return c.box.Command(text) }

// Refuse implements flower.Checker.
func (c checker) Refuse(command string) error { return c.box.Refuse(command) }

// Check implements flower.Checker.
func (c checker) Check(ctx context.Context, command string) flower.Evidence {
	box, dir := c.box, ""
	if c.trees != nil && c.trees.makes {
		dir = c.trees.whole(ctx)
	}
	if dir != "" {
		var err error
		if box, err = box.In(dir); err != nil {
			return flower.Evidence{Command: command, ExitCode: -1, Problem: "not run: " + err.Error(), Err: err, Dir: dir}
		}
	}
	r := box.Check(ctx, command)
	e := flower.Evidence{
		Command: command, Dir: dir, ExitCode: r.ExitCode, Output: r.Output, Err: r.Err,
		DurationS: math.Round(r.Took.Seconds()*100) / 100,
	}
	if r.Err != nil {
		e.Problem = r.Err.Error()
	}
	return e
}
