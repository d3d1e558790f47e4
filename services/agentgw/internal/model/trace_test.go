package model

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

// TestDescribeAnswer reads the model and the finish reasons of each provider's form, and nothing of
// what is none of them.
func TestDescribeAnswer(t *testing.T) {
	for body, want := range map[string][]any{
		`{"model": "m", "choices": [{"finish_reason": "stop"}, {"finish_reason": "length"}]}`: {"m", []string{"stop", "length"}},
		`{"model": "m", "stop_reason": "end_turn"}`:                                           {"m", []string{"end_turn"}},
		`{"modelVersion": "m", "candidates": [{"finishReason": "STOP"}]}`:                     {"m", []string{"STOP"}},
		`{"finish_reason": "COMPLETE"}`:                                                       {nil, []string{"COMPLETE"}},
		`{"model": "m", "status": "completed"}`:                                               {"m", []string{"completed"}},
		`{"choices": 3}`:                                                                      {nil, nil},
		`data: {}`:                                                                            {nil, nil},
		``:                                                                                    {nil, nil},
	} {
		got := []any{nil, nil}
		for _, a := range describeAnswer([]byte(body)) {
			at := 1
			if a.Value.Type() == attribute.STRING {
				at = 0
			}
			got[at] = a.Value.AsInterface()
		}
		if want[1] == nil {
			want = []any{want[0], nil}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
}

// TestErrorType names failures without their texts.
func TestErrorType(t *testing.T) {
	for want, err := range map[string]error{
		"":          nil,
		"429":       &provider.Failure{Status: 429, Detail: "secret"},
		"timeout":   &provider.Failure{Timeout: true, Network: true},
		"network":   &provider.Failure{Network: true},
		"context":   &provider.Failure{ContextOverflow: true},
		"refused":   &provider.Failure{Refusal: "secret"},
		"answer":    &provider.Failure{Detail: "secret"},
		"cancelled": errors.Join(context.Canceled),
	} {
		if got := errorType(err); got != want {
			t.Errorf("%v: got %q, want %q", err, got, want)
		}
	}
}
