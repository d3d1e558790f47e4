package cli

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/telemetry"
	"github.com/toolsandbox/toolsandbox/runs/catalogue"
	"github.com/toolsandbox/toolsandbox/runs/prove"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// defaultProofs is the default number of concurrent rollouts of a proof.
const defaultProofs = 64

// proveOptions are the flags of scenario prove.
type proveOptions struct {
	from     catalogue.Selection
	parallel int
	verbose  bool
	asJSON   bool

	telemetry telemetry.Config
}

func newScenarioProve() *cobra.Command {
	options := &proveOptions{parallel: defaultProofs}
	cmd := &cobra.Command{
		Use:   "prove [NAME...]",
		Short: "Prove scenarios by playing them",
		Long: `prove plays each scenario many times through all services in this process: the oracle in every order and variant, agents that
do not help, and the oracle with one fault per rollout: a wrong argument or person, a missing call, an unrequested change, a
message without its facts. In a sound scenario only the oracle scores 1, each minefield is triggered by its triggered_by and
by nothing else, and the categories are true. It also calls each tool in Python with made-up arguments, in copies of a world.`,
		Example: `  toolsandbox scenario prove
  toolsandbox scenario prove which_mateo 'wifi_*' -v
  toolsandbox scenario prove --pack mine --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return options.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	options.from.RegisterFlags(cmd.Flags())
	options.register(cmd.Flags())
	return cmd
}

// register adds the flags that do not select scenarios.
func (o *proveOptions) register(flags *pflag.FlagSet) {
	o.telemetry = telemetry.DefaultConfig()
	o.telemetry.RegisterFlags(flags)
	flags.IntVarP(&o.parallel, "parallel", "p", o.parallel, "concurrent rollouts")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "list every rollout with its score")
	flags.BoolVar(&o.asJSON, "json", false, "print JSON; with --verbose also every rollout")
}

func (o *proveOptions) run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	if o.parallel < 1 || o.parallel > 10000 {
		return process.UsageErrorf("--parallel: %d given, expected 1 to 10000", o.parallel)
	}
	if err := o.telemetry.Validate(); err != nil {
		return process.UsageErrorf("%w", err)
	}
	o.from.Whole = true // its tools are tried in the world of its first scenario, whichever are named
	scenarios, err := o.from.Load(ctx, stderr, args)
	if mistakes, ok := errors.AsType[document.Errors](err); ok {
		return report.WriteChecked(stdout, o.asJSON, o.from.SourceNames(), 0, mistakes)
	}
	if err == nil {
		err = o.from.CheckNeeds()
	}
	if err != nil {
		return err
	}
	services := standalone.DefaultConfig()
	services.Orchestrator.Parallel = o.parallel
	services.ToolHost.ToolServers = o.from.ToolServers(nil)
	summary := prove.Summary{}
	start := time.Now()
	logger := process.TextLog(stderr, "error") // wrong calls are intended
	exported, err := telemetry.Start(ctx, o.telemetry, "toolsandbox")
	if err != nil {
		return err
	}
	defer exported.Finish(ctx, logger)
	err = standalone.Temporary(ctx, services, rpc.Options{Logger: logger, Telemetry: exported}, func(ctx context.Context, node *rpc.Node) (err error) {
		connected := prove.Services{
			Orchestrator: node.Conn(rpc.Orchestrator),
			Evaluator:    node.Conn(rpc.Evaluator),
			ToolHost:     node.ToolHost,
			Parallel:     o.parallel,
		}
		for _, p := range o.from.LoadedPacks {
			if len(p.Scenarios) == 0 {
				continue
			}
			faults, err := prove.TryTools(ctx, connected, p.Path, p.Scenarios[0].Scenario.GetSetup())
			if err != nil {
				return err
			}
			summary.Tools = append(summary.Tools, faults...)
		}
		summary.Scenarios, err = prove.Prove(ctx, connected, scenarios)
		return err
	})
	if err != nil {
		return err
	}
	summary.Seconds = time.Since(start).Seconds()
	return o.print(stdout, summary)
}

// print writes the reports and fails if any scenario is not proven or any tool has a defect.
func (o *proveOptions) print(w io.Writer, summary prove.Summary) error {
	for _, r := range summary.Scenarios {
		r.Position = o.from.Positions[r.Name]
	}
	summary.Count()
	if !o.asJSON {
		return errors.Join(summary.WriteText(w, o.verbose, o.from.PackPaths), summary.Err())
	}
	if !o.verbose {
		for _, r := range summary.Scenarios {
			r.Experiments = nil
		}
	}
	return errors.Join(report.JSON(w, summary), summary.Err())
}
