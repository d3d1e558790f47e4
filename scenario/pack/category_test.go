package pack

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/scenario"
)

func TestDerivedCategories(t *testing.T) {
	t.Parallel()
	const again, another = "  says: Wifi off!\n  script: [{say: Well?}]", "oracle:\n  - calls: [{tool: add_contact}]\n"
	for _, c := range []struct{ name, given, says, oracle, want string }{
		{"all", "", "", "", "SINGLE_TOOL_CALL SINGLE_USER_TURN"},
		{"several of each", "categories: [COREFERENCE]\n", again, another, "COREFERENCE MULTIPLE_TOOL_CALL MULTIPLE_USER_TURN"},
		{"given ones stay", "categories: [MULTIPLE_USER_TURN, MULTIPLE_TOOL_CALL]\n", "", "", "MULTIPLE_USER_TURN MULTIPLE_TOOL_CALL"},
		{"insufficient", "categories: [INSUFFICIENT_INFORMATION]\n", "", another, "INSUFFICIENT_INFORMATION SINGLE_USER_TURN"},
	} {
		text := edit(t, testScenario, "categories: [SINGLE_TOOL_CALL]\n", c.given)
		if c.says != "" {
			text = edit(t, text, "  says: Wifi off!", c.says)
		}
		if c.oracle != "" {
			text = edit(t, edit(t, text, "extra_tools: [set", "extra_tools: [add_contact, set"), "oracle:\n", c.oracle)
		}
		loaded, err := readPack(files(text, testWorld), scenario.Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want+" NO_DISTRACTION_TOOLS", strings.Join(loaded[0].Scenario.GetSetup().GetCategories(), " ")); diff != "" {
			t.Errorf("%s: categories (-want +got):\n%s", c.name, diff)
		}
	}
}
