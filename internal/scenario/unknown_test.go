package scenario

import (
	"strings"
	"testing"
)

func TestUnknown(t *testing.T) {
	t.Parallel()
	const goal = "goal: Wifi off."
	for _, c := range []struct{ name, given, want string }{
		{"alone", goal + "\n  unknown: [her name]", "\nWhat you know:\n- You do not know her name."},
		{"beside what is known", goal + "\n  unknown: [where you are., his name]\n  knowledge: [You are tired.]",
			"\nWhat you know:\n- You are tired.\n- You do not know where you are.\n- You do not know his name."},
		{"nothing", goal + "\n  unknown: []", "\nWhat you want: Wifi off."},
	} {
		loaded, err := Load(files(edit(t, testScenario, goal, c.given), testWorld), Options{})
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
	}
	checkErrors(t, files(edit(t, testScenario, goal, goal+"\n  unknown: [5]"), testWorld),
		[]string{"a.yaml:7:13: user.unknown[0]: is a number, expected a text (quote it)"})
}
