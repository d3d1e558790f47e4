package cli

import (
	"bytes"
	"net/http/httptest"
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

// TestOriginalDefaults runs commands of the original on its scenarios, with the server of both
// roles. What they leave out is as in the original: a line says so, and the results are in a folder
// that bears the models' names.
func TestOriginalDefaults(t *testing.T) {
	server := httptest.NewServer(chatHandler(t))
	defer server.Close()
	off := importOff(t)
	t.Chdir(t.TempDir())
	t.Setenv("OPENAI_BASE_URL", server.URL+"/v1")
	t.Setenv("TOOLSANDBOX_PACK", off)
	const (
		model    = "gpt-4o-2024-05-13"
		three    = "off_3_distraction_tools"
		variants = "off off_10_distraction_tools " + three + " " + three + "_arg_description_scrambled " + three + "_arg_type_scrambled " +
			three + "_tool_description_scrambled " + three + "_tool_name_scrambled off_all_tools"
	)
	for line, want := range map[string]struct {
		directory, played, defaults string
	}{
		"--scenarios off":                                                          {model + "_user_" + model, "off", "--agent GPT_4_o_2024_05_13, --user GPT_4_o_2024_05_13, --variants all"},
		"run --agent GPT_4_0125 --test_mode":                                       {"gpt-4-0125-preview_user_" + model, "off", "--user GPT_4_o_2024_05_13"},
		"--agent RoleImplType.Unhelpful":                                           {"Unhelpful_user_" + model, variants, "--user GPT_4_o_2024_05_13, --variants all"},
		"run --agent openai:org/m --user GPT_3_5_0125 -s off*":                     {"org_m_user_gpt-3.5-turbo-0125", variants, "--variants all"},
		"run --agent GPT_3_5_0125 --user GPT_3_5_0125 --variants all --compat off": {"gpt-3.5-turbo-0125_user_gpt-3.5-turbo-0125", variants, ""},
	} {
		t.Run(line, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := Main(strings.Fields(line), &stdout, &stderr); code != 0 {
				t.Fatalf("got code %d and\n%s", code, &stderr)
			}
			out, err := filepath.Glob(filepath.Join("data", "agent_"+want.directory+"_[01]*"))
			if err != nil || len(out) != 1 {
				t.Fatalf("directories below data for %s: got %v and %v, want one", want.directory, out, err)
			}
			if got := strings.Join(trajectories(t, out[0]), " "); got != want.played {
				t.Errorf("played: got %q, want %q", got, want.played)
			}
			told := "toolsandbox: " + off + " has the original's scenarios, and so its defaults: " + want.defaults + "\n"
			if got := strings.Contains(stderr.String(), told); got != (want.defaults != "") {
				t.Errorf("got\n%s\nwant %q", &stderr, told)
			}
		})
	}
}

// TestOriginalTestMode runs the scenarios of the original's --test_mode, whichever variants are
// selected, and in the built-in catalogue the first ones.
func TestOriginalTestMode(t *testing.T) {
	t.Parallel()
	scenarios, err := os.ReadFile(filepath.Join("testdata", "off.json"))
	if err != nil {
		t.Fatal(err)
	}
	const base = "send_message_with_contact_content_cellular_off"
	renamed, pack := filepath.Join(t.TempDir(), "scenarios.json"), filepath.Join(t.TempDir(), "pack")
	text := strings.NewReplacer(`"off"`, `"`+base+`"`, `"_3_distraction_tools"`, `"_3_distraction_tools_arg_description_scrambled"`).Replace(string(scenarios))
	if err := os.WriteFile(renamed, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		line, want string
	}{
		{"scenario import " + renamed + " --out " + pack, "2 in all"},
		{"scenario list -t --pack " + pack, base + "_3_distraction_tools_arg_description_scrambled"},
		{"scenario list -t", "add_plumber"},
	} {
		var stdout, stderr bytes.Buffer
		code := Main(strings.Fields(test.line), &stdout, &stderr)
		if code != 0 || !strings.Contains(stdout.String(), test.want) {
			t.Errorf("%s: got code %d and\n%s%s\nwant %q", test.line, code, &stdout, &stderr, test.want)
		}
	}
}

// TestOriginalServer runs an agent whose server OPENAI_BASE_URL names. The original's user is asked
// at OpenAI all the same, and needs its key.
func TestOriginalServer(t *testing.T) {
	server := httptest.NewServer(chatHandler(t))
	defer server.Close()
	t.Setenv("OPENAI_BASE_URL", server.URL+"/v1")
	t.Setenv("OPENAI_API_KEY", "")
	var stdout, stderr bytes.Buffer
	code := Main([]string{"--agent", "Gorilla", "--user", "RoleImplType.GPT_4_o_2024_05_13", "-s", "turn_off_wifi", "--out", filepath.Join(t.TempDir(), "out")}, &stdout, &stderr)
	for _, want := range []string{
		"--user GPT_4_o_2024_05_13 is asked at https://api.openai.com/v1, as in the original: OPENAI_BASE_URL is the server of --agent Gorilla; ", "no key: set OPENAI_API_KEY",
	} {
		if code == 0 || !strings.Contains(stderr.String(), want) {
			t.Errorf("got code %d and\n%s\nwant %q", code, &stderr, want)
		}
	}
}
