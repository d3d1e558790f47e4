package anthropic

import (
	"encoding/json"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// TestThinking checks when a model may think, that the budget is added to the limit, and that no
// temperature is sent.
func TestThinking(t *testing.T) {
	said := conversation.Entry{Kind: conversation.User, Text: "u"}
	call := func(index int32) conversation.Entry {
		return conversation.Entry{Kind: conversation.ToolCall, Index: index, RowID: id("a"), Name: "f"}
	}
	result := conversation.Entry{Kind: conversation.Result, Index: 9, RowID: id("a"), Text: "1"}
	native := map[int32][]byte{1: []byte(`[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"tool_use","id":"a","name":"f","input":{}}]`)}
	tests := map[string]struct {
		transcript []conversation.Entry
		native     map[int32][]byte
		compat     bool
		max        int32
		effort     string
		want       string
		tokens     int
	}{
		"first":                {[]conversation.Entry{said}, nil, false, 0, "", `{"budget_tokens":2000,"type":"enabled"}`, 18000},
		"own limit":            {[]conversation.Entry{said}, nil, false, 3000, "", `{"budget_tokens":2000,"type":"enabled"}`, 3000},
		"compat":               {[]conversation.Entry{said}, nil, true, 0, "", `{"budget_tokens":2000,"type":"enabled"}`, 3024},
		"thought before":       {[]conversation.Entry{said, call(1), call(2), result, result}, native, false, 0, "", `{"budget_tokens":2000,"type":"enabled"}`, 18000},
		"did not think":        {[]conversation.Entry{said, call(1), call(2), result}, nil, false, 0, "", "", 18000},
		"did not think lately": {[]conversation.Entry{said, call(1), result, call(3), result}, native, false, 0, "", "", 18000},
		"effort":               {[]conversation.Entry{said}, nil, false, 0, "high", `{"type":"adaptive"}`, 16000},
		"effort, own limit":    {[]conversation.Entry{said}, nil, false, 3000, "low", `{"type":"adaptive"}`, 3000},
		"effort, did not":      {[]conversation.Entry{said, call(1), call(2), result}, nil, false, 0, "max", `{"type":"adaptive"}`, 16000},
		"only results":         {[]conversation.Entry{result}, nil, false, 0, "", `{"budget_tokens":2000,"type":"enabled"}`, 18000},
	}
	for name, test := range tests {
		model := &agentgwv1.Model{Model: "m", ThinkingBudget: 2000, MaxTokens: test.max, Temperature: proto.Float64(0.5)}
		if test.effort != "" {
			model.ThinkingBudget, model.ReasoningEffort = 0, test.effort
		}
		got, err := Codec{}.Encode(&provider.Query{
			Model: model, Transcript: test.transcript, Native: test.native, Compat: test.compat,
		})
		if err != nil {
			t.Fatal(err)
		}
		var body struct {
			MaxTokens   int      `json:"max_tokens"`
			Temperature *float64 `json:"temperature"`
			Thinking    json.RawMessage
			Output      struct{ Effort string } `json:"output_config"`
		}
		if err := json.Unmarshal(got.Body, &body); err != nil {
			t.Fatal(err)
		}
		if string(body.Thinking) != test.want || body.Temperature != nil || body.MaxTokens != test.tokens || body.Output.Effort != test.effort {
			t.Errorf("%s: got %s, want thinking %s, effort %q, %d tokens and no temperature", name, got.Body, test.want, test.effort, test.tokens)
		}
	}
}
