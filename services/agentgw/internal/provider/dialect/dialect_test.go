package dialect

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/providertest"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

var update = flag.Bool("update", false, "write the golden files")

// fullQuery returns a query with every kind of entry.
func fullQuery() *provider.Query {
	off := python.DictOf(python.Item{Key: "on", Value: python.Bool(false)})
	return &provider.Query{
		Model: &agentgwv1.Model{Model: "m"},
		Tools: []*worldv1.Tool{
			{Name: "get_wifi_status", Description: "Tells whether é is on.", ParametersJson: `{"type":"object","properties":{},"required":[]}`},
			{Name: "set_wifi_status", Description: "Switches.", ParametersJson: `{"type":"object","properties":{"on":{"type":"boolean","description":"The new\nstate."},"why":{}},"required":["on"]}`},
		},
		Transcript: []conversation.Entry{
			{Kind: conversation.System, Text: "Be brief."},
			{Kind: conversation.User, Index: 1, Text: "Wifi off, please. é"},
			{Kind: conversation.ToolCall, Index: 2, ID: "a", Name: "set_wifi_status", Arguments: off},
			{Kind: conversation.ToolCall, Index: 3, ID: "a", Name: "tool_call_is_no_json", Arguments: python.Str("{'on'")},
			{Kind: conversation.Result, Index: 4, ID: "a", Name: "set_wifi_status", Text: "None"},
			{Kind: conversation.Result, Index: 5, ID: "a", Name: "tool_call_is_no_json", Text: "NameError: é"},
			{Kind: conversation.Assistant, Index: 6, Text: "Done."},
			{Kind: conversation.User, Index: 7, Text: "Is it?"},
			{Kind: conversation.User, Index: 8, Text: "Sure?"},
			{Kind: conversation.ToolCall, Index: 9, ID: "b", Name: "get_wifi_status", Arguments: (&python.Dict{}).Value()},
			{Kind: conversation.Result, Index: 10, ID: "b", Name: "get_wifi_status", Text: `[1.50, null]`},
		},
	}
}

