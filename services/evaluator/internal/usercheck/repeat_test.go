package usercheck_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/usercheck"
)

// TestDialogue checks users that repeat themselves or never end. A line of a conversation is a text
// of the agent, of the user after a colon, a call of the agent, or the user's end.
func TestDialogue(t *testing.T) {
	talk := []string{"Done.", ": Fine, thanks.", "You're welcome.", ": Have a nice day.", "You too.", ": Bye then."}
	for name, test := range map[string]struct {
		lines []string
		want  []string
	}{
		"repeats its first text":          {[]string{"I can't.", ": My baker has a new number."}, []string{"repeats: My baker has a new number."}},
		"repeats with another word":       {[]string{"I can't.", ": So my baker has a new number!"}, []string{"repeats: So my baker has a new number!"}},
		"repeats after a closing":         {[]string{"Done. Anything else?", ": My baker has a new number."}, []string{"repeats: My baker has a new number."}},
		"repeats once":                    {[]string{"I can't.", ": My baker has a new number.", "I can't.", ": My baker has a new number."}, []string{"repeats: My baker has a new number."}},
		"answers the same":                {[]string{"Who has what?", ": My baker has a new number."}, nil},
		"says the same while it works":    {[]string{"Just a moment.", ": My baker has a new number."}, nil},
		"says something else":             {[]string{"I can't.", ": My baker is called Emil."}, nil},
		"acknowledges again":              {[]string{"I found him.", ": Okay.", "call", "I changed it.", ": Okay."}, nil},
		"acknowledges the same":           {[]string{"I can't.", ": Okay.", "I can't.", ": Okay."}, []string{"repeats: Okay."}},
		"never ends":                      {append(slices.Clone(talk), "Bye.", ": See you."), []string{"never_ends: See you."}},
		"ends":                            {append(slices.Clone(talk), "Bye.", ": See you.", "end"), nil},
		"might end soon":                  {talk, nil},
		"goes on with an agent that does": {append(slices.Clone(talk), "call", "Changed again.", ": See you."), nil},
		"goes on with an agent that asks": {append(slices.Clone(talk), "Which one?", ": The old one."), nil},
	} {
		t.Run(name, func(t *testing.T) {
			var messages []*worldv1.Message
			for _, line := range test.lines {
				switch text, isUser := strings.CutPrefix(line, ": "); {
				case isUser:
					messages = append(messages, message(user, agent, text))
				case line == "call":
					messages = append(messages, message(agent, environment, "print(1)"))
				case line == "end":
					messages = append(messages, message(user, environment, ends))
				default:
					messages = append(messages, message(agent, user, text))
				}
			}
			if diff := cmp.Diff(test.want, flagged(baker(), view(), messages...)); diff != "" {
				t.Errorf("Check (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNeverEndsBeforeTheCheck checks that a text before the checked messages is not flagged.
func TestNeverEndsBeforeTheCheck(t *testing.T) {
	messages := view()
	for range 5 {
		messages = append(messages, message(agent, user, "Done."), message(user, agent, "Okay."))
	}
	if got := usercheck.Check(baker(), messages, len(messages)); got != nil {
		t.Errorf("Check: got %v, want no flag", got)
	}
}
