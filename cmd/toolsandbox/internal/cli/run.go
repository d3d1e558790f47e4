package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/runs/play"
)

// hiddenSettingsHelp explains the settings that the help of run does not list.
const hiddenSettingsHelp = `Every setting can also stand in the file --config (as spend-usd) or in the environment (as TOOLSANDBOX_SPEND_USD).
A flag overrides the environment, and the environment the file. toolsandbox config lists all settings.`

func newRun() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run --agent AGENT [NAME...]",
		Short: "Run scenarios with an agent and score them",
		Long: `run plays scenarios between an agent and a simulated user and scores every trajectory. By default all services run in
this process and keep their data below the output directory.`,
		Example: `  toolsandbox run --agent oracle --out out
  toolsandbox run --agent random --trials 3 --scenarios 'wifi_*,add_*' --out floor
  toolsandbox run --agent grpc://localhost:9000 --parallel 8 --out mine
  toolsandbox run --agent unhelpful --against random --until-decided --out told
  toolsandbox run --agent oracle --out out --resume
  toolsandbox run --config experiment.yaml --out experiment
  toolsandbox run --fork out/turn_off_wifi@4 --agent random --out fork`,
	}
	options := addRunSettings(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return options.Run(cmd.Context(), args, matrixOf(cmd), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	return cmd
}

// addRunSettings adds the flags of a run to a command. Its help shows the common ones.
func addRunSettings(cmd *cobra.Command) *play.Options {
	options := play.New(program())
	settings := pflag.NewFlagSet("run", pflag.ContinueOnError)
	options.RegisterFlags(settings)
	addSettings(cmd.Flags(), settings)
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		return writeGroups(cmd.OutOrStderr(), cmd, runGroups(), hiddenSettingsHelp)
	})
	return options
}

// runGroups are the common flags, by heading.
func runGroups() []group {
	return []group{
		{"Scenarios", []string{"scenarios", "variants", "pack", "trials", "seed"}},
		{"Players", []string{"agent", "against", "user", "attach-listen"}},
		{"Models", []string{"base-url", "temperature", "max-tokens"}},
		{"Limits", []string{"parallel", "spend-tokens", "spend-usd", "until-decided"}},
		{"Resume, replay, fork", []string{"resume", "replay", "fork"}},
		{"Output", []string{"out", "json", "log-level", "otlp-endpoint"}},
		{"Remote services", []string{"remote", "orchestrator-addr", "evaluator-addr"}},
		{"Settings from a file", []string{"config"}},
	}
}
