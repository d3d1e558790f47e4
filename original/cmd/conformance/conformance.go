package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/original/conformance"
	"github.com/toolsandbox/toolsandbox/runs/catalogue"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
)

// options are the flags.
type options struct {
	vectors      conformance.Config
	packs        []string
	installation standalone.Config
	asJSON       bool
}

// line is the report of one file in the output for programs.
type line struct {
	*conformance.Report
	Error string `json:"error,omitempty"`
}

// summary is the output for programs.
type summary struct {
	Files  []line `json:"files"`
	Passed int    `json:"passed"`
	Failed int    `json:"failed"`
}

const help = `Usage: conformance PATH...

conformance runs vectors, recordings of the original program, through the services and prints every difference: in tool
calls, whole rollouts, scores, and requests to model providers, which this process plays. In a folder it runs all .jsonl files.
Without --remote all services run in this process and keep their data in a temporary directory. The exit code is 1 if any
case differs, and 2 for a mistake on the command line.

Examples:
  conformance vectors/tools/calls
  conformance vectors/trajectories --first 10
  conformance vectors/trajectories vectors/evaluation --score-only
  conformance vectors/trajectories --pack original
  conformance mine/follow.jsonl --scenarios vectors/scenarios.json --json

Flags:
`

// execute runs the command line args and returns the exit code.
func execute(args []string, stdout, stderr io.Writer) int {
	stopHeap, err := process.LimitHeap(os.LookupEnv)
	if err != nil {
		return process.ReportError(stderr, "conformance", err)
	}
	defer stopHeap()
	ctx, stop := process.SignalContext(context.Background())
	defer stop()
	flags := pflag.NewFlagSet("conformance", pflag.ContinueOnError)
	flags.Usage = func() {}
	o := &options{
		vectors:      conformance.Config{Parallel: 64, MaxDifferences: 3},
		installation: standalone.DefaultConfig(),
	}
	o.installation.AgentGateway.ModelBaseURLs = []string{"*"} // servers of this process
	o.register(flags)
	err = flags.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		_, err = fmt.Fprint(stdout, help, flags.FlagUsages())
	case err != nil:
		err = process.UsageErrorf("%w: see --help", process.FlagError(flags, err))
	default:
		if err = process.SetFromEnvironment(flags, os.LookupEnv); err == nil {
			err = o.run(ctx, flags.Args(), stdout, stderr)
		}
	}
	return process.ReportError(stderr, "conformance", err)
}

func (o *options) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.vectors.Scenarios, "scenarios", "", "file with the scenarios of trajectories (default: scenarios.json in the file's folder or its parents)")
	flags.StringArrayVar(&o.packs, "pack", nil, "pack with the scenarios of trajectories, a directory or a .zip file; repeatable")
	flags.StringVar(&o.vectors.Worlds, "worlds", "", "file with the worlds of tool calls (default: worlds.json in the file's folder or its parents, or beside --scenarios)")
	flags.BoolVar(&o.vectors.ScoreOnly, "score-only", false, "score recorded trajectories instead of playing them")
	flags.IntVar(&o.vectors.MaxDifferences, "first", o.vectors.MaxDifferences, "differences to print per file")
	flags.IntVarP(&o.vectors.Parallel, "parallel", "p", o.vectors.Parallel, "concurrent cases")
	flags.BoolVar(&o.asJSON, "json", false, "print JSON instead of lines")
	flags.BoolVar(&o.installation.Network.Remote, "remote", false, "use running services, at the addresses below, instead of starting them")
	o.installation.Network.RegisterClientFlags(flags)
	o.installation.Network.RegisterToolHostFlag(flags)
}

// validate rejects flags that are out of range.
func (o *options) validate() error {
	if o.vectors.MaxDifferences < 0 {
		return process.UsageErrorf("--first: %d given, expected 0 or more", o.vectors.MaxDifferences)
	}
	if o.vectors.Parallel < 1 || o.vectors.Parallel > 10000 {
		return process.UsageErrorf("--parallel: %d given, expected 1 to 10000", o.vectors.Parallel)
	}
	for name, path := range map[string]string{"scenarios": o.vectors.Scenarios, "worlds": o.vectors.Worlds} {
		if _, err := os.Stat(path); path != "" && err != nil {
			return process.UsageErrorf("--%s: %w", name, err)
		}
	}
	if len(o.packs) > 0 && o.vectors.Scenarios != "" {
		return process.UsageErrorf("--pack and --scenarios: both given, expected one")
	}
	if err := o.installation.Network.Validate(); err != nil {
		return process.UsageErrorf("%w", err)
	}
	return nil
}

// loadPacks reads the scenarios of trajectories from packs, if any.
func (o *options) loadPacks(ctx context.Context, warnings io.Writer) error {
	if len(o.packs) == 0 {
		return nil
	}
	all, err := (&catalogue.Selection{PackPaths: o.packs}).Expanded(ctx, warnings)
	if err != nil {
		return err
	}
	for i := range all {
		o.vectors.Catalogue = append(o.vectors.Catalogue, all[i].Scenario())
	}
	return nil
}

func (o *options) run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	if err := o.validate(); err != nil {
		return err
	}
	if len(args) == 0 {
		return process.UsageErrorf("PATH: missing, expected files or folders of vectors")
	}
	files, err := conformance.Files(args)
	if err != nil {
		return process.UsageErrorf("%w", err)
	}
	if err := o.loadPacks(ctx, stderr); err != nil {
		return err
	}
	o.installation.Orchestrator.Parallel = o.vectors.Parallel
	o.installation.AgentGateway.Unbudgeted = true // the vectors' providers fail on purpose, independently
	o.vectors.Run = rand.Text()                   // a remote installation keeps the sessions of earlier runs
	return standalone.WithTemporary(ctx, o.installation, "warn", stderr, func(ctx context.Context, node *rpc.Node) error {
		return o.play(ctx, node, files, stdout)
	})
}

// play runs the files in order, and prints each report as it comes.
func (o *options) play(ctx context.Context, connections *rpc.Node, files []string, stdout io.Writer) error {
	runner := conformance.New(conformance.Services{
		Orchestrator: connections.Conn(rpc.Orchestrator),
		Evaluator:    connections.Conn(rpc.Evaluator),
		AgentGateway: connections.Conn(rpc.AgentGateway),
		ToolHost:     connections.ToolHost,
	}, o.vectors)
	var totals summary
	for _, file := range files {
		report, err := runner.File(ctx, file)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			totals.Failed++
			totals.Files = append(totals.Files, line{Report: &conformance.Report{Path: file}, Error: err.Error()})
		} else {
			totals.Passed += report.Passed()
			totals.Failed += report.Differ
			totals.Files = append(totals.Files, line{Report: report})
		}
		if o.asJSON {
			continue
		}
		if err := totals.Files[len(totals.Files)-1].writeText(stdout); err != nil {
			return err
		}
	}
	return o.finish(&totals, stdout)
}

// finish prints the totals and fails if anything differs.
func (o *options) finish(totals *summary, stdout io.Writer) error {
	var err error
	if o.asJSON {
		err = report.JSON(stdout, totals)
	} else {
		_, err = fmt.Fprintf(stdout, "%d passed, %d failed\n", totals.Passed, totals.Failed)
	}
	if err == nil && totals.Failed > 0 {
		err = errors.New("the services do not conform: see the report")
	}
	return err
}

func (l line) writeText(w io.Writer) error {
	if l.Error == "" {
		return l.WriteText(w)
	}
	_, err := fmt.Fprintf(w, "%s\n", l.Error)
	return err
}
