package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// commandsWithoutJSON returns the commands without --json and the reasons.
func commandsWithoutJSON() map[string]string {
	const (
		group   = "only has subcommands"
		service = "prints nothing; `--log-format json` logs JSON"
	)
	return map[string]string{
		"toolsandbox": group, "toolsandbox pack": group, "toolsandbox scenario": group, "toolsandbox session": group, "toolsandbox sweep": group, "toolsandbox serve": group,
		"toolsandbox bus": group, "toolsandbox bus init": service, "toolsandbox bus permissions": "prints configuration of NATS",
		"toolsandbox serve agentgw": service, "toolsandbox serve evaluator": service, "toolsandbox serve orchestrator": service,
		"toolsandbox serve toolhost":     service,
		"toolsandbox serve nats":         "prints one line for people when it is ready",
		"toolsandbox view":               "shows pages; report, explain and compare print the same as JSON",
		"toolsandbox export":             "prints the names of the written files, or JSON lines",
		"toolsandbox pack docs":          "prints Markdown",
		"toolsandbox pack freeze":        "prints the names of the written files",
		"toolsandbox pack new":           "writes files",
		"toolsandbox sweep delete":       "prints one line for people; show --json tells the state",
		"toolsandbox sweep requeue":      "prints one line for people; show --json tells the state",
		"toolsandbox scenario graph":     "writes Mermaid or DOT",
		"toolsandbox scenario new":       "writes YAML",
		"toolsandbox scenario schema":    "always prints JSON",
		"toolsandbox session exchanges":  "always prints JSON, one line per turn",
		"toolsandbox session recordings": "prints part of a scenario, in YAML",
	}
}

// TestEveryCommandHasJSON checks that each command has --json or a reason why not.
func TestEveryCommandHasJSON(t *testing.T) {
	t.Parallel()
	var without []string
	visitCommands(newRoot(), func(cmd *cobra.Command) {
		reason, known := commandsWithoutJSON()[cmd.CommandPath()]
		switch flag := cmd.Flags().Lookup("json"); {
		case flag == nil && reason == "":
			t.Errorf("%s: no --json and no reason why", cmd.CommandPath())
		case flag != nil && known:
			t.Errorf("%s: has --json, and a reason why not: %s", cmd.CommandPath(), reason)
		case flag != nil && (flag.Value.Type() != "bool" || flag.DefValue != "false"):
			t.Errorf("%s: --json is a %s with default %s, want a switch that is off", cmd.CommandPath(), flag.Value.Type(), flag.DefValue)
		case flag == nil:
			without = append(without, cmd.CommandPath())
		}
	})
	if len(without) != len(commandsWithoutJSON()) {
		t.Errorf("commands without --json: got %q, want %d", without, len(commandsWithoutJSON()))
	}
}

// jsonShape is a command line with the fields of its output, or of the first element of a list.
type jsonShape struct{ line, fields string }

// jsonShapes returns the fields that programs may rely on. docs/cli.md lists them.
func jsonShapes() []jsonShape {
	return []jsonShape{
		{"run --agent oracle --out other --json turn_off_wifi", "category_aggregated_results git_sha per_scenario_results"},
		{"config --agent oracle --json", "default description group name source value variable"},
		{"agents --json", "description name roles"},
		{"tools --json", "default_needs description module name needs parameters read_only visible_to"},
		{"version --json", "commit go modified version"},
		{"scenario list --json turn_off_wifi", "categories kind milestones minefields name tools"},
		{"scenario show --json turn_off_wifi", "evaluation proof setup"},
		{"scenario validate --json", "from problems scenarios"},
		{"scenario fmt --json pack/mine.yaml", "changed"},
		{"scenario import --json OFF --out imported", "pack scenarios variants"},
		{"scenario export --json --pack euroeval --out exported", "folder language name test train val"},
		{"scenario prove --json turn_off_wifi", "failed proven rollouts scenarios seconds"},
		{"pack show --json pack", "built_in description digest licence name needs scenarios standalone tables tools version"},
		{"pack validate --json pack", "from problems scenarios"},
		{"pack prove --json pack", "failed proven rollouts scenarios seconds"},
		{"score out --json", "failed mean_after mean_before moved no_scenario no_trajectory not_played unmoved user_flags_changed written"},
		{"report out --json", "groups pass_at runs"},
		{"compare out other --json", "first others"},
		{"plan --json", "between designs detect from power within"},
		{"explain out turn_off_wifi --json", "explanation name recorded_similarity"},
		{"bench --rollouts 10 --json turn_off_wifi", "allocated_bytes_per_rollout allocations_per_rollout alone_p50_ms alone_p99_ms busy_p50_ms busy_p99_ms cpu_ms_per_rollout cpu_seconds idle_session_bytes messages_per_rollout parallel " +
			"rollouts rollouts_per_core_second rollouts_per_second shares wall_seconds"},
		{"session list --json --out out", "forked_at id messages parent scenario"},
		{"session show turn_off_wifi --json --out out", "at session tables versions"},
		{"session diff turn_off_wifi 0 2 --json --out out", "from session tables to"},
		{"session fork turn_off_wifi --at 3 mine --json --out out", "forked_at id messages parent scenario"},
		{"session replay turn_off_wifi --json --out out", "answers id to versions"},
		{"session delete mine --json --out out", "deleted"},
	}
}

// TestLongJSON checks that stdout of commands with --json contains only JSON values with these
// fields.
func TestLongJSON(t *testing.T) {
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	files := strings.NewReplacer("OFF", filepath.Join(here, "testdata", "off.json"))
	t.Chdir(t.TempDir())
	mustRun(t, "--agent", "oracle", "--out", "out", "turn_off_wifi")
	if code, _, stderr := command("scenario", "new", "mine", "--out", "pack"); code != 0 {
		t.Fatal(stderr)
	}
	for _, test := range jsonShapes() {
		code, stdout, stderr := command(strings.Fields(files.Replace(test.line))...)
		got, err := fieldsOf(stdout)
		if diff := cmp.Diff(test.fields, got); code != 0 || err != nil || diff != "" {
			t.Errorf("%s: got code %d, %s, %v and fields (-want +got):\n%s", test.line, code, stderr, err, diff)
		}
	}
}

// fieldsOf returns the sorted field names of the first JSON value in a text, or of its first
// element.
func fieldsOf(text string) (string, error) {
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	var first any
	for n := 0; ; n++ {
		var value any
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
		if n == 0 {
			first = value
		}
	}
	if list, ok := first.([]any); ok && len(list) > 0 {
		first = list[0]
	}
	object, _ := first.(map[string]any)
	return strings.Join(slices.Sorted(maps.Keys(object)), " "), nil
}
