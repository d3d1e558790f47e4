package play

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/process"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

// rejectIneffective rejects flags of the command line that have no effect on what is played. Those
// of the environment and of a file may be meant for other runs. A flag that has an effect on one of
// several compared agents is accepted for all of them. The bounds of checks of players, such as
// --wait and --probe, are accepted for players that need no check.
func (o *Options) rejectIneffective(spec sweep.Spec) error {
	agents := slices.Concat(spec.Agents, o.competing())
	all := slices.Concat(agents, spec.Users)
	noModel := "but neither --agent nor --user is a model"
	if spec.Recording != nil {
		noModel = "but with --replay no model is asked"
	}
	asked := func(players []*agentgwv1.Player, is func(*agentgwv1.Player) bool) bool {
		return spec.Recording == nil && slices.ContainsFunc(players, is)
	}
	live := []toolhostv1.HostedServices{toolhostv1.HostedServices_HOSTED_SERVICES_LIVE, toolhostv1.HostedServices_HOSTED_SERVICES_RECORD}
	conversation := slices.ContainsFunc(spec.Scenarios, isConversation)
	noReader := func(flag, name string) string {
		return "but " + flag + " " + name + " reads no prompt and no conversation"
	}
	return errors.Join(
		o.reject(asked(all, isAttached), "but nobody plays as attached:NAME", "attach-listen", "attach-cert", "attach-key", "attach-client-ca", "attach-token-file"),
		o.reject(asked(all, dialsTLS), "but nobody plays as grpcs://HOST:PORT", "agent-ca"),
		o.reject(asked(all, isModel), noModel, flagNames(
			new(spendOptions).register, o.installation.AgentGateway.RegisterBudgetFlags, o.installation.AgentGateway.RegisterTemplateFlags, new(probeOptions).registerAllow)...),
		o.reject(asked(agents, reads), noReader("--agent", o.agent), "agent-prompt", "agent-prompt-after"),
		o.reject(!conversation || asked(spec.Users, reads), noReader("--user", o.user), "user-prompt", "user-sees"),
		o.reject(conversation, "but records of EuroEval have no user", "user-prompt", "user-sees"),
		o.reject(slices.ContainsFunc(spec.Scenarios, isRecord), "but no selected scenario is a record of EuroEval", flagNames(o.registerEuroEval)...),
		o.reject(slices.Contains(live, spec.Services), "but only --services live and record ask hosted services", "toolhost-service-url", "toolhost-service-timeout"),
		o.reject(sweep.HasToolServers(spec.Scenarios), "but no selected scenario has tools of a server", "toolhost-tool-server-timeout"),
		o.reject(!o.asJSON, "but --json prints no links", "trace-ui"),
	)
}

// competing returns the agents that are compared in this run.
func (o *Options) competing() []*agentgwv1.Player {
	var agents []*agentgwv1.Player
	for _, name := range o.until.agents {
		if p, err := player.Parse(worldv1.Role_ROLE_AGENT, name); err == nil { // the run of another one is told otherwise
			agents = append(agents, p)
		}
	}
	return agents
}

// reject rejects given flags with other values than their defaults, unless they are effective.
func (o *Options) reject(effective bool, why string, names ...string) error {
	if effective {
		return nil
	}
	var errs []error
	for _, name := range names {
		if flag := o.flags.Lookup(name); flag.Changed && flag.Value.String() != flag.DefValue {
			errs = append(errs, process.UsageErrorf("--%s: given, %s", name, why))
		}
	}
	return errors.Join(errs...)
}

// flagNames returns the names of registered flags.
func flagNames(register ...func(*pflag.FlagSet)) []string {
	flags := pflag.NewFlagSet("names", pflag.ContinueOnError)
	for _, add := range register {
		add(flags)
	}
	var names []string
	flags.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	return names
}

// asksModels reports whether a model plays, and no recording of it.
func asksModels(spec sweep.Spec) bool {
	return spec.Recording == nil && (slices.ContainsFunc(spec.Agents, isModel) || slices.ContainsFunc(spec.Users, isModel))
}

func isModel(p *agentgwv1.Player) bool { return p.GetModel() != nil }

// reads reports whether a player decides by its prompt and what it sees. The others play what is
// fixed or random.
func reads(p *agentgwv1.Player) bool { return p.GetModel() != nil || p.GetPlugin() != nil }

// dialsTLS reports whether the gateway dials a player with TLS.
func dialsTLS(p *agentgwv1.Player) bool {
	return strings.HasPrefix(p.GetPlugin().GetAddress(), "grpcs://")
}

// isRecord reports whether a scenario is a record of EuroEval's task.
func isRecord(s *scenariov1.Scenario) bool { return s.GetEvaluation().GetFunctionCalling() != nil }

// isConversation reports whether a scenario is one, and no record of EuroEval's task.
func isConversation(s *scenariov1.Scenario) bool { return !isRecord(s) }
