package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/process"
)

// This file names what users of other benchmark programs are used to write.

// foreignFlags maps flags of other programs to what does the same here.
func foreignFlags() map[string]string {
	const (
		agent  = "--agent PROVIDER:MODEL, e.g. --agent openai:gpt-4o"
		pace   = "--parallel"
		some   = "--scenarios PATTERN for some scenarios, or --test-mode for a few"
		answer = "--max-tokens"
	)
	return map[string]string{
		"model": agent, "models": agent, "model-name": agent, "agent-llm": agent, "llm": agent, "provider": agent,
		"user-model": "--user PROVIDER:MODEL", "user-llm": "--user PROVIDER:MODEL",
		"num-trials": "--trials", "epochs": "--trials", "repeats": "--trials", "n-trials": "--trials",
		"limit": some, "num-tasks": some, "max-samples": some, "task-ids": "--scenarios", "tasks": "--scenarios", "task": "--scenarios",
		"category":   "--scenarios PATTERN; the results have a row for each category, and toolsandbox scenario list shows them",
		"categories": "--scenarios PATTERN; the results have a row for each category, and toolsandbox scenario list shows them",
		"processes":  pace, "workers": pace, "num-workers": pace, "max-workers": pace, "max-concurrency": pace, "max-connections": pace, "concurrency": pace,
		"api-base": "--base-url", "endpoint": "--base-url", "max-output-tokens": answer, "max-new-tokens": answer,
		"log-dir": "--out", "save-to": "--out", "output": "--out", "timeout": "--model-timeout",
	}
}

// foreignEuroEvalFlags maps flags of EuroEval that euroeval lacks to what does the same.
func foreignEuroEvalFlags() map[string]string {
	const zeroShot, serve = "zero-shot, always", "a matter of the server that --api-base names"
	return map[string]string{
		"api-key": "the provider's variable, e.g. OPENAI_API_KEY", "api-version": "part of --api-base", "few-shot": zeroShot, "zero-shot": zeroShot,
		"generative-type": "--reasoning-effort, for a model that reasons", "cache-dir": "--out", "force": "another --out", "verbose": "--log-level info",
		"device": serve, "trust-remote-code": serve, "gpu-memory-utilization": serve, "attention-backend": serve, "max-context-length": serve,
		"custom-datasets-file": "--pack",
	}
}

// flagError explains an error of pflag. It knows the flags of other programs.
func flagError(cmd *cobra.Command, err error) error {
	name, isUnknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	foreign := map[string]map[string]string{"run": foreignFlags(), "euroeval": foreignEuroEvalFlags()}[cmd.Name()]
	if here, ok := foreign[strings.ReplaceAll(name, "_", "-")]; isUnknown && ok {
		return process.UsageErrorf("%w; here it is %s", err, here)
	}
	return process.FlagError(cmd.Flags(), err)
}

// checkSingleDash returns an error for a long flag with a single dash, which would be a row of
// short flags with a value.
func checkSingleDash(root *cobra.Command, args []string) error {
	cmd, rest, err := root.Find(args)
	if err != nil {
		return nil // the command reports it
	}
	for _, arg := range rest {
		name, isShort := strings.CutPrefix(arg, "-")
		name, _, _ = strings.Cut(name, "=")
		if arg == "--" {
			return nil
		}
		if isShort && len(name) > 1 && name[0] != '-' && lookup(cmd, name) != nil {
			return process.UsageErrorf("%s given; did you mean -%s?", arg, arg)
		}
	}
	return nil
}

func lookup(cmd *cobra.Command, name string) *pflag.Flag {
	if flag := cmd.Flags().Lookup(name); flag != nil {
		return flag
	}
	return cmd.InheritedFlags().Lookup(name)
}
