package google

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/turn"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func id(text string) *string { return &text }

// TestEncodeStudio checks where AI Studio differs from Vertex AI, and a native turn.
func TestEncodeStudio(t *testing.T) {
	const turn = `[{"text":"hm","thoughtSignature":"x"},{"functionCall":{"id":"a","name":"f","args":{}}},{"functionCall":{"name":"f","args":{}}}]`
	query := &provider.Query{
		Model: &agentgwv1.Model{Model: "m", MaxTokens: 5},
		Transcript: []conversation.Entry{
			{Kind: conversation.Assistant, Text: "b"}, {Kind: conversation.User, Index: 1, Text: "u"},
			{Kind: conversation.ToolCall, Index: 2, Name: "f"}, {Kind: conversation.ToolCall, Index: 3, Name: "f"},
			{Kind: conversation.Result, Index: 4, RowID: id("a"), Name: "f", Text: "1"}, {Kind: conversation.Result, Index: 5, RowID: id("b"), Name: "f", Text: "2"},
			{Kind: conversation.ToolCall, Index: 6, Name: "f"},
		},
		Native: map[int32][]byte{2: []byte(turn)}, PlaysUser: true,
	}
	got, err := Codec{}.Encode(query)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"contents":[{"role":"user","parts":[{"text":"Hello."}]},{"role":"model","parts":[{"text":"b"}]},{"role":"user","parts":[{"text":"u"}]},` +
		`{"role":"model","parts":` + turn + `},{"role":"user","parts":[{"functionResponse":{"id":"a","name":"f","response":{"content":"1"}}},` +
		`{"functionResponse":{"name":"f","response":{"content":"2"}}}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}],` +
		`"generationConfig":{"maxOutputTokens":5}}`
	if diff := cmp.Diff(want, string(got.Body)); diff != "" || got.Path != "/models/m:generateContent" {
		t.Errorf("path %s, body (-want +got):\n%s", got.Path, diff)
	}
	if _, err := (Codec{Vertex: true}).Encode(&provider.Query{Model: &agentgwv1.Model{}, Tools: []*worldv1.Tool{{Name: "t", ParametersJson: "{"}}}); err == nil {
		t.Error("a schema that is no JSON: got no error, want one")
	}
}

// TestEncodeStrict checks how transcripts and tools are changed for Google, which would refuse
// them.
func TestEncodeStrict(t *testing.T) {
	query := &provider.Query{
		Model: &agentgwv1.Model{Model: "models/m"}, Official: true,
		Transcript: []conversation.Entry{
			{Kind: conversation.System}, {Kind: conversation.ToolCall, Index: 1, RowID: id("a"), Name: "f"},
			{Kind: conversation.ToolCall, Index: 2, RowID: id("b"), Name: "f"}, {Kind: conversation.ToolCall, Index: 3, RowID: id("c")},
			{Kind: conversation.Result, Index: 4, RowID: id("c"), Text: "3"}, {Kind: conversation.Result, Index: 5, RowID: id("a"), Name: "f", Text: "1"},
			{Kind: conversation.Result, Index: 6, RowID: id("b"), Name: "f", Text: "2"},
		},
		Tools: []*worldv1.Tool{
			{Name: "f", Description: "a\nb", ParametersJson: `{"type":"object","properties":{"z":{"type":"integer","description":"c\nd"},"a":{}},"required":["z","q"]}`},
			{Name: "g", ParametersJson: `{"type":"object","properties":{},"required":[]}`},
		},
	}
	want := `{"contents":[{"role":"user","parts":[{"text":"Hello."}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}},` +
		`{"functionCall":{"name":"f","args":{}}},{"functionCall":{"name":"unnamed","args":{}}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"content":"1"}}},` +
		`{"functionResponse":{"name":"f","response":{"content":"2"}}},{"functionResponse":{"name":"unnamed","response":{"content":"3"}}}]}],` +
		`"tools":[{"functionDeclarations":[{"description":"a b","name":"f","parameters":{"type":"OBJECT","properties":` +
		`{"z":{"type":"INTEGER","description":"c d"},"a":{"type":"OBJECT","description":"Not described."},` +
		`"q":{"type":"OBJECT","description":"Not described."}},"required":["z","q"]}},{"name":"g"}]}]}`
	for range 3 {
		got, err := Codec{}.Encode(query)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got.Body)); diff != "" || got.Path != "/models/m:generateContent" {
			t.Errorf("path %s, body (-want +got):\n%s", got.Path, diff)
		}
	}
	if query.Transcript[4].Text != "3" {
		t.Errorf("the query was changed: got %+v as its first result", query.Transcript[4])
	}
}

// TestEncodeIDs checks that a result carries no id if the provider gave its call none.
func TestEncodeIDs(t *testing.T) {
	got, err := Codec{Vertex: true}.Encode(&provider.Query{
		Model: &agentgwv1.Model{Model: "m"}, Tools: []*worldv1.Tool{}, Native: map[int32][]byte{1: []byte(`[{"functionCall":{"id":"a","name":"f"}}]`)},
		Transcript: []conversation.Entry{
			{Kind: conversation.User, Text: "u"}, {Kind: conversation.ToolCall, Index: 1, RowID: id("a"), Name: "f"},
			{Kind: conversation.Result, Index: 2, RowID: id("a"), Name: "f", Text: "1"}, {Kind: conversation.ToolCall, Index: 3, RowID: id("a"), Name: "f"},
			{Kind: conversation.Result, Index: 4, RowID: id("a"), Name: "f", Text: "2"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"contents":[{"role":"user","parts":[{"text":"u"}]},{"role":"model","parts":[{"functionCall":{"id":"a","name":"f"}}]},` +
		`{"role":"tool","parts":[{"functionResponse":{"id":"a","name":"f","response":{"content":"1"}}}]},` +
		`{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},` +
		`{"role":"tool","parts":[{"functionResponse":{"name":"f","response":{"content":"2"}}}]}],"tools":[{}]}`
	if diff := cmp.Diff(want, string(got.Body)); diff != "" || got.Path != "/publishers/google/models/m:generateContent" {
		t.Errorf("path %s, body (-want +got):\n%s", got.Path, diff)
	}
}

