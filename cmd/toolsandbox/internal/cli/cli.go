// Package cli is the command line of toolsandbox: one file per command.
package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/filelimit"
	"github.com/toolsandbox/toolsandbox/internal/flagrule"
	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/play"
	"github.com/toolsandbox/toolsandbox/runs/report"
)

// Main runs the command that args name and returns the exit code: 0 on success, 2 for a mistake on
// the command line, 3 if the command's sweep was cancelled, 1 for any other error.
func Main(args []string, stdout, stderr io.Writer) int {
	stdout, stderr = output.NewWriter(stdout), output.NewWriter(stderr)
	if err := filelimit.CheckMinimum(); err != nil {
		return process.ReportError(stderr, "toolsandbox", err)
	}
	stopHeap, err := process.LimitHeap(os.LookupEnv)
	if err != nil {
		return process.ReportError(stderr, "toolsandbox", err)
	}
	defer stopHeap()
	ctx, stop := process.SignalContext(context.Background())
	defer stop()
	root := newRoot()
	root.SetOut(stdout)
	root.SetErr(stderr)
	checkBuiltins(root)
	args = asRun(args)
	if err := checkSingleDash(root, args); err != nil {
		return process.ReportError(stderr, "toolsandbox", err)
	}
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	err = process.ErrorSource(cmd.Flags(), err)
	switch {
	case err == nil, errors.Is(err, process.ErrUsage):
	case isUsage(err):
		err = process.UsageErrorf("%w: see --help", err)
	case isOtherKind(err):
		err = process.UsageErrorf("%w", err)
	}
	return process.ReportError(stderr, "toolsandbox", err)
}

// isUsage recognises cobra's own errors, which have no type.
func isUsage(err error) bool {
	beginnings := []string{"unknown command", "unknown flag", "unknown shorthand", "required flag", "accepts ", "requires ", "invalid argument", "flag needs"}
	return slices.ContainsFunc(beginnings, func(beginning string) bool { return strings.HasPrefix(err.Error(), beginning) })
}

// isOtherKind recognises a file that was given in place of a directory, or the other way round. No
// command writes anything to either.
func isOtherKind(err error) bool {
	return errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "toolsandbox",
		Short: "Measure how well language-model agents use stateful tools in conversation",
		Long: `toolsandbox plays conversations between a simulated user and an agent that calls tools, and scores each
whole trajectory against a graph of milestones to reach and minefields to avoid.`,
		Example: `  toolsandbox run --agent oracle --out out
  toolsandbox run --agent grpc://localhost:9000 --scenarios 'wifi_*' --out mine
  toolsandbox scenario list
  toolsandbox agents`,
		Version:       programText(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetGlobalNormalizationFunc(dashes)
	root.SetFlagErrorFunc(flagError)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		for _, warning := range process.UnknownVariables(os.Environ(), everyFlag(root), testVariable, play.AttachTokenVariable, rpc.TokenVariable) {
			if err := report.Warn(cmd.ErrOrStderr(), "%s", warning); err != nil {
				return err
			}
		}
		if err := process.CheckMissingValues(cmd.Flags()); err != nil {
			return err
		}
		if err := configure(cmd); err != nil {
			return err
		}
		if err := flagrule.Check(cmd.Flags()); err != nil {
			return process.UsageErrorf("%w", err)
		}
		return nil
	}
	root.AddCommand(newRun(), newConfig(), newScenario(), newPack(), newTools(), newAgents(), newProbe(), newServe(), newBus(), newBench(), newSession(), newExplain(), newScore(), newReport(), newCompare(), newView(), newPlan(), newExport(), newSweep(), newEuroEval(), newVersion())
	visitCommands(root, func(cmd *cobra.Command) {
		process.RejectLeadingZeros(cmd.Flags())
		process.RejectLeadingZeros(cmd.PersistentFlags())
	})
	asGroup(root)
	describeExitCodes(root)
	complete(root)
	return root
}
