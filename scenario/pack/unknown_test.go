package pack

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	"github.com/toolsandbox/toolsandbox/scenario"
)

func TestUnknown(t *testing.T) {
	t.Parallel()
	const goal = "goal: Wifi off."
	for _, c := range []struct {
		name, given, want  string
		knowledge, unknown []string
	}{
		{"alone", goal + "\n  unknown: [her name]", "\nWhat you know:\n- You do not know her name.", nil, []string{"her name"}},
		{"beside what is known", goal + "\n  unknown: [where you are., his name]\n  knowledge: [You are tired.]",
			"\nWhat you know:\n- You are tired.\n- You do not know where you are.\n- You do not know his name.",
			[]string{"You are tired."}, []string{"where you are.", "his name"}},
		{"a text alone", goal + "\n  unknown: her name", "\nWhat you know:\n- You do not know her name.", nil, []string{"her name"}},
		{"nothing", goal + "\n  unknown: []", "\nWhat you want: Wifi off.", nil, nil},
	} {
		loaded, err := readPack(files(edit(t, testScenario, goal, c.given), testWorld), scenario.Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		told := ""
		for _, m := range loaded[0].Scenario.GetSetup().GetMessages() {
			if strings.Contains(m.GetText(), goalTitle) {
				told = m.GetText()
			}
		}
		if !strings.HasSuffix(told, c.want) {
			t.Errorf("%s: the user is told\n%s\nwant it to end in\n%s", c.name, told, c.want)
		}
		want := &evaluationv1.User{Goal: "Wifi off.", Knowledge: c.knowledge, Unknown: c.unknown}
		if diff := cmp.Diff(want, loaded[0].Scenario.GetEvaluation().GetUser(), protocmp.Transform()); diff != "" {
			t.Errorf("%s: the evaluator's user (-want +got):\n%s", c.name, diff)
		}
	}
	checkErrors(t, files(edit(t, testScenario, goal, goal+"\n  unknown: 5\n  script: {say: Hi.}"), testWorld), []string{
		"a.yaml:7:14: one.user.unknown: is a number, expected a text or a list (quote it)",
		"a.yaml:8:13: one.user.script: is a mapping, expected a text or a list",
	})
	checkErrors(t, files(edit(t, testScenario, goal, goal+"\n  unknown: [5]"), testWorld),
		[]string{"a.yaml:7:15: one.user.unknown[0]: is a number, expected a text (quote it)"})
}