// TestEncodeSession checks that compat sends only the last text or run of results after the model's
// first turn, as the original's session does.
func TestEncodeSession(t *testing.T) {
	transcript := []conversation.Entry{
		{Kind: conversation.User, Text: "u0"}, {Kind: conversation.User, Index: 1, Text: "u1"}, {Kind: conversation.Assistant, Index: 2, Text: "a"},
		{Kind: conversation.User, Index: 3, Text: "u3"}, {Kind: conversation.System, Index: 4, Text: "s"}, {Kind: conversation.User, Index: 5, Text: "u5"},
		{Kind: conversation.ToolCall, Index: 6, Name: "f"}, {Kind: conversation.ToolCall, Index: 7, Name: "f"},
		{Kind: conversation.User, Index: 8, Text: "u8"}, {Kind: conversation.Result, Index: 9, Name: "f", Text: "1"}, {Kind: conversation.Result, Index: 10, Name: "f", Text: "2"},
	}
	said := func(text string) string { return `{"role":"user","parts":[{"text":"` + text + `"}]}` }
	const (
		answer = `{"role":"model","parts":[{"text":"a"}]}`
		asked  = `{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}},{"functionCall":{"name":"f","args":{}}}]}`
		told   = `{"role":"tool","parts":[{"functionResponse":{"name":"f","response":{"content":"1"}}},{"functionResponse":{"name":"f","response":{"content":"2"}}}]}`
	)
	for compat, want := range map[bool][]string{
		true:  {said("u0"), said("u1"), answer, said("u5"), asked, told},
		false: {said("u0"), said("u1"), answer, said("u3"), said("u5"), asked, said("u8"), told},
	} {
		got, err := Codec{Vertex: true}.Encode(&provider.Query{Model: &agentgwv1.Model{Model: "m"}, Compat: compat, Transcript: transcript})
		if err != nil {
			t.Fatal(err)
		}
		var body struct{ Contents []json.RawMessage }
		if err := json.Unmarshal(got.Body, &body); err != nil {
			t.Fatal(err)
		}
		texts := make([]string, len(body.Contents))
		for i, content := range body.Contents {
			texts[i] = string(content)
		}
		if diff := cmp.Diff(want, texts); diff != "" {
			t.Errorf("compat %t (-want +got):\n%s", compat, diff)
		}
	}
}

