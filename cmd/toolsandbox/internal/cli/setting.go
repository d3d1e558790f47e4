package cli

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/process"
)

const (
	// configFlag names the file of settings.
	configFlag = "config"
	// settingAnnotation marks flags that are settings.
	settingAnnotation = "setting"
)

// addSettings adds flags that the environment and the file --config may set too. A command's other
// flags are only for its command line, because a name like --scenarios may mean something else in
// run.
func addSettings(flags, settings *pflag.FlagSet) {
	settings.SetNormalizeFunc(dashes)
	settings.VisitAll(func(flag *pflag.Flag) {
		if flag.Annotations == nil {
			flag.Annotations = make(map[string][]string)
		}
		flag.Annotations[settingAnnotation] = nil
	})
	flags.AddFlagSet(settings)
	flags.Var(&settingsFile{}, configFlag, "YAML `file` of settings with the names of flags, as trials: 3; for run also with alternatives, as seed: [1, 2]: docs/experiments.md")
}

// settingsFile is the value of the flag of the file of settings.
type settingsFile struct {
	path   string
	matrix process.Matrix
}

func (f *settingsFile) Set(path string) error { f.path = path; return nil }
func (f *settingsFile) String() string        { return f.path }
func (*settingsFile) Type() string            { return "string" }

// matrixOf returns the settings with alternatives in a command's file.
func matrixOf(cmd *cobra.Command) process.Matrix {
	if file := settingsFileOf(cmd); file != nil {
		return file.matrix
	}
	return nil
}

// settingsFileOf returns the value of a command's flag --config, nil for a command without it.
func settingsFileOf(cmd *cobra.Command) *settingsFile {
	flag := cmd.Flags().Lookup(configFlag)
	if flag == nil {
		return nil
	}
	file, _ := flag.Value.(*settingsFile)
	return file
}

// configure reads the settings of a command from the environment and from the file --config.
func configure(cmd *cobra.Command) error {
	file := cmd.Flags().Lookup(configFlag)
	if file == nil {
		return nil
	}
	settings := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if _, ok := flag.Annotations[settingAnnotation]; ok {
			settings.AddFlag(flag)
		}
	})
	path := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	path.AddFlag(file)
	for _, flags := range []*pflag.FlagSet{path, settings} {
		if err := process.SetFromEnvironment(flags, os.LookupEnv); err != nil {
			return err
		}
	}
	if !process.IsSet(file) {
		return nil
	}
	matrix, err := process.SetFromFile(settings, allSettings(cmd.Root()), file.Value.String())
	settingsFileOf(cmd).matrix = matrix
	return err
}

// allSettings returns the settings of all commands, one of each name.
func allSettings(root *cobra.Command) *pflag.FlagSet {
	settings := pflag.NewFlagSet(root.Name(), pflag.ContinueOnError)
	visitCommands(root, func(cmd *cobra.Command) {
		visitFlags(cmd, func(flag *pflag.Flag) {
			if _, ok := flag.Annotations[settingAnnotation]; ok && !flag.Hidden && settings.Lookup(flag.Name) == nil {
				settings.AddFlag(flag)
			}
		})
	})
	return settings
}

// visitCommands calls visit for a command and all its subcommands.
func visitCommands(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, below := range cmd.Commands() {
		visitCommands(below, visit)
	}
}

// visitFlags calls visit for a command's own and persistent flags.
func visitFlags(cmd *cobra.Command, visit func(*pflag.Flag)) {
	cmd.Flags().VisitAll(visit)
	cmd.PersistentFlags().VisitAll(visit)
}
