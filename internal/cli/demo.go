package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"flower/internal/demo"
)

// demoCommand shows the whole job without a key.
func (a *app) demoCommand() *cobra.Command {
	var crash, keep bool
	c := &cobra.Command{
		Use: "demo", Short: a.Say("cmd.demo"), Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.runDemo(crash, keep) },
	}
	c.Flags().BoolVar(&crash, "crash", false, a.Say("flag.crash"))
	c.Flags().BoolVar(&keep, "keep", false, a.Say("flag.keep"))
	return c
}

func (a *app) runDemo(crash, keep bool) error {
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	width := fmt.Sprintf("COLUMNS=%d", a.lineWidth(a.stdio.Out))
	return a.supervise(func(ctx context.Context, _ *watch) error {
		return demo.Run(ctx, demo.Options{
			Flower: a.inside, Crash: crash, Keep: keep, Executable: executable, Arg0: os.Args[0],
			Out: a.out, Width: a.lineWidth(a.stdio.Out), Lang: string(a.Lang()), Environ: append([]string{width}, a.env...),
		})
	})
}

// inside runs a command line in this process. Signals are this one's business: it stops the other by its context.
func (a *app) inside(ctx context.Context, args, env []string, stdin io.Reader, out io.Writer) int {
	signals := make(chan os.Signal, 1)
	stop := context.AfterFunc(ctx, func() { signals <- syscall.SIGTERM })
	defer stop()
	return Main(args, env, Stdio{In: stdin, Out: out, Err: out}, Options{Retry: a.Retry, Now: a.Now, Signals: signals, Dir: a.Dir})
}
