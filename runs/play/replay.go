package play

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/runs/catalogue"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

// replaySpec returns the specification of the run in --replay, to be played from its recording.
// Contradicting flags are a mistake.
func (o *Options) replaySpec(args []string) (sweep.Spec, error) {
	if len(args) > 0 {
		return sweep.Spec{}, process.UsageErrorf("--replay: %q given, but the run in %s determines what is played", args[0], o.replay)
	}
	var given string
	for _, register := range []func(*pflag.FlagSet){new(modelOptions).register, new(catalogue.Selection).RegisterFlags, new(catalogue.Selection).RegisterAblationFlags} {
		settled := pflag.NewFlagSet("settled", pflag.ContinueOnError)
		register(settled)
		settled.VisitAll(func(flag *pflag.Flag) {
			if given == "" && o.flags.Changed(flag.Name) {
				given = flag.Name
			}
		})
	}
	if given != "" {
		return sweep.Spec{}, process.UsageErrorf("--%s: given, but with --replay the run in %s determines what is played", given, o.replay)
	}
	spec, run, missing, err := openRecording(o.replay)
	if errors.Is(err, errNoRecording) {
		return sweep.Spec{}, process.UsageErrorf("--replay: %s holds no recording: give the --out of an earlier run", o.replay)
	}
	if err != nil {
		return sweep.Spec{}, fmt.Errorf("--replay: %w", err)
	}
	if n := len(missing); n > 0 {
		return sweep.Spec{}, process.UsageErrorf("--replay: %d rollouts of the run in %s have no recording, among them one of %s: complete it with its own flags and --resume",
			n, o.replay, missing[0])
	}
	if err := o.contradicts(spec); err != nil {
		return sweep.Spec{}, err
	}
	o.replayed = run
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
		{"repeat-limit", o.repeatLimit.String(), (&optional[int32]{value: spec.RepeatLimit}).String()},
		{"services", servicesText(services), servicesText(spec.Services)},
	} {
		if o.flags.Changed(flag.name) && flag.given != flag.is {
			return process.UsageErrorf("--%s: %v given, but the replayed run in %s had %v", flag.name, flag.given, o.replay, flag.is)
		}
	}
	return nil
}

// compareReplay prints the rollouts that differ from the replayed run, and returns the error; nil
// if there are none. rollouts are those of the replay.
func (o *Options) compareReplay(stderr io.Writer, rollouts []results.Rollout) error {
	if o.replayed == nil {
		return nil
	}
	first := make(map[string]results.Outcome, len(o.replayed.Rollouts))
	for _, rollout := range o.replayed.Rollouts {
		first[rollout.Name] = rollout
	}
	different := 0
	for _, played := range rollouts {
		rollout := played.Outcome()
		var how string
		switch was, ok := first[rollout.Name]; {
		case rollout.Damage != "":
		case !ok:
			how = "the replayed run has no rollout of this name"
		case was.End != rollout.End:
			how = fmt.Sprintf("it ends as %s, but ended as %s", rollout.End, was.End)
		case was.ContextSHA256 != rollout.ContextSHA256:
			how = "its messages or its world differ"
		}
		if how == "" {
			continue
		}
		different++
		if _, err := fmt.Fprintf(stderr, "different: %s: %s\n", rollout.Name, how); err != nil {
			return err
		}
	}
	if different == 0 {
		return nil
	}
	return fmt.Errorf("%d replayed rollouts differ from those of the run in %s: this program has changed since", different, o.replay)
}
