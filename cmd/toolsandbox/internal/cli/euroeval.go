package cli

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/euroeval"
	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/packs"
	"github.com/toolsandbox/toolsandbox/runs/catalogue"
	"github.com/toolsandbox/toolsandbox/runs/play"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

const (
	// euroevalTask is the only task of EuroEval that is played here.
	euroevalTask = "tool-calling"
	// allLanguages selects every language.
	allLanguages = "all"
)

// euroevalOptions are flags under EuroEval's names. settings are those of run.
type euroevalOptions struct {
	run      *play.Options
	settings *pflag.FlagSet

	models, tasks, languages, datasets, packs []string
	val, test                                 bool
	iterations                                int
	address                                   string
}

func newEuroEval() *cobra.Command {
	options := &euroevalOptions{run: play.New(program()), settings: pflag.NewFlagSet("run", pflag.ContinueOnError)}
	cmd := &cobra.Command{
		Use:   "euroeval --model ID",
		Short: "Play EuroEval's task tool-calling",
		Long: `euroeval takes the command line of EuroEval and plays its task tool-calling: it is run with --pack euroeval, --split val and the
agent that the model's id means. docs/euroeval.md describes the records, the graders and the files.`,
		Example: `  toolsandbox euroeval --model gpt-4o --task tool-calling
  toolsandbox euroeval --model qwen3 --task tool-calling --language de --api-base http://localhost:8000/v1
  toolsandbox euroeval --model anthropic/claude-sonnet-5-5 --dataset euroeval-en --evaluate-test-split`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := options.translate(cmd.Flags()); err != nil {
				return err
			}
			return options.run.Run(cmd.Context(), nil, matrixOf(cmd), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	options.register(cmd.Flags())
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		return writeGroups(cmd.OutOrStderr(), cmd, euroevalGroups(), hiddenSettingsHelp)
	})
	return cmd
}

// register adds EuroEval's flags, and those settings of run that they do not replace.
func (o *euroevalOptions) register(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&o.models, "model", "m", nil, "`id` of the model, e.g. gpt-4o, anthropic/claude-sonnet-5-5, or what its server calls it")
	flags.StringSliceVarP(&o.tasks, "task", "t", []string{euroevalTask}, "`task` to play")
	flags.StringSliceVarP(&o.languages, "language", "l", []string{allLanguages}, "`codes` of languages, e.g. de,fr, or all")
	flags.StringSliceVar(&o.datasets, "dataset", nil, "`names` of data sets, e.g. euroeval-de, instead of --task and --language")
	flags.StringArrayVar(&o.packs, "pack", []string{packs.EuroEval}, "`directory`, .zip or .jsonl file with other records; repeatable")
	flags.BoolVar(&o.val, "evaluate-val-split", false, "play the split val, which is the default")
	flags.BoolVar(&o.test, "evaluate-test-split", false, "play the split test")
	flags.IntVar(&o.iterations, "num-iterations", euroeval.DefaultSettings().Iterations, "bootstrap draws of EuroEval's score")
	flags.StringVar(&o.address, "api-base", "", "`address` of the model server: the same as --base-url")
	o.run.RegisterFlags(o.settings)
	replaced := pflag.NewFlagSet("replaced", pflag.ContinueOnError)
	new(catalogue.Selection).RegisterFlags(replaced)
	new(catalogue.Selection).RegisterAblationFlags(replaced)
	kept := pflag.NewFlagSet("run", pflag.ContinueOnError)
	o.settings.VisitAll(func(flag *pflag.Flag) {
		if replaced.Lookup(flag.Name) == nil && !slices.Contains([]string{"agent", "user", "attach-listen", "attach-token-file", "iterations"}, flag.Name) {
			kept.AddFlag(flag)
		}
	})
	addSettings(flags, kept)
}

// euroevalGroups are the common flags, by heading.
func euroevalGroups() []group {
	return []group{
		{"Model", []string{"model", "api-base", "base-url", "max-tokens", "reasoning-effort"}},
		{"Records", []string{"task", "language", "dataset", "pack", "evaluate-val-split", "evaluate-test-split", "num-iterations"}},
		{"Limits", []string{"parallel", "spend-tokens", "spend-usd"}},
		{"Resume", []string{"resume"}},
		{"Output", []string{"out", "json", "log-level"}},
		{"Settings from a file", []string{"config"}},
	}
}

// translate sets the flags of run. given are those of the command line.
func (o *euroevalOptions) translate(given *pflag.FlagSet) error {
	for _, task := range o.tasks {
		if task != euroevalTask {
			return process.UsageErrorf("--task: unknown task %q; expected %s, the only one here", task, euroevalTask)
		}
	}
	for _, pair := range [][2]string{{"dataset", "task"}, {"dataset", "language"}, {"evaluate-test-split", "evaluate-val-split"}, {"api-base", "base-url"}} {
		if given.Changed(pair[0]) && given.Changed(pair[1]) {
			return process.UsageErrorf("--%s: given with --%s: give one of them", pair[0], pair[1])
		}
	}
	split := euroeval.SplitVal
	if o.test {
		split = euroeval.SplitTest
	}
	agent, err := o.agent()
	if err != nil {
		return err
	}
	languages, err := o.selectedLanguages()
	if err != nil {
		return err
	}
	for name, values := range map[string][]string{
		"agent": {agent}, "split": {string(split)}, "iterations": {strconv.Itoa(o.iterations)}, "pack": o.packs, "language": languages,
	} {
		for _, value := range values {
			if err := o.settings.Set(name, value); err != nil {
				return process.UsageErrorf("%w", err)
			}
		}
	}
	return nil
}

// agent returns the player that the model's id means, and sets what else the id says. Text after #
// is the reasoning effort, as in EuroEval.
func (o *euroevalOptions) agent() (string, error) {
	if len(o.models) != 1 {
		return "", process.UsageErrorf("--model: %d given, expected one: each model has a run of its own", len(o.models))
	}
	id, effort, _ := strings.Cut(o.models[0], "#")
	for name, value := range map[string]string{"reasoning-effort": effort, "base-url": o.address} {
		if value == "" {
			continue
		}
		if err := o.settings.Set(name, value); err != nil {
			return "", process.UsageErrorf("%w", err)
		}
	}
	name, local := player.FromModel(id)
	isRemote := o.settings.Lookup("remote").Value.String() == "true" // the gateway there has its own variables
	if local && !isRemote && !process.IsSet(o.settings.Lookup("base-url")) && os.Getenv("OPENAI_BASE_URL") == "" {
		return "", process.UsageErrorf("--model: %s is no model of a known provider: serve it, e.g. with vllm serve %[1]s, and give --api-base http://localhost:8000/v1, or name its provider, as openai/%[1]s", id)
	}
	return name, nil
}

// selectedLanguages returns the languages of the selected data sets, none for all.
func (o *euroevalOptions) selectedLanguages() ([]string, error) {
	switch {
	case len(o.datasets) > 0:
	case slices.Contains(o.languages, allLanguages):
		return nil, nil
	default:
		return o.languages, nil
	}
	return (&catalogue.Selection{PackPaths: o.packs}).LanguagesOf(o.datasets)
}
