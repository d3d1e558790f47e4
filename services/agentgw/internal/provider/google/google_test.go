package google

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func id(text string) *string { return &text }

// TestEncodeStudio shows where AI Studio wants something else than Vertex AI, and a turn that is sent back as it was.
func TestEncodeStudio(t *testing.T) {
	const turn = `[{"text":"hm","thoughtSignature":"x"},{"functionCall":{"id":"a","name":"f","args":{}}},{"functionCall":{"name":"f","args":{}}}]`
	query := &provider.Query{
		Model: &agentgwv1.Model{Model: "m", MaxTokens: 5},
		Transcript: []conversation.Entry{
			{Kind: conversation.Assistant, Text: "b"}, {Kind: conversation.User, Index: 1, Text: "u"},
			{Kind: conversation.Calling, Index: 2, Name: "f"}, {Kind: conversation.Calling, Index: 3, Name: "f"},
			{Kind: conversation.Result, Index: 4, RowID: id("a"), Name: "f", Text: "1"}, {Kind: conversation.Result, Index: 5, RowID: id("b"), Name: "f", Text: "2"},
			{Kind: conversation.Calling, Index: 6, Name: "f"},
		},
		Native: map[int32][]byte{2: []byte(turn)}, Flipped: true,
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

func TestVertexURL(t *testing.T) {
	for region, want := range map[string]string{
		"us-east1": "https://us-east1-aiplatform.googleapis.com/v1beta1/projects/p/locations/us-east1",
		"global":   "https://aiplatform.googleapis.com/v1beta1/projects/p/locations/global",
	} {
		if got := VertexURL("p", region); got != want {
			t.Errorf("VertexURL(p, %s): got %s, want %s", region, got, want)
		}
	}
}

func TestDecode(t *testing.T) {
	parts := func(text string) string {
		return `{"candidates":[{"content":{"parts":` + text + `},"finishReason":"STOP"}]}`
	}
	tests := map[string]struct {
		body string
		want provider.Answer
	}{
		"numbers keep their types": {
			parts(`[{"functionCall":{"name":"f","args":{"z":5,"a":5.0}}}]`),
			provider.Answer{
				Calls:  []provider.Call{{Unnamed: true, Name: "f", Arguments: `{"z":5,"a":5.0}`}},
				Native: []byte(`[{"functionCall":{"name":"f","args":{"z":5,"a":5.0}}}]`),
			},
		},
		"own id": {
			parts(`[{"functionCall":{"id":"x","name":"f"}}]`),
			provider.Answer{Calls: []provider.Call{{ID: id("x"), Unnamed: true, Name: "f", Arguments: "{}"}}, Native: []byte(`[{"functionCall":{"id":"x","name":"f"}}]`)},
		},
		"thoughts": {
			parts(`[{"text":"hm","thought":true},{"text":"a"},{"text":"b"}]`),
			provider.Answer{Text: "ab", Native: []byte(`[{"text":"hm","thought":true},{"text":"a"},{"text":"b"}]`)},
		},
		"blocked":     {`{"promptFeedback":{"blockReason":"SAFETY"}}`, provider.Answer{Nothing: "the answer has no candidate: SAFETY"}},
		"no content":  {`{"candidates":[{"finishReason":"SAFETY"}]}`, provider.Answer{Nothing: "the answer's candidate has no parts: SAFETY"}},
		"empty":       {parts(`[]`), provider.Answer{Nothing: "the answer's candidate has neither text nor calls: STOP"}},
		"no call":     {parts(`[{"functionCall":{}}]`), provider.Answer{Nothing: "the answer's candidate has neither text nor calls: STOP"}},
		"only usage":  {`{"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2,"thoughtsTokenCount":3}}`, provider.Answer{Nothing: "the answer has no candidate", Usage: &agentgwv1.Usage{InputTokens: 1, OutputTokens: 5, ReasoningTokens: 3}}},
		"empty array": {`{"candidates":[]}`, provider.Answer{Nothing: "the answer has no candidate"}},
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
	for _, body := range []string{"", "not json", "{}", "[]", parts(`"x"`)} {
		if got, err := (Codec{}).Decode([]byte(body)); !errors.Is(err, provider.ErrAnswer) {
			t.Errorf("Decode(%q): got %+v and %v, want ErrAnswer", body, got, err)
		}
	}
}

// FuzzDecode checks that whatever a server sends becomes an answer or ErrAnswer, and that its own form can be sent back.
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
