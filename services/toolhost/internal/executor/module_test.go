package executor

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/tool"
)

// TestLongSlowModuleTools checks that the steps of a pack's tools limit the search for a failing
// order.
func TestLongSlowModuleTools(t *testing.T) {
	const source = `
def slow(name: str) -> int:
    """Counts for long, and leaves a different world in every order.

    Args:
        name: Name of a contact.
    """
    for i in range(30_000):
        pass
    rows = world.rows("contact", person_id="a")
    world.update("contact", {"name": rows[0]["name"] + name}, person_id="a")
    return len(rows)
`
	catalogue, err := tool.Builtin().Extend(tool.Pack{Modules: []*setupv1.ToolModule{{Name: "slow", Source: source}}, Schema: world.Builtin()})
	if err != nil {
		t.Fatal(err)
	}
	selection, err := catalogue.Select(&setupv1.ToolSelection{})
	if err != nil {
		t.Fatal(err)
	}
	env := New(catalogue, selection)
	for _, test := range []struct {
		calls int
		want  error
	}{{1, nil}, {3, nil}, {20, ErrTooManyOrders}} {
		var texts []string
		for i := range test.calls {
			texts = append(texts, fmt.Sprintf("print(repr(slow(name='%d')))", i))
		}
		answers, _, err := env.Run(t.Context(), someWorld(), sourceMessages(texts...), agent)
		if !errors.Is(err, test.want) || err == nil && len(answers) != test.calls {
			t.Errorf("%d calls: got %d answers and %v, want %v", test.calls, len(answers), err, test.want)
		}
		for _, answer := range answers {
			if answer.Exception != "" || strings.TrimSpace(answer.Content) != "1" {
				t.Errorf("%d calls: got %q, want 1", test.calls, answer.Content)
			}
		}
	}
	// The steps of tools count for the code that calls them, and it cannot catch the limit.
	answers, _, err := env.Run(t.Context(), someWorld(), sourceMessages("while True:\n  try:\n    slow('x')\n  except BaseException:\n    print('caught')\n"), agent)
	if err != nil || len(answers) != 1 || answers[0].Content != errSteps.Error() || len(answers[0].Traces) != 3 {
		t.Errorf("code that goes on calling: got %+v and %v, want three calls and %v", answers, err, errSteps)
	}
}