func TestVertexURL(t *testing.T) {
	for region, want := range map[string]string{
		"us-east1": "https://us-east1-aiplatform.googleapis.com/v1beta1/projects/p/locations/us-east1",
		"global":   "https://aiplatform.googleapis.com/v1beta1/projects/p/locations/global",
	} {
		if got := vertexURL("p", region); got != want {
			t.Errorf("vertexURL(p, %s): got %s, want %s", region, got, want)
		}
	}
}

// parts returns an answer whose only candidate has the given parts.
func parts(text string) string {
	return `{"candidates":[{"content":{"parts":` + text + `},"finishReason":"STOP"}]}`
}

func TestDecode(t *testing.T) {
	tests := map[string]struct {
		body string
		want provider.Answer
	}{
		"numbers keep their types": {
			parts(`[{"functionCall":{"name":"f","args":{"z":5,"a":5.0}}}]`),
			provider.Answer{
				Calls:  []turn.Call{{IDRule: turn.DeriveID, Name: "f", Arguments: `{"z":5,"a":5.0}`}},
				Native: []byte(`[{"functionCall":{"name":"f","args":{"z":5,"a":5.0}}}]`),
			},
		},
		"own id": {
			parts(`[{"functionCall":{"id":"x","name":"f"}}]`),
			provider.Answer{Calls: []turn.Call{{ID: id("x"), IDRule: turn.DeriveID, Name: "f", Arguments: "{}"}}, Native: []byte(`[{"functionCall":{"id":"x","name":"f"}}]`)},
		},
		"thoughts": {
			parts(`[{"text":"hm","thought":true},{"text":"a"},{"text":"b"}]`),
			provider.Answer{Text: "ab", Native: []byte(`[{"text":"hm","thought":true},{"text":"a"},{"text":"b"}]`)},
		},
		"no object": {
			parts(`[{"functionCall":{"id":"","name":"f","args":[1, 2]}},{"functionCall":{"id":null,"name":"f","args":null}},{"text":"beside"}]`),
			provider.Answer{Calls: []turn.Call{{IDRule: turn.DeriveID, Name: "f", Arguments: "[1, 2]"}, {IDRule: turn.DeriveID, Name: "f", Arguments: "{}"}}},
		},
		"no name": {
			parts(`[{"functionCall":{"name":"","args":{"a":1}},"thoughtSignature":"x"}]`),
			provider.Answer{Calls: []turn.Call{{IDRule: turn.DeriveID, Arguments: `{"a":1}`}}},
		},
		"null":          {parts(`null`), provider.Answer{EmptyReason: "the answer's candidate has no parts: STOP"}},
		"null for all":  {parts(`[{"text":null,"functionCall":null}]`), provider.Answer{EmptyReason: "the answer's candidate has neither text nor calls: STOP"}},
		"null for call": {parts(`[{"functionCall":{"args":null}}]`), provider.Answer{EmptyReason: "the answer's candidate has neither text nor calls: STOP"}},
		"unknown parts": {parts(`[{"hologram":{"x":1}},{"text":""}]`), provider.Answer{}},
		"two candidates, and fields that nobody reads": {
			`{"candidates":[{"content":{"parts":[{"text":"a"}]},"avgLogprobs":"NaN"},{"content":{"parts":[{"text":"b"}]}}],"createTime":7,"usageMetadata":{"promptTokenCount":1,"trafficType":5}}`,
			provider.Answer{Text: "a", Native: []byte(`[{"text":"a"}]`), Usage: &agentgwv1.Usage{InputTokens: 1}},
		},
		"blocked":     {`{"promptFeedback":{"blockReason":"SAFETY"}}`, provider.Answer{EmptyReason: "the answer has no candidate: SAFETY", Refusal: "SAFETY"}},
		"no content":  {`{"candidates":[{"finishReason":"SAFETY"}]}`, provider.Answer{EmptyReason: "the answer's candidate has no parts: SAFETY", Refusal: "SAFETY"}},
		"empty":       {parts(`[]`), provider.Answer{EmptyReason: "the answer's candidate has neither text nor calls: STOP"}},
		"no call":     {parts(`[{"functionCall":{}}]`), provider.Answer{EmptyReason: "the answer's candidate has neither text nor calls: STOP"}},
		"only usage":  {`{"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2,"thoughtsTokenCount":3}}`, provider.Answer{EmptyReason: "the answer has no candidate", Usage: &agentgwv1.Usage{InputTokens: 1, OutputTokens: 5, ReasoningTokens: 3}}},
		"empty array": {`{"candidates":[]}`, provider.Answer{EmptyReason: "the answer has no candidate"}},
	}
	for name, test := range tests {
		got, err := Codec{}.Decode([]byte(test.body))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(&test.want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestDecodeInvalid decodes invalid bodies.
func TestDecodeInvalid(t *testing.T) {
	for _, body := range []string{"", "not json", "{}", "[]", `{"candidates":5}`, parts(`"x"`), parts(`[{"text":5}]`), parts(`[{"functionCall":"f"}]`)} {
		if got, err := (Codec{}).Decode([]byte(body)); !errors.Is(err, provider.ErrAnswer) {
			t.Errorf("Decode(%q): got %+v and %v, want ErrAnswer", body, got, err)
		}
	}
}

// TestDecodeEmptyText distinguishes an empty text that the original accepts from other empty
// answers.
func TestDecodeEmptyText(t *testing.T) {
	for parts, want := range map[string]bool{
		`[{"text":""}]`: true, `[{"text":""},{"text":""}]`: false, `[]`: false, `[{"text":"x"}]`: false, `[{"text":"","thought":true}]`: false,
	} {
		if got, err := (Codec{}).Decode([]byte(`{"candidates":[{"content":{"parts":` + parts + `}}]}`)); err != nil || got.EmptyText != want {
			t.Errorf("Decode of %s: got %+v and %v, want a blank: %t", parts, got, err, want)
		}
	}
}

// FuzzDecode checks that any body decodes to an answer or ErrAnswer, and that its native form can
// be sent back.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"candidates":[{"content":{"parts":[{"text":"a"},{"functionCall":{"id":"i","name":"f","args":{"a":1}}}]}}]}`))
	f.Add([]byte(`{"candidates":[{"content":{"parts":[{"text":""}]}}]}`))
	f.Add([]byte(`{"promptFeedback":{"blockReason":"x"},"usageMetadata":{"promptTokenCount":1}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		answer, err := Codec{}.Decode(body)
		if err != nil {
			if !errors.Is(err, provider.ErrAnswer) {
				t.Errorf("got %v, want ErrAnswer", err)
			}
			return
		}
		if len(answer.Native) == 0 {
			return
		}
		_, err = Codec{}.Encode(&provider.Query{
			Model: &agentgwv1.Model{Model: "m"}, Native: map[int32][]byte{0: answer.Native},
			Transcript: []conversation.Entry{{Kind: conversation.Assistant, Text: answer.Text}},
		})
		if err != nil {
			t.Errorf("send %s back: %v", answer.Native, err)
		}
	})
}

// TestEncodeChoices checks the schemas of choices, lists and unions.
func TestEncodeChoices(t *testing.T) {
	got, err := Codec{}.Encode(&provider.Query{Model: &agentgwv1.Model{Model: "models/m"}, Tools: []*worldv1.Tool{{Name: "f", ParametersJson: `{"type": "object", "properties": {` +
		`"a": {"type": "string", "enum": ["x", "y"]}, "b": {"type": "integer", "enum": [1, 2]}, ` +
		`"c": {"type": "array", "items": {"type": "array", "items": {"type": "string", "enum": ["z"]}}}, ` +
		`"d": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "number"}}]}}}`}}})
	if err != nil {
		t.Fatal(err)
	}
	want := `"properties":{"a":{"type":"STRING","description":"Not described.","enum":["x","y"]},"b":{"type":"INTEGER","description":"Not described."},` +
		`"c":{"type":"ARRAY","description":"Not described.","items":{"type":"ARRAY","items":{"type":"STRING","enum":["z"]}}},` +
		`"d":{"description":"Not described.","anyOf":[{"type":"STRING"},{"type":"ARRAY","items":{"type":"NUMBER"}}]}}`
	if !strings.Contains(string(got.Body), want) {
		t.Errorf("got %s, want %s in it", got.Body, want)
	}
}
