package anthropic

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// TestThinking shows when a model may think, and that its tokens are added and no temperature is sent.
func TestThinking(t *testing.T) {
	said := conversation.Entry{Kind: conversation.User, Text: "u"}
	call := func(index int32) conversation.Entry {
		return conversation.Entry{Kind: conversation.Calling, Index: index, RowID: id("a"), Name: "f"}
	}
	result := conversation.Entry{Kind: conversation.Result, Index: 9, RowID: id("a"), Text: "1"}
	native := map[int32][]byte{1: []byte(`[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"tool_use","id":"a","name":"f","input":{}}]`)}
	tests := map[string]struct {
		transcript []conversation.Entry
		native     map[int32][]byte
		compat     bool
		max        int32
		want       string
		tokens     int
	}{
		"first":                {[]conversation.Entry{said}, nil, false, 0, `{"type":"enabled","budget_tokens":2000}`, 6096},
		"own limit":            {[]conversation.Entry{said}, nil, false, 3000, `{"type":"enabled","budget_tokens":2000}`, 3000},
		"compat":               {[]conversation.Entry{said}, nil, true, 0, `{"type":"enabled","budget_tokens":2000}`, 3024},
		"thought before":       {[]conversation.Entry{said, call(1), call(2), result, result}, native, false, 0, `{"type":"enabled","budget_tokens":2000}`, 6096},
		"did not think":        {[]conversation.Entry{said, call(1), call(2), result}, nil, false, 0, "", 6096},
		"did not think lately": {[]conversation.Entry{said, call(1), result, call(3), result}, native, false, 0, "", 6096},
		"only results":         {[]conversation.Entry{result}, nil, false, 0, `{"type":"enabled","budget_tokens":2000}`, 6096},
	}
	for name, test := range tests {
		got, err := Codec{}.Encode(&provider.Query{
			Model:      &agentgwv1.Model{Model: "m", ThinkingBudget: 2000, MaxTokens: test.max, Temperature: proto.Float64(0.5)},
			Transcript: test.transcript, Native: test.native, Compat: test.compat,
		})
		if err != nil {
			t.Fatal(err)
		}
		var body struct {
			MaxTokens   int      `json:"max_tokens"`
			Temperature *float64 `json:"temperature"`
			Thinking    json.RawMessage
		}
		if err := json.Unmarshal(got.Body, &body); err != nil {
			t.Fatal(err)
		}
		if string(body.Thinking) != test.want || body.Temperature != nil || body.MaxTokens != test.tokens {
			t.Errorf("%s: got %s, want thinking %s, %d tokens and no temperature", name, got.Body, test.want, test.tokens)
		}
	}
}

// TestEmptyTexts shows what Anthropic itself gets where nothing was said: no empty text, which it refuses.
func TestEmptyTexts(t *testing.T) {
	query := &provider.Query{
		Model: &agentgwv1.Model{Model: "m"}, Own: true,
		Transcript: []conversation.Entry{
			{Kind: conversation.User, Index: 1}, {Kind: conversation.Assistant, Index: 2}, {Kind: conversation.User, Index: 3, Text: "u"},
			{Kind: conversation.Calling, Index: 4, RowID: id("a"), Name: "f"}, {Kind: conversation.Result, Index: 5, RowID: id("a")},
		},
	}
	const call = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}`
	own := `{"model":"m","max_tokens":4096,"messages":[{"role":"user","content":"(nothing)"},{"role":"user","content":"u"},` + call +
		`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[],"is_error":false}]}]}`
	other := `{"model":"m","max_tokens":4096,"messages":[{"role":"user","content":""},{"role":"assistant","content":""},{"role":"user","content":"u"},` + call +
		`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":""}],"is_error":false}]}]}`
	for _, want := range []string{own, other} {
		got, err := Codec{}.Encode(query)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got.Body)); diff != "" {
			t.Errorf("own address: %t: body (-want +got):\n%s", query.Own, diff)
		}
		query.Own = false
	}
	answer, err := Codec{}.Decode([]byte(`{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":""},{"type":"tool_use","id":"a","name":"f","input":{}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := `[{"type":"thinking","thinking":"hm"},{"type":"tool_use","id":"a","name":"f","input":{}}]`; string(answer.Native) != want {
		t.Errorf("the turn's own form: got %s, want %s", answer.Native, want)
	}
}
