// Command distributed runs the catalogue twice, in one process and as four services with a NATS
// server over TCP, and compares the results byte by byte.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	"github.com/toolsandbox/toolsandbox/e2e/internal/compare"
)

func main() {
	root := flag.String("root", ".", "the repository")
	dir := flag.String("dir", "", "directory for programs, data and results (default: a temporary one)")
	agent := flag.String("agent", "oracle", "who plays the agent")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *root, *dir, *agent); err != nil {
		fmt.Fprintln(os.Stderr, "distributed:", err)
		os.Exit(1) //nolint:gocritic // nothing to clean up
	}
}

func run(ctx context.Context, root, dir, agent string) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "toolsandbox-distributed-"); err != nil {
			return err
		}
	}
	bin, data := filepath.Join(dir, "bin"), filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "building into", bin)
	if err := cluster.Build(ctx, root, bin); err != nil {
		return err
	}
	services, err := cluster.Start(ctx, cluster.Config{Bin: bin, Dir: data})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, services.Stop()) }()
	for _, name := range append([]string{cluster.NATS}, cluster.Services()...) {
		fmt.Fprintf(os.Stderr, "%-13s %s\n", name, services.Address(name))
	}
	apart, together := filepath.Join(dir, "apart"), filepath.Join(dir, "together")
	if err := toolsandbox(ctx, bin, append([]string{"run", "--agent", agent, "--out", apart}, services.ClientArgs()...)); err != nil {
		return err
	}
	if err := toolsandbox(ctx, bin, []string{"run", "--agent", agent, "--out", together}); err != nil {
		return err
	}
	differences, err := compare.Runs(together, apart)
	if err != nil {
		return err
	}
	for _, difference := range differences {
		fmt.Println(difference)
	}
	if len(differences) > 0 {
		return fmt.Errorf("%d files differ between one process and four", len(differences))
	}
	fmt.Println("one process and four services left byte-identical results:", together, apart)
	return nil
}

func toolsandbox(ctx context.Context, bin string, args []string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "toolsandbox"), args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("toolsandbox %v: %w", args, err)
	}
	return nil
}
