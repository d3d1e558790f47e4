package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/runs/results"
)

// TestEuroEval types EuroEval's command lines. Its task is played by the model that the id means,
// and both graders' figures are those of run.
func TestEuroEval(t *testing.T) {
	server := newRecordServer(t, nil)
	t.Setenv("OPENAI_BASE_URL", server.URL+"/v1")
	t.Setenv("TOOLSANDBOX_PACK", "no-pack") // a setting of run
	for _, test := range []struct {
		line, model, sets, split string
	}{
		{"-m gpt-4o -t tool-calling -l de -l fr", "gpt-4o", "euroeval-de euroeval-fr", "val"},
		{"--model openai/o3#low --dataset euroeval-pl --evaluate-test-split --num_iterations 3", "o3", "euroeval-pl", "test"},
		{"--model org/model:free --language it,nl --evaluate-val-split", "org/model:free", "euroeval-it euroeval-nl", "val"},
		{"--model ollama_chat/qwen3:4b --language da --base-url " + server.URL + "/v1", "qwen3:4b", "euroeval-da", "val"},
		{"--model qwen3 --language fi --api-base " + server.URL + "/v1", "qwen3", "euroeval-fi", "val"},
	} {
		t.Run(test.line, func(t *testing.T) {
			server.bodies = nil
			out := filepath.Join(t.TempDir(), "out")
			var stdout, stderr bytes.Buffer
			if code := Main(append([]string{"euroeval", "--out", out}, strings.Fields(test.line)...), &stdout, &stderr); code != 0 {
				t.Fatalf("got code %d and\n%s", code, &stderr)
			}
			content := readEuroEval(t, out)
			var sets []string
			for _, set := range content.DataSets {
				sets = append(sets, set.DataSet)
				if set.Split != test.split || set.Predictions == 0 {
					t.Errorf("data set %s: got %d answers of split %s, want some of %s", set.DataSet, set.Predictions, set.Split, test.split)
				}
			}
			if got := strings.Join(sets, " "); got != test.sets || len(server.bodies) != len(content.Answers) || server.bodies[0]["model"] != test.model {
				t.Errorf("got %s and %d requests, want %s and a request of %s for each of %d answers", got, len(server.bodies), test.sets, test.model, len(content.Answers))
			}
			if wantEffort := strings.Contains(test.line, "#"); wantEffort != (server.bodies[0]["reasoning_effort"] == "low") {
				t.Errorf("reasoning effort: got %v", server.bodies[0]["reasoning_effort"])
			}
			for _, want := range []string{"euroeval", "bfcl-strict"} {
				if !strings.Contains(stdout.String(), want) {
					t.Errorf("got %s, want %s", &stdout, want)
				}
			}
		})
	}
}

// TestEuroEvalIsRun compares a run of euroeval with its counterpart, and replays it.
func TestEuroEvalIsRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	short, long, again := filepath.Join(dir, "short"), filepath.Join(dir, "long"), filepath.Join(dir, "again")
	for _, line := range []string{
		"euroeval --model random:7 --language es --num-iterations 4 --out " + short,
		"euroeval --model random:7 --language es --num-iterations 4 --resume --out " + short,
		"run --pack euroeval --split val --agent random:7 --language es --iterations 4 --out " + long,
		"run --replay " + short + " --iterations 4 --out " + again,
	} {
		var stdout, stderr bytes.Buffer
		if code := Main(strings.Fields(line), &stdout, &stderr); code != 0 {
			t.Fatalf("%s: got code %d and\n%s", line, code, &stderr)
		}
	}
	for _, other := range []string{long, again} {
		for _, name := range []string{results.SummaryFile, results.EuroEvalFile} {
			first, err := os.ReadFile(filepath.Join(short, name))
			if err != nil {
				t.Fatal(err)
			}
			second, err := os.ReadFile(filepath.Join(other, name))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(first), string(second)); diff != "" {
				t.Errorf("%s of %s (-euroeval +other):\n%s", name, other, diff)
			}
		}
	}
}

// TestEuroEvalErrors types what is not there: the error names what is.
func TestEuroEvalErrors(t *testing.T) {
	t.Setenv("OPENAI_BASE_URL", "")
	for line, want := range map[string]string{
		"":                                          "--model: 0 given, expected one",
		"-m a -m b":                                 "--model: 2 given, expected one",
		"--model org/m":                             "--model: org/m is no model of a known provider: serve it, e.g. with vllm serve org/m, and give --api-base",
		"--model m":                                 "or name its provider, as openai/m",
		"--model gpt-4o --task sentiment":           `--task: unknown task "sentiment"; expected tool-calling, the only one here`,
		"--model gpt-4o --language sv":              `--language: no records in "sv", expected some of en, da, de`,
		"--model gpt-4o --dataset bfcl-v2":          `--dataset: unknown data set "bfcl-v2"; expected some of euroeval-en, euroeval-da`,
		"--model gpt-4o --dataset x -t x":           `--task: unknown task "x"`,
		"--model gpt-4o --dataset x -l de":          "--dataset: given with --language",
		"--model gpt-4o --pack no-pack":             "--pack: stat no-pack",
		"--model gpt-4o --api-base x --base-url y":  "--api-base: given with --base-url",
		"--model o3#much":                           `--reasoning-effort: "much" given, expected one of`,
		"--model gpt-4o --num-iterations 0":         "--iterations: 0 given, expected 1 to 10000",
		"--model gpt-4o --api-key k":                "--api-key; here it is the provider's variable, e.g. OPENAI_API_KEY",
		"--model gpt-4o --few_shot":                 "; here it is zero-shot, always",
		"--model gpt-4o --evaluate-test-split more": `unexpected argument "more"`,
		"--model gpt-4o --agent oracle":             "unknown flag: --agent",
	} {
		var stdout, stderr bytes.Buffer
		args := append([]string{"euroeval", "--out", filepath.Join(t.TempDir(), "out")}, strings.Fields(line)...)
		if code := Main(args, &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: got code %d and\n%s\nwant 2 and %q", line, code, &stderr, want)
		}
	}
	var stdout, stderr bytes.Buffer
	if code := Main([]string{"run", "--agent", "oracle", "--language", "de"}, &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), "--language: de given, but the built-in catalogue has no records") {
		t.Errorf("run --language without records: got code %d and\n%s", code, &stderr)
	}
}
