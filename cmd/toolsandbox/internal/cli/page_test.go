package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/runs/report"
)

const pageHead = `# The command line

` + "`go test ./cmd/toolsandbox/internal/cli -update`" + ` writes this page from the program's own flags.

## Settings

A setting is a flag that can also stand in a file or in the environment, under one name: ` + "`--spend-usd 5`" + ` is the line
` + "`spend-usd: 5`" + ` in the YAML file of ` + "`--config`" + `, and ` + "`TOOLSANDBOX_SPEND_USD=5`" + ` in the environment. A flag overrides the
environment, the environment the file, and the file the default. A list is a YAML list in a file, and has commas elsewhere.

` + "```yaml" + `
agent: openai:gpt-4o
user: openai:gpt-4o
variants: [all]
spend-usd: 20
agentgw-limit: [openai=rpm:600, anthropic=rpm:300]
` + "```" + `

Several commands may share a file: each takes its own settings. A list at a setting that takes one value makes the file an
[experiment](experiments.md). An unknown name is an error with file, line, column and the nearest name; so is an invalid value. ` + "`toolsandbox config`" + ` takes the flags of ` + "`run`" + ` and prints every setting with its value and source, as
such a file:

` + "```sh" + `
toolsandbox config --agent oracle --trials 3 > toolsandbox.yaml
toolsandbox run --config toolsandbox.yaml --out out turn_off_wifi
` + "```" + `

With ` + "`--remote`" + ` the services have their own settings. ` + "`run`" + ` then refuses a setting without effect, from any source, and names the
command that takes it. A flag that has no effect without another one, as ` + "`--trace-ratio`" + ` without ` + "`--otlp-endpoint`" + `, is refused on the
command line; a file or the environment may set it for other runs.

` + "`toolsandbox completion bash|zsh|fish`" + ` prints a script that makes a shell complete commands, flags, players, variants, scenarios, packs,
runs and their rollouts; its ` + "`--help`" + ` says how to load it.

The original's spellings work, but no list shows them: underscores in names, ` + "`--output_dir`" + ` for ` + "`--out`" + `, ` + "`--scenario`" + ` for
` + "`--scenarios`" + `, ` + "`--scenario_dir`" + ` for ` + "`--pack`" + `, ` + "`ToolBackend.`" + ` before the name of a backend, and no ` + "`run`" + ` before the first flag.
[Moving from the original](moving.md) has its defaults.
`

