package usercheck_test

import (
	"slices"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"

	"github.com/google/go-cmp/cmp"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// viewWithDemonstration returns view after a demonstration in which the user calls its own tool and
// ends after a question.
func viewWithDemonstration(agentSaid ...string) []*worldv1.Message {
	arguments := python.DictOf(python.Item{Key: "content", Value: python.Str("Gisela waits at 5551234")})
	shown := []*worldv1.Message{
		message(user, environment, messagetext.ComposeSource("example_1", "send_message", python.Repr(arguments))),
		message(environment, user, "'Rosalind got it'"),
		message(agent, user, "I have bread, is that all?"),
		message(user, environment, "end_conversation()"),
	}
	for _, m := range shown {
		m.VisibleTo = []worldv1.Role{user}
	}
	return slices.Concat(shown, view(agentSaid...))
}

// TestDemonstrationCalls checks that calls of a demonstration are not flagged, add no knowledge and
// change no rule.
func TestDemonstrationCalls(t *testing.T) {
	for name, test := range map[string]struct {
		agent []string
		said  string
		want  []string
	}{
		"answers":                    {[]string{"What is the new number?"}, "It's 030-2312 5042, in Berlin.", nil},
		"knows from the call":        {[]string{"Who?"}, "ask Gisela", []string{"invented: Gisela"}},
		"knows a number of the call": {[]string{"Who?"}, "call 5551234", []string{"invented: 5551234"}},
		"knows from the answer":      {[]string{"Who?"}, "it was Rosalind", []string{"invented: Rosalind"}},
		"has no tools":               {[]string{"Who?"}, "I've updated the contact.", []string{"assistant: I've updated the contact"}},
		"ends before any answer":     {nil, ends, []string{"early_end: My baker has a new number."}},
		"ends after an answer":       {[]string{"Done."}, ends, nil},
	} {
		t.Run(name, func(t *testing.T) {
			recipient := agent
			if test.said == ends {
				recipient = environment
			}
			var got []string
			for _, flag := range check(baker(), viewWithDemonstration(test.agent...), message(user, recipient, test.said)) {
				got = append(got, flag.GetRule()+": "+flag.GetEvidence())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("Check(%q) (-want +got):\n%s", test.said, diff)
			}
		})
	}
}
