// Command release builds what a release consists of into a directory: for each platform an archive
// with the static program, a Python wheel with the program and the SDK, and the list of its modules
// as CycloneDX; the Helm chart; and SHA256SUMS. The same source, Go and setuptools give the same
// bytes. Images are those of the command image.
//
//	go run ./tools/cmd/release -out DIR [-python PYTHON]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/toolsandbox/toolsandbox/tools/internal/program"
)

func main() {
	out := flag.String("out", "release", "directory, which is replaced")
	python := flag.String("python", "python3", "Python with pip and the setuptools of sdk/python/requirements.txt")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *out, *python); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1) //nolint:gocritic // nothing to clean up
	}
}

func run(ctx context.Context, out, python string) error {
	source, err := program.Open(".")
	if err != nil {
		return err
	}
	r := release{source: source, out: out, python: python}
	if err := r.build(ctx, platforms()); err != nil {
		return err
	}
	sums, err := os.ReadFile(r.sums())
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(sums)
	return err
}
