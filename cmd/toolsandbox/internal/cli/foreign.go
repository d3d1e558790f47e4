package cli

import (
	"errors"
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
		some   = "--limit N, or --scenarios PATTERN"
		answer = "--max-tokens"
		turns  = "max_messages of each scenario (docs/scenarios.md)"
		list   = "toolsandbox scenario list"
		key    = "OPENAI_API_KEY, or the variable of another provider (docs/models.md)"
		fresh  = "another --out, or --resume to continue a run"
	)
	return map[string]string{
		"model": agent, "models": agent, "model-name": agent, "agent-llm": agent, "llm": agent, "provider": agent,
		"user-model": "--user PROVIDER:MODEL", "user-llm": "--user PROVIDER:MODEL",
		"num-trials": "--trials", "epochs": "--trials", "repeats": "--trials", "n-trials": "--trials",
		"num-tasks": some, "max-samples": some, "task-ids": "--scenarios", "tasks": "--scenarios", "task": "--scenarios",
		"categories": "--category",
		"processes":  pace, "workers": pace, "num-workers": pace, "max-workers": pace, "max-concurrency": pace, "max-connections": pace, "concurrency": pace,
		"api-base": "--base-url", "endpoint": "--base-url", "max-output-tokens": answer, "max-new-tokens": answer,
		"agent-model": agent, "model-id": agent, "llm-model": agent, "agent-url": "--agent grpc://HOST:PORT", "agent-strategy": agent, "user-strategy": "--user NAME",
		"num-samples": some, "sample": some, "samples": some, "max-tasks": some, "max-examples": some, "subset": some,
		"dataset": "--pack", "data": "--pack", "benchmark": "--pack", "env": "--pack", "domain": "--pack", "test-category": "--category",
		"runs": "--trials", "n": "--trials", "num-runs": "--trials", "k": "--trials", "num-repeats": "--trials",
		"threads": pace, "num-threads": pace, "jobs": pace, "j": pace, "batch-size": pace, "num-processes": pace, "parallelism": pace,
		"max-turns": turns, "max-steps": turns, "max-num-steps": turns, "max-messages": turns, "max-iterations": turns,
		"list": list, "list-tasks": list, "dry-run": list + "; toolsandbox config prints the settings of a run", "task-split": "--split",
		"api-key": key, "openai-api-key": key, "token": key, "base-uri": "--base-url", "api-url": "--base-url", "host": "--base-url", "server": "--base-url",
		"force": fresh, "overwrite": fresh, "yes": fresh, "y": fresh, "continue": "--resume", "restart": fresh,
		"verbose": "--log-level debug", "v": "--log-level debug", "debug": "--log-level debug", "quiet": "--log-level error", "q": "--log-level error",
		"format": "--json", "output-format": "--json", "m": agent, "top-p": "--temperature; other sampling settings are the server's", "system-prompt": "--agent-prompt FILE, before what the scenarios say",
		"results-dir": "--out", "name": "--out", "run-name": "--out", "run-id": "--out", "experiment": "--out", "d": "--out",
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

// foreignCommands maps commands of other programs to what does the same here.
func foreignCommands() map[string]string {
	const play, read = "run", "explain RUN SCENARIO, or compare RUN RUN"
	return map[string]string{
		"eval": play, "evaluate": play, "play": play, "start": play, "benchmark": play, "test": play, "generate": play, "simulate": play,
		"report": read, "results": read, "inspect": read, "leaderboard": "compare RUN RUN", "diff": "compare RUN RUN",
		"models": "agents", "users": "agents", "init": "pack new DIR", "ls": "scenario list", "tasks": "scenario list", "scenarios": "scenario list",
		"packs": "pack show PACK", "rescore": "score RUN", "grade": "score RUN", "resume": "run --resume --out RUN with its flags", "server": "serve SERVICE",
	}
}

// flagError explains an error of pflag. It knows the flags of other programs.
func flagError(cmd *cobra.Command, err error) error {
	unknown, isUnknown := errors.AsType[*pflag.NotExistError](err)
	foreign := map[string]map[string]string{"run": foreignFlags(), "config": foreignFlags(), "euroeval": foreignEuroEvalFlags()}[cmd.Name()]
	if isUnknown {
		if here, ok := foreign[strings.ReplaceAll(unknown.GetSpecifiedName(), "_", "-")]; ok {
			return process.UsageErrorf("%w; here it is %s", err, here)
		}
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
