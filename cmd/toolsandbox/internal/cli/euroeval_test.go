package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/euroeval"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// recordServer is a chat completions server for EuroEval's records. It returns the answer for the
// question in the prompt, otherwise a text.
type recordServer struct {
	*httptest.Server
	answers map[string]string

	mu     sync.Mutex
	bodies []map[string]any
}

func newRecordServer(t *testing.T, answers map[string]string) *recordServer {
	t.Helper()
	s := &recordServer{answers: answers}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		var body map[string]any
		if err == nil {
			err = json.Unmarshal(raw, &body)
		}
		if err != nil {
			t.Errorf("request: %v", err)
		}
		s.mu.Lock()
		s.bodies = append(s.bodies, body)
		s.mu.Unlock()
		output := "I have no idea."
		for question, answer := range s.answers {
			if strings.Contains(string(raw), question) {
				output = answer
			}
		}
		content, err := json.Marshal(output)
		if err != nil {
			t.Error(err)
		}
		_, _ = fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`, content)
	}))
	t.Cleanup(s.Close)
	return s
}

// writeRecords writes three records to BFCL files.
func writeRecords(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "records")
	const function = `{"name": "shop.pay", "parameters": {"type": "dict", "properties": {"amount": {"type": "float"}, "note": {"type": "string"}}, "required": ["amount"]}}`
	for name, text := range map[string]string{
		"simple.json": `{"id": "simple_0", "question": [[{"role": "user", "content": "Pay two."}]], "function": [` + function + `]}
{"id": "simple_1", "question": [[{"role": "user", "content": "Pay three."}]], "function": [` + function + `]}
`,
		"possible_answer/simple.json": `{"id": "simple_0", "ground_truth": [{"shop.pay": {"amount": [2.0]}}]}
{"id": "simple_1", "ground_truth": [{"shop.pay": {"amount": [3.0], "note": ["", "x"]}}]}
`,
		"irrelevance.json": `{"id": "irrelevance_0", "question": [[{"role": "user", "content": "Sing."}]], "function": [` + function + `]}
`,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func readEuroEval(t *testing.T, out string) *results.EuroEval {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(out, results.EuroEvalFile))
	if err != nil {
		t.Fatal(err)
	}
	content := &results.EuroEval{}
	if err := json.Unmarshal(raw, content); err != nil {
		t.Fatal(err)
	}
	checkFiles(t, out)
	return content
}

// checkFiles checks that a run leaves no file that documents do not list.
func checkFiles(t *testing.T, out string) {
	t.Helper()
	run, rollout := results.Files()
	for pattern, names := range map[string][]string{"*": run, results.TrajectoriesDirectory + "/*/*": rollout} {
		found, err := filepath.Glob(filepath.Join(out, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("files %s of %s: got %v, %v", pattern, out, found, err)
		}
		for _, path := range found {
			if !slices.Contains(names, filepath.Base(path)) {
				t.Errorf("the run left %s: want one of %v", path, names)
			}
		}
	}
}

// TestRunRecords runs records with a model. The requests must be EuroEval's, and both graders grade
// the answers. The table and explain show where they differ, and the run can be replayed.
func TestRunRecords(t *testing.T) {
	t.Parallel()
	const extra = `{"tool_calls": [{"function": "shop.pay", "arguments": {"amount": 3, "tip": true}}]}`
	server := newRecordServer(t, map[string]string{
		"Pay two.": ` {"tool_calls": [{"function": "shop.pay", "arguments": {"amount": 2.0}}]}`, "Pay three.": extra,
	})
	records, out := writeRecords(t), filepath.Join(t.TempDir(), "out")
	var stdout, stderr bytes.Buffer
	arguments := []string{"run", "--pack", records, "--agent", "openai:m", "--base-url", server.URL + "/v1", "--out", out, "--iterations", "3", "--seed", "7"}
	if code := Main(arguments, &stdout, &stderr); code != 0 {
		t.Fatalf("got code %d, want 0:\n%s%s", code, &stdout, &stderr)
	}
	for _, want := range []string{
		"simple_1 correct unexpected_arg", "the graders differ by extra_argument_passes 1", "simple 2 100.00 50.00 1", "irrelevance_0 json json",
	} {
		if !strings.Contains(strings.Join(strings.Fields(stdout.String()), " "), want) {
			t.Errorf("table: got %s\nwant %q", &stdout, want)
		}
	}
	for _, body := range server.bodies {
		messages, _ := body["messages"].([]any)
		format, _ := json.Marshal(body["response_format"])
		var wantFormat any
		if err := json.Unmarshal([]byte(euroeval.ResponseFormat), &wantFormat); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wantFormat, body["response_format"]); diff != "" {
			t.Errorf("response_format: got %s (-want +got):\n%s", format, diff)
		}
		if len(messages) != 1 || body["tools"] != nil || body["temperature"] != 0. || body["seed"] != 4242. || body["max_tokens"] != 500. {
			t.Errorf("got %v, want one message without tools at temperature 0, seed 4242 and 500 tokens", body)
		}
	}
	answers := readEuroEval(t, out).Answers
	slices.SortFunc(answers, func(a, b results.Answer) int { return strings.Compare(a.Name, b.Name) })
	if len(answers) != 3 || answers[2].Prediction != extra || answers[2].Quirk != string(euroeval.QuirkExtraArgument) || answers[0].EuroEval.Check != "json" {
		t.Errorf("got %+v, want the three answers with their verdicts", answers)
	}
	results, err := os.ReadFile(filepath.Join(out, euroeval.ResultsName))
	if err != nil || !strings.Contains(string(results), `"model_info":{"name":"openai/m"`) || strings.Count(string(results), "\n") != 1 {
		t.Errorf("%s: got %s and %v, want a line of openai/m", euroeval.ResultsName, results, err)
	}
	checkExplained(t, records, out)
	checkReplayed(t, out)
}

// TestRunRecordsInPart ends with an answer less than wanted. EuroEval's own file, which others
// publish, is missing until --resume has got it.
func TestRunRecordsInPart(t *testing.T) {
	t.Parallel()
	answering := newRecordServer(t, nil)
	var repaired atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !repaired.Load() && bytes.Contains(body, []byte("Pay three.")) {
			http.Error(w, `{"error":{"message":"no"}}`, http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		answering.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	out := filepath.Join(t.TempDir(), "out")
	arguments := []string{"run", "--pack", writeRecords(t), "--agent", "openai:m", "--base-url", server.URL + "/v1", "--out", out, "--iterations", "3", "--resume"}
	for _, want := range []struct{ code, answers int }{{1, 2}, {0, 3}} {
		var stdout, stderr bytes.Buffer
		code := Main(arguments, &stdout, &stderr)
		answers := len(readEuroEval(t, out).Answers)
		_, err := os.Stat(filepath.Join(out, euroeval.ResultsName))
		if code != want.code || answers != want.answers || (err == nil) != (code == 0) {
			t.Errorf("got code %d, %d answers and %v for %s, want %+v:\n%s", code, answers, err, euroeval.ResultsName, want, &stderr)
		}
		repaired.Store(true)
	}
}

// checkExplained checks that explain shows both verdicts and that score keeps them.
func checkExplained(t *testing.T, records, out string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := Main([]string{"explain", out, "simple_1", "--pack", records}, &stdout, &stderr); code != 0 {
		t.Fatalf("explain: got code %d:\n%s", code, &stderr)
	}
	for _, want := range []string{
		"euroeval: correct", "bfcl-strict: wrong by unexpected_arg: call 1: argument tip is not expected", "They differ by extra_argument_passes: EuroEval ignores",
	} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("explain: got %s\nwant %q", &stdout, want)
		}
	}
	stdout.Reset()
	if code := Main([]string{"score", out, "--pack", records}, &stdout, &stderr); code != 0 || !strings.Contains(stdout.String(), "0 of 3 scores moved") {
		t.Errorf("score: got code %d and %s%s, want that nothing moved", code, &stdout, &stderr)
	}
}

// checkReplayed checks that a replay without the server writes the same files.
func checkReplayed(t *testing.T, out string) {
	t.Helper()
	again := filepath.Join(t.TempDir(), "again")
	var stdout, stderr bytes.Buffer
	if code := Main([]string{"run", "--replay", out, "--out", again, "--iterations", "3"}, &stdout, &stderr); code != 0 {
		t.Fatalf("replay: got code %d:\n%s%s", code, &stdout, &stderr)
	}
	for _, name := range []string{results.SummaryFile, results.EuroEvalFile} { // EuroEval's own file contains the time
		first, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		second, err := os.ReadFile(filepath.Join(again, name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(first), string(second)); diff != "" {
			t.Errorf("%s of the replay (-first +second):\n%s", name, diff)
		}
	}
}

// TestRunRecordsReasoning checks that requests to a reasoning model have no schema and allow more
// tokens.
func TestRunRecordsReasoning(t *testing.T) {
	t.Parallel()
	server := newRecordServer(t, nil)
	var stdout, stderr bytes.Buffer
	code := Main([]string{
		"run", "--pack", writeRecords(t), "--agent", "openai:m", "--reasoning-effort", "low", "--base-url", server.URL + "/v1",
		"--out", filepath.Join(t.TempDir(), "out"), "simple_0",
	}, &stdout, &stderr)
	if code != 0 || len(server.bodies) != 1 {
		t.Fatalf("got code %d and %d requests, want 0 and one:\n%s%s", code, len(server.bodies), &stdout, &stderr)
	}
	if body := server.bodies[0]; body["response_format"] != nil || body["max_tokens"] != 8192. || body["temperature"] != nil {
		t.Errorf("got %v, want neither response_format nor temperature, and 8192 tokens", body)
	}
}

// TestRunRecordsErrors checks errors for invalid records and splits.
func TestRunRecordsErrors(t *testing.T) {
	t.Parallel()
	records := writeRecords(t)
	bad := filepath.Join(t.TempDir(), "bad.jsonl")
	if err := os.WriteFile(bad, []byte("\n{\"text\": 3}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		arguments []string
		want      string
	}{
		{[]string{"--pack", bad}, "bad.jsonl:1:1: line: want"},
		{[]string{"--pack", records, "--split", "dev"}, `--split: "dev" given, expected all, train, val or test`},
		{[]string{"--split", "val"}, "--split: val given, but the built-in catalogue has no records"},
		{[]string{"--pack", records, "--iterations", "0"}, "--iterations: 0 given, expected 1 to 10000"},
	} {
		var stdout, stderr bytes.Buffer
		arguments := append([]string{"run", "--agent", "oracle", "--out", filepath.Join(t.TempDir(), "out")}, test.arguments...)
		if code := Main(arguments, &stdout, &stderr); code == 0 || !strings.Contains(stderr.String(), test.want) {
			t.Errorf("%v: got code %d and %s, want %q", test.arguments, code, &stderr, test.want)
		}
	}
}
