package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/catalogue"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
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
	summary, reader, err := report.OpenFinished(dir, s.acceptEdits, warnings)
	if err != nil {
		return nil, nil, err
	}
	if s.reader = reader; reader.Run() == nil {
		if err := report.Warn(warnings, "%s has no %s: its files are not verified", dir, results.RunFile); err != nil {
			return nil, nil, err
		}
	}
	scenarios, err := s.catalogue.ExpandedByName(ctx, warnings)
	if err != nil {
		return nil, nil, err
	}
	return summary, scenarios, nil
}

// textIsNoCall returns whether the run's agent was a plug-in: it saw functions as tools, so its
// texts are no calls.
func (s *scorer) textIsNoCall() bool {
	run := s.reader.Run()
	if run == nil {
		return false
	}
	agent, err := player.Parse(worldv1.Role_ROLE_AGENT, run.Agent.Name)
	return err == nil && agent.GetPlugin() != nil
}

// scenarioName returns the scenario name of a rollout: run appends the trial if it plays a scenario
// several times.
func scenarioName(rollout string, scenarios map[string]*scenariov1.Scenario) string {
	name, number, ok := cutLast(rollout, "_trial_")
	if scenarios[rollout] != nil || !ok || number == "" || strings.Trim(number, "0123456789") != "" {
		return rollout
	}
	return name
}

// cutLast is strings.Cut around the last instance of sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// use calls do with an evaluator. Without --remote it starts one.
func (s *scorer) use(ctx context.Context, stderr io.Writer, do func(context.Context, evaluatorv1.EvaluatorServiceClient) error) error {
	return standalone.WithTemporary(ctx, s.installation, "warn", stderr, func(ctx context.Context, node *rpc.Node) error {
		return do(ctx, evaluatorv1.NewEvaluatorServiceClient(node.Conn(rpc.Evaluator)))
	})
}

// wrapRejection wraps an evaluator's error with the name of the rollout.
func wrapRejection(operation, rollout string, err error) error {
	return fmt.Errorf("%s %s: %s", operation, rollout, status.Convert(err).Message())
}
