package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

func TestWriteProbe(t *testing.T) {
	for _, test := range []struct {
		found *agentgwv1.ProbePlayerResponse
		want  string
	}{
		{
			&agentgwv1.ProbePlayerResponse{
				Tools: agentgwv1.ProbePlayerResponse_TOOLS_REACH, ToolsReason: "151 prompt tokens with a tool, 43 without",
				Calls: agentgwv1.ProbePlayerResponse_CALLS_TEXT, CallsReason: "\"x\x1b[2J\"", Slots: 4, ContextTokens: 8192, TokensPerSecond: 35.24,
				Seed: agentgwv1.ProbePlayerResponse_SETTING_KEPT, Temperature: agentgwv1.ProbePlayerResponse_SETTING_UNSENT,
				Requests: 4, Usage: &agentgwv1.Usage{InputTokens: 300, OutputTokens: 12},
			},
			`probe of --agent openai:m: 4 requests, 312 tokens
  tools reach the model  yes: 151 prompt tokens with a tool, 43 without
  calls come back        as text: "x\u001b[2J"
  slots                  4
  context                8192 tokens
  speed                  35.2 tokens a second
  seed                   kept
  temperature            not sent to this model
`,
		},
		{
			&agentgwv1.ProbePlayerResponse{
				Tools: agentgwv1.ProbePlayerResponse_TOOLS_DROPPED, Seed: agentgwv1.ProbePlayerResponse_SETTING_DIFFERS,
				Temperature: agentgwv1.ProbePlayerResponse_SETTING_REFUSED, Requests: 2, Problem: "HTTP 429: slow down",
			},
			`probe of --agent openai:m: 2 requests
  tools reach the model  no
  calls come back        not known
  slots                  not known
  context                not known
  speed                  not known
  seed                   not kept: equal requests had different answers
  temperature            the server refuses it
  not asked further      HTTP 429: slow down
`,
		},
		{
			&agentgwv1.ProbePlayerResponse{Requests: 1, Problem: "HTTP 401: bad key"},
			"--agent openai:m could not be probed: HTTP 401: bad key\n",
		},
	} {
		var out strings.Builder
		if err := WriteProbe(&out, "--agent openai:m", results.NewProbe(test.found)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, out.String()); diff != "" {
			t.Errorf("probe (-want +got):\n%s", diff)
		}
	}
}
