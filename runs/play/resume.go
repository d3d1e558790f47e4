package play

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// resultFlags returns the flags that determine results: a resumed run must repeat them.
func resultFlags() []string {
	return []string{
		"agent", "user", "scenarios", "category", "exclude", "limit", "limit-seed", "agent-prompt", "agent-prompt-after", "user-prompt", "user-sees", "variants", "language", "split", "test-mode", "pack", "builtin", "preferred-tool-backend", "trials", "seed", "compat", "services", "replay", "fork", "text",
		"base-url", "user-base-url", "temperature", "max-tokens", "user-temperature", "user-max-tokens", "model-timeout", "reasoning-effort", "user-reasoning-effort", "thinking-budget",
		"user-thinking-budget", "stop", "user-stop", "model-seed", "user-model-seed", "max-rollout-bytes", "repeat-limit",
	}
}

// installationFlags returns flags that also change results, but only the services read them: no
// digest covers them.
func installationFlags() []string { return []string{"agentgw-template-dir", "toolhost-service-url"} }

// resumed returns the record of the run in the directory, continued by now. The error is a mistake
// on the command line if that is another run.
func (o *Options) resumed(d *directory, now *results.Run) (*results.Run, error) {
	run, err := d.run()
	if err != nil {
		return nil, err
	}
	if o.sweepID != "" && o.sweepID != run.SweepID {
		return nil, process.UsageErrorf("--sweep-id: %s given, but the run in %s is called %s", o.sweepID, d.path, run.SweepID)
	}
	suspects := installationFlags()
	if run.SpecDigest != now.SpecDigest {
		suspects = slices.Concat(resultFlags(), suspects)
	}
	different := differences(run, now, suspects)
	switch {
	case len(different) > 0:
		return nil, process.UsageErrorf("--resume: the run in %s started with other flags, which change results: %s: repeat its flags, or choose another --out",
			d.path, strings.Join(different, ", "))
	case run.Catalogue.Digest != now.Catalogue.Digest:
		return nil, process.UsageErrorf("--resume: the scenarios have changed since the run in %s started with %s: restore them, or choose another --out; toolsandbox score %s scores what was played by changed milestones and measures",
			d.path, commitOf(run.Program), report.ShellWord(d.path))
	case run.SpecDigest != now.SpecDigest:
		return nil, process.UsageErrorf("--resume: files that flags name have changed since the run in %s started: restore those of --agent, --user or --replay and the token of attached agents, or choose another --out", d.path)
	}
	streams, err := storage.Exists(storage.Join(o.installation.Dir, rpc.StreamDirectory))
	if err != nil {
		return nil, fmt.Errorf("resume: %w", err)
	}
	if !o.installation.Network.Remote && !streams {
		return nil, process.UsageErrorf("--resume: the rollouts of the run in %s are not in %s: repeat its --data-dir or --remote, or choose another --out", d.path, o.installation.Dir)
	}
	if o.formats != nil && !slices.Equal(run.Results, now.Results) {
		return nil, process.UsageErrorf("--results: the run in %s started with %s, %s given: repeat it, or choose another --out", d.path, strings.Join(run.Results, ","), strings.Join(now.Results, ","))
	}
	resumption := results.Resumption{Program: now.Program, Flags: make(map[string]string)}
	for name, value := range now.Flags {
		if value != run.Flags[name] && name != "resume" {
			resumption.Flags[name] = value
		}
	}
	run.Resumptions, run.Sessions, run.Ended = append(run.Resumptions, resumption), append(run.Sessions, now.Sessions...), nil
	return run, nil
}

// differences describes each flag, and the arguments, that changed, with the old and the new value.
func differences(then, now *results.Run, flags []string) []string {
	var different []string
	add := func(name, was, is string) {
		if was != is {
			different = append(different, fmt.Sprintf("%s was %s, is %s", name, valueOrNothing(was), valueOrNothing(is)))
		}
	}
	for _, name := range flags {
		add("--"+name, then.Flags[name], now.Flags[name])
	}
	if then.Catalogue.Digest != now.Catalogue.Digest {
		add("NAME", strings.Join(then.Arguments, " "), strings.Join(now.Arguments, " "))
	}
	return different
}

func valueOrNothing(value string) string {
	if value == "" || value == "[]" {
		return "not given"
	}
	return value
}

func commitOf(p results.Program) string {
	if p.Commit == "" {
		return "toolsandbox " + p.Version
	}
	return fmt.Sprintf("toolsandbox %s, commit %s", p.Version, p.Commit)
}

// run identifies the run of the directory.
func (d *directory) run() (*results.Run, error) {
	run, err := results.ReadRunFile(d.path)
	if errors.Is(err, results.ErrDamaged) {
		return nil, process.UsageErrorf("--resume: %w, or start the run again with another --out", err)
	}
	if err != nil {
		return nil, fmt.Errorf("resume: %w", err)
	}
	return run, nil
}
