// Command flower runs long jobs for AI agents that survive their process. See package flower/internal/cli.
package main

import (
	"os"

	"flower/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Environ(), cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, cli.Options{}))
}
