package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"flower"
	"flower/internal/disk"
	"flower/internal/text"
	"flower/sqlite"
)

// adoptCommand takes over what a directory remembers from before it was moved.
func (a *app) adoptCommand() *cobra.Command {
	return &cobra.Command{
		Use: "adopt", Short: a.Say("cmd.adopt"), Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.supervise(func(ctx context.Context, _ *watch) error { return a.runAdopt(ctx) })
		},
	}
}

func (a *app) runAdopt(ctx context.Context) error {
	where, err := a.findPlace()
	if err != nil {
		return err
	}
	show := newPrinter(a.Printer, printOptions{
		screen: a.out, width: func() int { return a.lineWidth(a.stdio.Out) }, now: a.Now, workspace: where.workspace,
	})
	var moved sqlite.Adopted
	from, err := flower.Adopt(ctx, flower.AdoptOptions{
		Workspace: where.workspace, RunDir: where.runDir, Now: a.Now,
		Sessions: func(ctx context.Context, from string) (err error) {
			if !disk.Exists(filepath.Join(where.runDir, storeFile)) {
				return nil
			}
			store, err := a.openStore(ctx, where, nil)
			if err != nil {
				return err
			}
			defer func() {
				if failed := store.Close(); failed != nil {
					err = errors.Join(err, fmt.Errorf("close store: %w", failed))
				}
			}()
			moved, err = store.Adopt(ctx, from)
			return err
		},
	})
	switch {
	case errors.Is(err, flower.ErrNothingToAdopt):
		a.out.Line(a.Say("adopt.nothing"))
		return nil
	case errors.Is(err, flower.ErrOriginExists):
		return &usageError{spoken(a.Say("adopt.copy", text.Data{"From": oneLine(from)}))}
	case err != nil:
		return err
	}
	show.say("+ ", "adopt.done", text.Data{"From": oneLine(from), "N": moved.Sessions})
	if moved.Copy != "" {
		show.say("  ", "adopt.kept", text.Data{"Path": show.path(moved.Copy)})
	}
	return nil
}
