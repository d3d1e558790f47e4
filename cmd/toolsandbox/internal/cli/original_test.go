package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOriginalCommandLine runs command lines in the original's syntax.
func TestOriginalCommandLine(t *testing.T) {
	t.Parallel()
	turns := filepath.Join(t.TempDir(), "turns.yaml")
	if err := os.WriteFile(turns, []byte("- say: Thank you.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := strings.NewReplacer("TURNS", turns, "OFF", importOff(t))
	for line, want := range map[string]string{
		"--agent Unhelpful --user scripted --scenario turn_off_wifi":                                                "turn_off_wifi",
		"run --agent RoleImplType.Unhelpful --scenarios turn_off_wifi add_plumber --preferred_tool_backend DEFAULT": "add_plumber turn_off_wifi",
		"--preferred_tool_backend ToolBackend.DEFAULT --agent Unhelpful -s turn_off_wifi add_plumber -p 2":          "add_plumber turn_off_wifi",
		"--scenarios turn_off_wifi add_plumber --agent Unhelpful":                                                   "add_plumber turn_off_wifi",
		"--agent Unhelpful --test_mode --user scripted:TURNS --scenario_dir OFF":                                    "off",
		"-t --agent Unhelpful --user scripted:TURNS --scenario_dir OFF":                                             "off",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "out")
			var stdout, stderr bytes.Buffer
			code := Main(append(strings.Fields(files.Replace(line)), "--output_dir", out), &stdout, &stderr)
			if got := strings.Join(trajectories(t, out), " "); code != 0 || got != want {
				t.Errorf("got code %d, trajectories of %q and\n%s\nwant 0 and %q", code, got, &stderr, want)
			}
		})
	}
}

// TestLongOriginalPlayers selects all players of the original, with and without the name of their
// enumeration. The check reports what each needs.
func TestLongOriginalPlayers(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "GOOGLE_CLOUD_PROJECT", "CLOUD_ML_PROJECT_ID"} {
		t.Setenv(name, "")
	}
	const noServer = "cannot be asked: no server: give --base-url or set OPENAI_BASE_URL"
	tests := map[string]string{
		"--agent Unhelpful -t -s turn_off_wifi":            "--test-mode: given with --scenarios turn_off_wifi: give one of them",
		"--agent Unhelpful -t turn_off_wifi":               "--test-mode: given with --scenarios turn_off_wifi: give one of them",
		"--agent Unhelpful --preferred_tool_backend RAPID": `--preferred-tool-backend: RAPID given, but no tool in the built-in catalogue has that @backend; expected DEFAULT or a tool's @backend`,
		"--agent RoleImplType.Nobody":                      `--agent: unknown agent "Nobody"; expected one of `,
		"--agent Unhelpful --user RoleImplType.Unhelpful":  `--user: player "Unhelpful" cannot play the user`,
	}
	for name, want := range map[string]string{
		"Claude_3_Haiku": "set ANTHROPIC_API_KEY", "Claude_3_Opus": "set ANTHROPIC_API_KEY", "Claude_3_Sonnet": "set ANTHROPIC_API_KEY",
		"GPT_3_5_0125": "set OPENAI_API_KEY", "GPT_4_0125": "set OPENAI_API_KEY", "GPT_4_o_2024_05_13": "set OPENAI_API_KEY",
		"Gemini_1_0": "set GOOGLE_CLOUD_PROJECT", "Gemini_1_5": "set GOOGLE_CLOUD_PROJECT", "Gemini_1_5_Flash": "set GOOGLE_CLOUD_PROJECT",
		"Cohere_Command_R": noServer, "Cohere_Command_R_Plus": noServer, "Gorilla": noServer, "Hermes": noServer, "MistralOpenAIServer": noServer,
	} {
		tests["--agent "+name+" -s turn_off_wifi"] = want
		tests["--agent RoleImplType."+name+" --user RoleImplType.GPT_4_o_2024_05_13 -s turn_off_wifi"] = "--agent " + name + ": "
	}
	for line, want := range tests {
		t.Run(line, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			var stdout, stderr bytes.Buffer
			if code := Main(append(strings.Fields(line), "--output_dir", out), &stdout, &stderr); code == 0 || !strings.Contains(stderr.String(), want) {
				t.Errorf("got code %d and\n%s\nwant an error with %q", code, &stderr, want)
			}
		})
	}
}

// trajectories lists the scenarios of a run.
func trajectories(t *testing.T, out string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(out, "trajectories"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// TestOriginalScenarios selects scenarios of the original that are not imported, and unknown ones.
func TestOriginalScenarios(t *testing.T) {
	t.Parallel()
	const known = " is a scenario of the original, not of the built-in catalogue: import it with toolsandbox scenario import FILE --out DIR, then give --pack DIR"
	for pattern, want := range map[string]string{
		"wifi_off": `--scenarios: "wifi_off"` + known,
		"wifi_off_3_distraction_tools_tool_name_scrambled": known,
		"find_days_*":                  known,
		"turn_off_wify":                `--scenarios: no scenario is called "turn_off_wify"; did you mean "turn_off_wifi"?`,
		"wifi_off_4_distraction_tools": "--scenarios: no scenario is called ",
		"nothing-like-it":              `--scenarios: no scenario is called "nothing-like-it": see toolsandbox scenario list`,
		"-x":                           `--scenarios: no scenario is called "-x": see toolsandbox scenario list`,
		"[":                            `--scenarios: pattern "["`,
	} {
		var stdout, stderr bytes.Buffer
		if code := Main([]string{"run", "--agent", "oracle", "--out", filepath.Join(t.TempDir(), "out"), "--scenarios", pattern}, &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: got code %d and\n%s\nwant 2 and %q", pattern, code, &stderr, want)
		}
	}
}

// TestManyScenarios passes 2,000 names to one flag.
func TestManyScenarios(t *testing.T) {
	t.Parallel()
	args := []string{"--agent", "oracle", "--out", filepath.Join(t.TempDir(), "out"), "--scenarios"}
	for i := range 2000 {
		args = append(args, []string{"turn_off_wifi", "add_plumber"}[i%2])
	}
	var stdout, stderr bytes.Buffer
	if code := Main(args, &stdout, &stderr); code != 0 || !strings.Contains(stderr.String(), "2/2 rollouts") {
		t.Errorf("got code %d and\n%s\nwant 0 and 2 rollouts", code, &stderr)
	}
	if code := Main(append(args, "turn_off_wif"), &stdout, &stderr); code != 2 {
		t.Errorf("with a name that nothing has: got code %d, want 2", code)
	}
}