// TestPrompts compares whole prompts with golden files. -update rewrites them.
func TestPrompts(t *testing.T) {
	codecs := load(t, "")
	for _, name := range []string{Hermes, Gorilla, Mistral, Cohere} {
		request, err := codecs[name].Encode(fullQuery())
		if err != nil {
			t.Fatal(err)
		}
		var body struct {
			Model, Prompt string
			MaxTokens     int32 `json:"max_tokens"`
			Temperature   *float64
		}
		if err := json.Unmarshal(request.Body, &body); err != nil {
			t.Fatal(err)
		}
		if body.Model != "m" || body.MaxTokens < shortAnswer || body.Temperature != nil || request.Path != "/completions" {
			t.Errorf("%s: got %s %+v, want the model, a number of tokens and no temperature", name, request.Path, body)
		}
		file := filepath.Join("testdata", name+".prompt")
		if *update {
			if err := os.WriteFile(file, []byte(body.Prompt), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if body.Prompt != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", file, body.Prompt, want)
		}
	}
}

// TestInterrupted renders a conversation that events have interrupted: after a text of the user and
// after an answer. Mistral's form has one text of the user at a time; Gorilla, which is shown only
// the last one, gets the events that came after it.
func TestInterrupted(t *testing.T) {
	codecs := load(t, "")
	for name, want := range map[string]string{
		Hermes: "<|im_start|>user\nEggs, please.<|im_end|>\n<|im_start|>user\n[Notification on the phone] Timer: tea<|im_end|>\n" +
			"<|im_start|>assistant\n<tool_call>\n{\"arguments\": {\"minutes\": 8}, \"name\": \"set_timer\"}\n</tool_call><|im_end|>\n" +
			"<|im_start|>tool\n<tool_response>\n{\"name\": \"set_timer\", \"content\": \"None\"}\n</tool_response><|im_end|>\n" +
			"<|im_start|>user\n[Notification on the phone] Timer: eggs<|im_end|>\n<|im_start|>assistant",
		Gorilla: "<<question>>Eggs, please.\n\n[Notification on the phone] Timer: tea\n\n[Notification on the phone] Timer: eggs\n### Response: ",
		Mistral: "[INST] Eggs, please.\n\n[Notification on the phone] Timer: tea[/INST]" +
			"[TOOL_CALLS] [{\"name\": \"set_timer\", \"arguments\": {\"minutes\": 8}, \"id\": \"000000003\"}]</s>" +
			"[TOOL_RESULTS] {\"content\": \"None\", \"call_id\": \"000000003\"}[/TOOL_RESULTS]" +
			"[AVAILABLE_TOOLS] [{\"type\": \"function\", \"function\": {\"name\": \"set_timer\", \"description\": \"Sets a timer.\", \"parameters\": {\"type\": \"object\", \"properties\": {}}}}][/AVAILABLE_TOOLS]" +
			"[INST] Be brief.\n\n[Notification on the phone] Timer: eggs[/INST]",
		Cohere: "<|USER_TOKEN|>Eggs, please.<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|USER_TOKEN|>[Notification on the phone] Timer: tea<|END_OF_TURN_TOKEN|>",
	} {
		if got := providertest.Encoded(t, codecs[name], providertest.Interrupted(), "prompt"); !strings.Contains(got, want) {
			t.Errorf("%s: got\n%s\nwant in it\n%s", name, got, want)
		}
	}
	user := providertest.Interrupted()
	user.PlaysUser, user.Tools = true, nil
	want := "ASSISTANT: Eggs, please.\n\nASSISTANT: [Notification on the phone] Timer: tea\n\nYOU: [CALL] {\"name\": \"set_timer\", \"arguments\": {\"minutes\": 8}}\n\n" +
		"RESULT: None\n\nASSISTANT: [Notification on the phone] Timer: eggs\n\nYOU: "
	if got := providertest.Encoded(t, codecs[Plain], user, "prompt"); !strings.HasSuffix(got, want) {
		t.Errorf("plain: got\n%s\nwant at the end\n%s", got, want)
	}
}

// TestSampling checks the sampling settings of the user and of the original.
func TestSampling(t *testing.T) {
	warm := 0.5
	for _, test := range []struct {
		model  *agentgwv1.Model
		compat bool
		want   string
	}{
		{&agentgwv1.Model{}, false, "2048 <nil>"},
		{&agentgwv1.Model{}, true, "2048 0"},
		{&agentgwv1.Model{MaxTokens: 7, Temperature: &warm}, true, "7 0.5"},
	} {
		request, err := load(t, "")[Hermes].Encode(&provider.Query{Model: test.model, Compat: test.compat})
		if err != nil {
			t.Fatal(err)
		}
		var body map[string]any
		if err := json.Unmarshal(request.Body, &body); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(body["max_tokens"], " ", body["temperature"]); got != test.want {
			t.Errorf("%v, compat %t: got %s, want %s", test.model, test.compat, got, test.want)
		}
	}
}

func TestLoad(t *testing.T) {
	tests := map[string]struct{ file, text, want string }{
		"syntax":     {"hermes.tmpl", "one\n{{if}}", "hermes.tmpl:2: missing value for if"},
		"field":      {"gorilla.tmpl", "one\n\n{{.Nothing}}", "gorilla.tmpl:3:"},
		"in turns":   {"mistral.tmpl", "{{range .Turns}}\n{{.Nothing}}{{end}}", "mistral.tmpl:2:"},
		"json":       {"cohere.tmpl", "{{json .Turns}}", "no JSON of a []dialect.Turn"},
		"one tool":   {"hermes.tmpl", "one\n{{if eq (len .Tools) 1}}{{.Nothing}}{{end}}", "hermes.tmpl:2:"},
		"no tools":   {"gorilla.tmpl", "{{(index .Tools 0).Name}}", "tried with no tools,"},
		"bare":       {"cohere.tmpl", "{{range .Tools}}{{(index .Parameters 0).Name}}{{end}}", "tried with one tool without parameters,"},
		"one call":   {"hermes.tmpl", "{{range .Turns}}\n{{if eq (len .Calls) 1}}{{.Nothing}}{{end}}{{end}}", "hermes.tmpl:2:"},
		"calls":      {"hermes.tmpl", `{{range .Turns}}{{if eq .Kind "call"}}{{(index .Calls 1).Name}}{{end}}{{end}}`, "a conversation with one call:"},
		"more calls": {"plain.tmpl", "{{range .Turns}}{{range $i, $c := .Calls}}{{if $i}}{{.Nothing}}{{end}}{{end}}{{end}}", "a conversation with two calls at once:"},
		"user first": {"cohere.tmpl", `{{if .Turns}}{{if eq (index .Turns 0).Kind "user"}}{{.Nothing}}{{end}}{{end}}`, "a conversation that begins with the user:"},
		"person":     {"plain.tmpl", "{{if .Person}}{{.Nothing}}{{end}}", "a person and"},
		"tools":      {"cohere.tmpl", "{{json .Tools}}", "no JSON of .Tools: .ToolList has all"},
		"tool":       {"cohere.tmpl", "{{range .Tools}}{{ascii .}}{{end}}", "no JSON of a tool: its .Form"},
		"function":   {"cohere.tmpl", "{{shout .System}}", `function "shout" not defined`},
		"name":       {"command-r.tmpl", "", "expected one of cohere.tmpl"},
		"huge":       {"hermes.tmpl", strings.Repeat("x", maxTemplate+1), "expected at most"},
	}
	for name, test := range tests {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, test.file), []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), filepath.Join(dir, test.file)) {
			t.Errorf("%s: got %v, want the file and %q", name, err, test.want)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, Hermes+suffix), []byte("{{.Nothing}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || strings.Contains(err.Error(), "tried with") {
		t.Errorf("broken for everything: got %v, want no word about one trial", err)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: got %v, want os.ErrNotExist", err)
	}
	dir = t.TempDir()
	for file, text := range map[string]string{"mistral.tmpl": "{{trim .Question}}|{{line .System}}|{{ascii .Question}}", "README.md": "{{"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := load(t, dir)[Mistral].prompt(&provider.Query{Transcript: []conversation.Entry{
		{Kind: conversation.System, Text: "a\n b"}, {Kind: conversation.User, Text: " é "},
	}})
	if err != nil || got != `é|a b|" \u00e9 "` {
		t.Errorf("own template: got %q and %v, want it filled in", got, err)
	}
}

// TestSamples renders the samples with the built-in templates, which Load does not check.
func TestSamples(t *testing.T) {
	for name, codec := range load(t, "") {
		if err := codec.check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTemplateFails sends no request, and no retry, for a conversation that a template cannot
// render.
func TestTemplateFails(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, Hermes+suffix)
	if err := os.WriteFile(file, []byte("one\n{{if gt (len .Tools) 2}}{{.Nothing}}{{end}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	codec := load(t, dir)[Hermes]
	for tools, want := range map[int]string{2: "", 3: "template " + file + ":2:"} {
		_, err := codec.Encode(&provider.Query{Model: &agentgwv1.Model{}, Tools: make([]*worldv1.Tool, tools)})
		failure, refused := errors.AsType[*provider.Failure](err)
		if refused != (want != "") || refused && (failure.Retryable || !strings.HasPrefix(failure.Detail, want)) {
			t.Errorf("%d tools: got %+v, want a failure that begins with %q and is not tried again", tools, err, want)
		}
	}
}
