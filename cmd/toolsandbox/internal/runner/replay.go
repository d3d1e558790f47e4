package runner

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/catalogue"
	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/sweep"
	"github.com/toolsandbox/toolsandbox/internal/process"
)

// replaySpec returns the specification of the run in --replay, to be played from its recording.
// Contradicting flags are a mistake.
func (o *Options) replaySpec(args []string) (sweep.Spec, error) {
	if len(args) > 0 {
		return sweep.Spec{}, process.Usage("--replay: %q given, but the run in %s determines what is played", args[0], o.replay)
	}
	var given string
	for _, register := range []func(*pflag.FlagSet){new(modelOptions).register, new(catalogue.Selection).RegisterFlags} {
		settled := pflag.NewFlagSet("settled", pflag.ContinueOnError)
		register(settled)
		settled.VisitAll(func(flag *pflag.Flag) {
			if given == "" && o.flags.Changed(flag.Name) {
				given = flag.Name
			}
		})
	}
	if given != "" {
		return sweep.Spec{}, process.Usage("--%s: given, but with --replay the run in %s determines what is played", given, o.replay)
	}
	spec, missing, err := openRecording(o.replay)
	if errors.Is(err, errNoRecording) {
		return sweep.Spec{}, process.Usage("--replay: %s holds no recording: give the --out of an earlier run", o.replay)
	}
	if err != nil {
		return sweep.Spec{}, fmt.Errorf("--replay: %w", err)
	}
	if n := len(missing); n > 0 {
		return sweep.Spec{}, process.Usage("--replay: %d rollouts of the run in %s have no recording, among them one of %s: complete it with its own flags and --resume",
			n, o.replay, missing[0])
	}
	if err := o.contradicts(spec); err != nil {
		return sweep.Spec{}, err
	}
	o.agent, o.user, o.trials, o.seed, o.compat = spec.Agents[0].GetName(), spec.Users[0].GetName(), spec.Trials, spec.Seed, spec.Compat
	return spec, nil
}

// contradicts names the flag that differs from the recorded run.
func (o *Options) contradicts(spec sweep.Spec) error {
	services, err := servicesOf(o.services)
	if err != nil {
		return err
	}
	for _, flag := range []struct {
		name      string
		given, is any
	}{
		{"agent", o.agent, spec.Agents[0].GetName()},
		{"user", o.user, spec.Users[0].GetName()},
		{"trials", o.trials, spec.Trials},
		{"seed", o.seed, spec.Seed},
		{"compat", o.compat, spec.Compat},
		{"max-rollout-bytes", o.maxBytes, spec.MaxBytes},
		{"services", servicesText(services), servicesText(spec.Services)},
	} {
		if o.flags.Changed(flag.name) && flag.given != flag.is {
			return process.Usage("--%s: %v given, but the replayed run in %s had %v", flag.name, flag.given, o.replay, flag.is)
		}
	}
	return nil
}
