package tools

import (
	"context"
	"testing"

	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
)

// TestNumbers checks that numbers of rows and arguments keep their digits and their type.
func TestNumbers(t *testing.T) {
	type note struct {
		Any    any `json:"any"`
		Hidden int `json:"-"`
	}
	echo := New("echo", "Echoes.", func(_ context.Context, call *Call, a note) (any, error) {
		call.Add("note", Row{"copy": call.Rows["note"][0]["pages"]})
		return a.Any, nil
	})
	if want := `{"type":"object","properties":{"any":{}},"required":["any"]}`; echo.declared.GetParametersJson() != want {
		t.Errorf("schema: got %s, want %s", echo.declared.GetParametersJson(), want)
	}
	s := &server{tools: map[string]Tool{"echo": echo}}
	for _, number := range []string{"9007199254740993", "1.0", "1", "-0.0", "18446744073709551616"} {
		answer, err := s.Call(t.Context(), &toolsv1.CallRequest{
			Tool: "echo", ArgumentsJson: `{"any": [` + number + `]}`, RowsJson: `{"note": [{"pages": ` + number + `}]}`,
		})
		if err != nil || answer.GetValueJson() != "["+number+"]" || len(answer.GetChanges()) != 1 || answer.GetChanges()[0].GetAddJson() != `{"copy":`+number+`}` {
			t.Errorf("%s: got %v and %v, want the same number", number, answer, err)
		}
	}
}