// cell escapes a text for a table cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// row formats a table row for a flag.
func row(name, kind, value, meaning string) string {
	if value != "" {
		value = "`" + value + "`"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", name, cell(kind), cell(value), cell(meaning))
}

const tableHead = "\n| name | takes | default | meaning |\n|---|---|---|---|\n"

// flagRow formats a table row for a flag.
func flagRow(flag *pflag.Flag) string {
	kind, meaning := pflag.UnquoteUsage(flag)
	value := strings.Trim(flag.DefValue, "[]")
	if value == "false" {
		value = ""
	}
	return row(flag.Name, kind, value, meaning)
}

// writeRunSettings writes the settings of run, with a table for each group.
func writeRunSettings(out *strings.Builder, root *cobra.Command) {
	run, _, _ := root.Find([]string{"run"})
	title := ""
	for _, s := range settingsOf(run) {
		if s.Group != title {
			title = s.Group
			fmt.Fprintf(out, "\n### %s\n%s", title, tableHead)
		}
		out.WriteString(flagRow(run.Flags().Lookup(s.Name)))
	}
}

// writeServiceSettings writes the services' settings that run lacks.
func writeServiceSettings(out *strings.Builder, root *cobra.Command) {
	run, _, _ := root.Find([]string{"run"})
	serve, _, _ := root.Find([]string{"serve"})
	buses, _, _ := root.Find([]string{"bus"})
	all := append(serve.Commands(), buses.Commands()...)
	services, flags := make(map[string][]string), make(map[string]*pflag.Flag)
	for _, service := range all {
		service.Flags().VisitAll(func(flag *pflag.Flag) {
			if _, ok := flag.Annotations[settingAnnotation]; ok && run.Flags().Lookup(flag.Name) == nil {
				services[flag.Name], flags[flag.Name] = append(services[flag.Name], service.Name()), flag
			}
		})
	}
	for _, shared := range []bool{true, false} {
		for i, service := range all {
			var rows []string
			for name, of := range services {
				if of[0] == service.Name() && shared == (len(of) > 1) {
					rows = append(rows, flagRow(flags[name]))
				}
			}
			title := strings.TrimPrefix(strings.TrimPrefix(service.CommandPath(), "toolsandbox "), "serve ")
			if shared {
				title = "All services"
			}
			if len(rows) > 0 && (!shared || i == 0) {
				fmt.Fprintf(out, "\n### %s\n%s%s", title, tableHead, strings.Join(slices.Sorted(slices.Values(rows)), ""))
			}
		}
	}
}

// shapeOf returns the JSON field names of a value.
func shapeOf(t *testing.T, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	fields, err := fieldsOf(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

// cliPage returns docs/cli.md.
func cliPage(t *testing.T) string {
	t.Helper()
	root := newRoot()
	root.InitDefaultHelpFlag()
	var out strings.Builder
	out.WriteString(pageHead)
	out.WriteString("\n## Settings of run\n\n`run --help` lists those above \"Advanced settings\".\n")
	writeRunSettings(&out, root)
	out.WriteString("\n## Settings of services\n\n`toolsandbox serve SERVICE` has the settings of `run` for its service, and these.\n")
	writeServiceSettings(&out, root)
	out.WriteString("\n## Commands\n\n`toolsandbox COMMAND --help` has examples and all flags.\n\n| command | does |\n|---|---|\n")
	visitCommands(root, func(cmd *cobra.Command) {
		if cmd.HasParent() && !cmd.HasSubCommands() {
			fmt.Fprintf(&out, "| `%s` | %s |\n", cell(strings.TrimSuffix(cmd.UseLine(), " [flags]")), cmd.Short)
		}
	})
	out.WriteString("\n## Exit codes\n\n| command | code | if |\n|---|---|---|\n")
	for _, exit := range exitCodes() {
		commands := "all"
		if len(exit.commands) > 0 {
			commands = "`" + strings.Join(exit.commands, "`, `") + "`"
		}
		fmt.Fprintf(&out, "| %s | %d | %s |\n", commands, exit.code, exit.meaning)
	}
	out.WriteString("\n## JSON\n\nCommands whose output a program may read have `--json`. Standard output then holds only JSON, standard error the text for people. These\n" +
		"fields are stable; others may be added. `sweep watch --json` and `session exchanges` print one object per line.\n\n| command | fields of the output, or of each element |\n|---|---|\n")
	shapes := append(jsonShapes(), jsonShape{"sweep list --remote --json", shapeOf(t, report.Sweep{Reason: "x"})},
		jsonShape{"sweep show nightly --remote --json", shapeOf(t, report.SweepDetail{Sweep: report.Sweep{Reason: "x"}})},
		jsonShape{"sweep top --remote --json", shapeOf(t, report.SweepDetail{Sweep: report.Sweep{Reason: "x"}})},
		jsonShape{"sweep pause nightly --remote --json", shapeOf(t, report.Sweep{Reason: "x"})},
		jsonShape{"sweep set nightly --parallel 4 --remote --json", shapeOf(t, report.Sweep{Reason: "x"})},
		jsonShape{"sweep cancel nightly --remote --json", shapeOf(t, report.Sweep{Reason: "x"})},
		jsonShape{"sweep watch nightly --remote --json", shapeOf(t, report.SweepResult{Detail: "x"})},
		jsonShape{"sweep watch nightly --remote --rollout 3 --json", shapeOf(t, rolloutScore{})})
	files := strings.NewReplacer("OFF", "scenarios.json", "VECTORS", "vectors")
	for _, shape := range shapes {
		fmt.Fprintf(&out, "| `toolsandbox %s` | `%s` |\n", files.Replace(shape.line), strings.ReplaceAll(shape.fields, " ", "`, `"))
	}
	out.WriteString("\nCommands without `--json`:\n\n")
	for _, name := range slices.Sorted(maps.Keys(commandsWithoutJSON())) {
		fmt.Fprintf(&out, "- `%s`: %s\n", name, commandsWithoutJSON()[name])
	}
	return out.String()
}

// TestCommandLinePage compares docs/cli.md with the flags of the program.
func TestCommandLinePage(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "..", "..", "docs", "cli.md")
	page := cliPage(t)
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), page); diff != "" {
		t.Errorf("%s is not what the flags say: run go test ./cmd/toolsandbox/internal/cli -update (-page +flags):\n%s", path, diff)
	}
}
