package play

import (
	"errors"
	"slices"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/process"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

// rejectIneffective rejects flags of the command line that have no effect on what is played. Those
// of the environment and of a file may be meant for other runs.
func (o *Options) rejectIneffective(spec sweep.Spec) error {
	modelFlags := func(flags *pflag.FlagSet) {
		new(spendOptions).register(flags)
		o.installation.AgentGateway.RegisterBudgetFlags(flags)
		o.installation.AgentGateway.RegisterTemplateFlags(flags)
	}
	noModel := "but neither --agent nor --user is a model"
	if spec.Recording != nil {
		noModel = "but with --replay no model is asked"
	}
	attached := slices.ContainsFunc(slices.Concat(spec.Agents, spec.Users), isAttached)
	return errors.Join(
		o.reject(attached && spec.Recording == nil, "but nobody plays as attached:NAME", o.registerToken),
		o.reject(asksModels(spec), noModel, modelFlags),
		o.reject(slices.ContainsFunc(spec.Scenarios, isRecord), "but no selected scenario is a record of EuroEval", o.registerEuroEval),
	)
}

// reject rejects given flags unless they are effective.
func (o *Options) reject(effective bool, why string, register func(*pflag.FlagSet)) error {
	if effective {
		return nil
	}
	var errs []error
	flags := pflag.NewFlagSet("ineffective", pflag.ContinueOnError)
	register(flags)
	flags.VisitAll(func(flag *pflag.Flag) {
		if o.flags.Changed(flag.Name) {
			errs = append(errs, process.UsageErrorf("--%s: given, %s", flag.Name, why))
		}
	})
	return errors.Join(errs...)
}

// asksModels reports whether a model plays, and no recording of it.
func asksModels(spec sweep.Spec) bool {
	isModel := func(p *agentgwv1.Player) bool { return p.GetModel() != nil }
	return spec.Recording == nil && (slices.ContainsFunc(spec.Agents, isModel) || slices.ContainsFunc(spec.Users, isModel))
}

// isRecord reports whether a scenario is a record of EuroEval's task.
func isRecord(s *scenariov1.Scenario) bool { return s.GetEvaluation().GetFunctionCalling() != nil }

// isConversation reports whether a scenario is one, and no record of EuroEval's task.
func isConversation(s *scenariov1.Scenario) bool { return !isRecord(s) }
