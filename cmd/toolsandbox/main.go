//go:build !windows

// Command toolsandbox measures how well language-model agents use stateful tools in conversation.
package main

import (
	"os"

	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr)) }
