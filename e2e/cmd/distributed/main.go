// Command distributed plays a run in one process and as four services with a NATS server over TCP,
// in turns, and compares the results byte by byte, and the time of the processes. With --teams it
// plays the sweeps of two teams over the services at once.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
)

// options are the flags.
type options struct {
	root, dir, agent string
	trials, parallel int
	turns            int
	teams            bool
	report           *log.Logger
}

func main() {
	o := options{report: log.New(os.Stdout, "", 0)}
	flag.StringVar(&o.root, "root", ".", "the repository")
	flag.StringVar(&o.dir, "dir", "", "directory for programs, data and results (default: a temporary one)")
	flag.StringVar(&o.agent, "agent", "oracle", "who plays the agent")
	flag.IntVar(&o.trials, "trials", 1, "trials of each scenario of the catalogue")
	flag.IntVar(&o.parallel, "parallel", 64, "concurrent rollouts of a run")
	flag.IntVar(&o.turns, "turns", 1, "how often each of the two plays the run, one after the other")
	flag.BoolVar(&o.teams, "teams", false, "let two teams play the run over the services at once, each with its own token")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "distributed:", err)
		os.Exit(1) //nolint:gocritic // nothing to clean up
	}
}

func (o *options) run(ctx context.Context) (err error) {
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "toolsandbox-distributed-"); err != nil {
			return err
		}
	}
	if err := os.Setenv("TOOLSANDBOX_ORCHESTRATOR_PARALLEL", strconv.Itoa(o.parallel)); err != nil { // for all processes
		return err
	}
	config := cluster.Config{Bin: filepath.Join(o.dir, "bin"), Dir: filepath.Join(o.dir, "data")}
	if err := os.MkdirAll(config.Dir, 0o755); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "building into", config.Bin)
	if err := cluster.Build(ctx, o.root, config.Bin); err != nil {
		return err
	}
	measure := o.compare
	if o.teams {
		measure = o.playTeams
		if config, err = withTeams(config); err != nil {
			return err
		}
	}
	services, err := cluster.Start(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, services.Stop()) }()
	for _, name := range services.Processes() {
		fmt.Fprintf(os.Stderr, "%-13s %s\n", name, services.Address(name))
	}
	return measure(ctx, services)
}
