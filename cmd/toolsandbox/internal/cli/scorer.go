package cli

import (
	"context"
	"io"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/runs/catalogue"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/rescore"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
)

// scorer holds the scenarios and the evaluator for commands that score the trajectories of a
// finished run again.
type scorer struct {
	catalogue    catalogue.Selection
	installation standalone.Config
	network      *pflag.FlagSet
	acceptEdits  bool
	reader       *results.Reader
}

func newScorer() *scorer {
	return &scorer{installation: standalone.DefaultConfig(), network: pflag.NewFlagSet("network", pflag.ContinueOnError)}
}

func (s *scorer) register(flags *pflag.FlagSet) {
	s.catalogue.RegisterSourceFlags(flags)
	s.network.BoolVar(&s.installation.Network.Remote, "remote", false, "use the evaluator at --evaluator-addr instead of starting one")
	s.installation.Network.RegisterClientFlags(s.network)
	addSettings(flags, s.network)
	addAcceptEdits(flags, &s.acceptEdits)
}

func addAcceptEdits(flags *pflag.FlagSet, accept *bool) {
	flags.BoolVar(accept, "accept-edits", false, "read files that were changed after the run, and name them")
}

// load reads the record and the summary of the run in dir and the scenarios by name.
func (s *scorer) load(ctx context.Context, warnings io.Writer, dir string) (*resultfile.Summary, map[string]*scenariov1.Scenario, error) {
	if err := s.installation.Network.Validate(); err != nil {
		return nil, nil, process.UsageErrorf("%w", err)
	}
	summary, reader, err := report.OpenFinished(ctx, dir, s.acceptEdits, warnings)
	if err != nil {
		return nil, nil, err
	}
	if s.reader = reader; reader.Run() == nil {
		if err := report.Warn(warnings, "%s has no %s: its files are not verified", dir, results.RunFile); err != nil {
			return nil, nil, err
		}
	}
	scenarios, err := s.catalogue.ExpandedByName(ctx, warnings, rescore.Names(summary)...)
	if err != nil {
		return nil, nil, err
	}
	return summary, scenarios, nil
}

// use calls do with an evaluator. Without --remote it starts one.
func (s *scorer) use(ctx context.Context, stderr io.Writer, do func(context.Context, evaluatorv1.EvaluatorServiceClient) error) error {
	return standalone.WithTemporary(ctx, s.installation, "warn", stderr, func(ctx context.Context, node *rpc.Node) error {
		return do(ctx, evaluatorv1.NewEvaluatorServiceClient(node.Conn(rpc.Evaluator)))
	})
}
