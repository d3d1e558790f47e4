package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/runs/play"
	"github.com/toolsandbox/toolsandbox/runs/report"
)

// setting is one setting of a run in the output for programs.
type setting struct {
	Name string `json:"name"`
	// Value is the flag's value, without secrets; a list has its elements in Values.
	Value   string   `json:"value"`
	Values  []string `json:"values,omitempty"`
	Default string   `json:"default"`
	// Alternatives are those of a setting that differs between the runs of an experiment.
	Alternatives []map[string]any `json:"alternatives,omitempty"`
	// Source is default, command line, environment variable NAME or FILE:LINE:COLUMN.

	Source      string `json:"source"`
	Variable    string `json:"variable"`
	Group       string `json:"group"`
	Description string `json:"description"`

	kind string
}

func newConfig() *cobra.Command {
	schema := false
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print every setting of run with its value and source",
		Long: `config takes the flags of run, reads the environment and the file --config as run does, and prints every setting as such a
file. Defaults are comments. Secrets, as in an address, become [redacted]. config plays nothing and does not check whether
the values fit together. With --schema it prints the JSON Schema (draft 2020-12) of such files: an editor with a YAML language
server uses it if the first line is # yaml-language-server: $schema=schema.json.`,
		Example: `  toolsandbox config
  toolsandbox config --agent oracle --trials 3 > toolsandbox.yaml
  toolsandbox config --config toolsandbox.yaml --json
  toolsandbox config --schema > schema.json`,
		Args: noArguments,
	}
	addRunSettings(cmd)
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema of files of settings")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if schema {
			text, err := process.SettingsSchema(allSettings(cmd.Root()))
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		}
		settings := settingsOf(cmd)
		if cmd.Flags().Lookup("json").Value.String() == "true" {
			return report.JSON(cmd.OutOrStdout(), settings)
		}
		return printSettings(cmd.OutOrStdout(), settings)
	}
	return cmd
}

// settingsOf returns the settings of a command: first those in groups, then the others by name.
func settingsOf(cmd *cobra.Command) []setting {
	var settings []setting
	secrets := play.Secrets(os.Environ())
	add := func(title string, flag *pflag.Flag) {
		if _, ok := flag.Annotations[settingAnnotation]; !ok || flag.Hidden ||
			slices.ContainsFunc(settings, func(s setting) bool { return s.Name == flag.Name }) {
			return
		}
		_, description := pflag.UnquoteUsage(flag)
		s := setting{
			Name: flag.Name, Value: play.Redact(flag.Value.String(), secrets), Default: flag.DefValue, Source: process.FlagSource(flag), Variable: process.FlagVariable(flag.Name),
			Group: title, Description: description, kind: flag.Value.Type(),
		}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			for _, value := range list.GetSlice() {
				s.Values = append(s.Values, play.Redact(value, secrets))
			}
		}
		settings = append(settings, s)
	}
	for _, g := range runGroups() {
		for _, name := range g.flags {
			add(g.title, cmd.Flags().Lookup(name))
		}
	}
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { add("Advanced settings", flag) })
	for _, d := range matrixOf(cmd) {
		at := slices.IndexFunc(settings, func(s setting) bool { return s.Name == d.Setting })
		settings[at].Source = d.Source
		settings[at].Alternatives = d.Forms(func(value string) string { return play.Redact(value, secrets) })
	}
	return settings
}

// printSettings prints settings as a YAML file.
func printSettings(w io.Writer, settings []setting) error {
	var out strings.Builder
	title := ""
	for _, s := range settings {
		if s.Group != title {
			title = s.Group
			fmt.Fprintf(&out, "\n## %s\n", title)
		}
		fmt.Fprintf(&out, "\n# %s\n", s.Description)
		value, err := s.yaml()
		if err != nil {
			return err
		}
		if s.Source == "default" {
			fmt.Fprintf(&out, "%s\n", strings.TrimSpace(fmt.Sprintf("# %s: %s", s.Name, value)))
			continue
		}
		fmt.Fprintf(&out, "%s: %s # %s\n", s.Name, value, s.Source)
	}
	_, err := io.WriteString(w, strings.TrimPrefix(out.String(), "\n"))
	return err
}

// yaml returns the value in YAML. JSON is YAML.
func (s *setting) yaml() (string, error) {
	var value any = s.Value
	switch {
	case s.Alternatives != nil:
		value = s.Alternatives
	case strings.HasSuffix(s.kind, "Slice"), strings.HasSuffix(s.kind, "Array"):
		value = append([]string{}, s.Values...)
	case s.Value == "" && s.Source == "default", s.kind == "bool", s.kind == "duration", strings.HasPrefix(s.kind, "int"), strings.HasPrefix(s.kind, "float"):
		return s.Value, nil
	}
	raw, err := json.Marshal(value)
	return string(raw), err
}
