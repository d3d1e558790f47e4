package usercheck_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/original/row/rowtest"

	"github.com/google/go-cmp/cmp"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/usercheck"
)

const (
	user        = worldv1.Role_ROLE_USER
	agent       = worldv1.Role_ROLE_AGENT
	environment = worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
)

func message(sender, recipient worldv1.Role, content string) *worldv1.Message {
	return rowtest.Message(sender, recipient, content)
}

// baker returns the knowledge of a user with a new number of Emil.
func baker() *evaluationv1.User {
	return &evaluationv1.User{
		Goal:      "Have the number of your old baker Emil Sand changed before the shop opens on Friday morning.",
		Knowledge: []string{"The new number is 030 23125042, his shop is in Berlin."},
	}
}

// check returns the flags of messages after a conversation.
func check(userSpec *evaluationv1.User, view []*worldv1.Message, messages ...*worldv1.Message) []*busv1.UserFlag {
	return usercheck.Check(userSpec, slices.Concat(view, messages), len(view))
}

// TestShownResults checks a user that repeats a number from a result: it is no invention if the
// user sees results.
func TestShownResults(t *testing.T) {
	result := message(environment, agent, "{'phone_number': '+15550100777'}")
	result.VisibleTo = []worldv1.Role{environment, agent}
	for shown, want := range map[worldv1.ShownToolUse]int{
		worldv1.ShownToolUse_SHOWN_TOOL_USE_UNSPECIFIED: 1, worldv1.ShownToolUse_SHOWN_TOOL_USE_CALLS: 1, worldv1.ShownToolUse_SHOWN_TOOL_USE_RESULTS: 0,
	} {
		told := baker()
		told.Shown = shown
		said := slices.Concat(view("Let me look."), []*worldv1.Message{result}, []*worldv1.Message{message(agent, user, "I found him.")})
		if flags := check(told, said, message(user, agent, "His number is +15550100777 at the moment.")); len(flags) != want {
			t.Errorf("%v: got %v, want %d flags", shown, flags, want)
		}
	}
}

// view returns the baker's conversation, followed by texts of the agent.
func view(agentSaid ...string) []*worldv1.Message {
	shown := message(user, agent, "My dog Rex is three, call 5559")
	shown.VisibleTo = []worldv1.Role{user}
	messages := []*worldv1.Message{
		shown,
		message(user, agent, "My baker has a new number."),
	}
	for _, text := range agentSaid {
		messages = append(messages, message(agent, user, text))
	}
	return messages
}

const ends = "call_1_parameters = {}\ncall_1_response = end_conversation(**call_1_parameters)\nprint(repr(call_1_response))"

func TestCheck(t *testing.T) {
	asked := []string{"What is the new number?"}
	tests := map[string]struct {
		agent []string
		said  string
		want  []string // rule: evidence
	}{
		"answers":                    {asked, "It's 030-2312 5042, in Berlin.", nil},
		"answers with a part":        {asked, "It ends in 5042.", nil},
		"says a name it knows":       {asked, "Ask Emil, or Emil Sand's shop in Berlin", nil},
		"repeats the agent":          {[]string{"I found Emil Sand and Tor Lie at 4711, which one?"}, "Not Tor, and not 4711!", nil},
		"begins sentences":           {asked, "Well. Sure! Okay: Fine", nil},
		"a single digit":             {asked, "Give me 5 minutes", nil},
		"invents a number":           {asked, "It's 030 9999999.", []string{"invented: 030 9999999"}},
		"invents a name":             {asked, "It is the number of Gisela.", []string{"invented: Gisela"}},
		"invents an address":         {asked, "write to emil@bread.example", []string{"invented: emil@bread.example"}},
		"knows from a demonstration": {asked, "my dog is called Rex", []string{"invented: Rex"}},
		"leaks": {asked, "I want to have the number of your old baker Emil Sand changed before the shop opens",
			[]string{"leak: have the number of your old baker Emil Sand changed before the shop opens"}},
		"repeats what was said":  {[]string{"So you want to have the number of your old baker Emil Sand changed before the shop opens?"}, "Yes, have the number of your old baker Emil Sand changed before the shop opens", nil},
		"acts as assistant":      {asked, "Sure, how can I help you today?", []string{"assistant: how can I help you"}},
		"reports as assistant":   {asked, "I've updated the contact.", []string{"assistant: I've updated the contact"}},
		"writes a call as text":  {asked, "end_conversation()", []string{"assistant: end_conversation"}},
		"two at once":            {asked, "How may I assist? Call Gisela", []string{"assistant: How may I assist", "invented: Gisela"}},
		"ends after an answer":   {[]string{"Done."}, ends, nil},
		"ends after an offer":    {[]string{"Done. Is there anything else I can do for you?"}, ends, nil},
		"ends at a question":     {asked, ends, []string{"early_end: What is the new number?"}},
		"ends before any answer": {nil, ends, []string{"early_end: My baker has a new number."}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			recipient := agent
			if test.said == ends {
				recipient = environment
			}
			said := message(user, recipient, test.said)
			said.Index = 9
			var got []string
			for _, flag := range check(baker(), view(test.agent...), said) {
				if flag.GetIndex() != 9 {
					t.Errorf("index: got %d, want 9", flag.GetIndex())
				}
				got = append(got, flag.GetRule()+": "+flag.GetEvidence())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("Check(%q) (-want +got):\n%s", test.said, diff)
			}
		})
	}
}

// TestEarlyEndCountsOnce checks repeated attempts to end early, in one turn and after a failed
// call. Only the first early one counts.
func TestEarlyEndCountsOnce(t *testing.T) {
	end, failed := message(user, environment, ends), message(environment, user, "TypeError: no such argument")
	for name, test := range map[string]struct {
		view []*worldv1.Message
		said []*worldv1.Message
		want []string
	}{
		"three times in one go":             {view("Who?"), []*worldv1.Message{end, end, end}, []string{"early_end: Who?"}},
		"again after it failed":             {append(view("Who?"), end, failed), []*worldv1.Message{end}, []string{"early_end: Who?"}},
		"again when the agent went on":      {append(view("Who?"), end, failed, message(agent, user, "Which number?")), []*worldv1.Message{end}, []string{"early_end: Who?"}},
		"early after it failed at its time": {append(view("Done."), end, failed, message(agent, user, "Which number?")), []*worldv1.Message{end}, []string{"early_end: Which number?"}},
		"three times at its time":           {view("Done."), []*worldv1.Message{end, end, end}, nil},
	} {
		var got []string
		for _, flag := range usercheck.Check(baker(), slices.Concat(test.view, test.said), len(view())) {
			got = append(got, flag.GetRule()+": "+flag.GetEvidence())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestFlagsAreBounded checks that a trajectory has at most MaxFlags flags.
func TestFlagsAreBounded(t *testing.T) {
	messages := slices.Repeat([]*worldv1.Message{message(user, agent, "How can I help you?")}, 2*usercheck.MaxFlags)
	if got := len(check(baker(), view("Who?"), messages...)); got != usercheck.MaxFlags {
		t.Errorf("Check: got %d flags, want %d", got, usercheck.MaxFlags)
	}
}

func TestEvidenceIsBounded(t *testing.T) {
	asked := strings.Repeat("ä", 500) + "?"
	flags := check(baker(), view(asked), message(user, environment, ends))
	if len(flags) != 1 || len(flags[0].GetEvidence()) > 210 {
		t.Errorf("Check: got %v, want one flag with at most 210 bytes of evidence", flags)
	}
}

// patience is more than linear work takes on a busy machine, and far less than quadratic work.
const patience = time.Minute

// TestHugeMessages checks the time for messages of unrealistic size, because a scorer waits for the
// rules.
func TestHugeMessages(t *testing.T) {
	for name, text := range map[string]string{
		"numbers": strings.Repeat("at 1 ", 1<<18), "names": strings.Repeat("a Emil ", 1<<18), "words": strings.Repeat("the new number is ", 1<<16), "blanks": strings.Repeat(" ", 1<<20),
		"digits": strings.Repeat("1 ", 1<<19), "questions": strings.Repeat("one? ", 1<<18),
		"times": strings.Repeat("five to ", 1<<17), "letters": strings.Repeat("Zürich ", 1<<17), "doubles": strings.Repeat("double ", 1<<17), "amounts": strings.Repeat("about 12.5 ", 1<<16),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			check(baker(), view(text, text), message(user, agent, text), message(user, environment, ends))
			if took := time.Since(start); took > patience {
				t.Errorf("Check: got %v for 1 MB, want less than a minute", took)
			}
		})
	}
}

// TestHugeTrajectory checks a conversation of the maximum size, 4 MiB. Only the first 512 KiB are
// read.
func TestHugeTrajectory(t *testing.T) {
	var messages []*worldv1.Message
	for i := range 256 {
		words := fmt.Sprintf("The baker is 030%d.", 1000+i) + strings.Repeat(" ", 16<<10)
		messages = append(messages, message(user, agent, words), message(agent, user, words))
	}
	if got := len(check(baker(), view("Who?"), messages...)); got == 0 || got > 36 {
		t.Errorf("Check: got %d flags, want one for each of the user's messages that are read", got)
	}
}

// TestHugeCall checks the time for a call with very many arguments.
func TestHugeCall(t *testing.T) {
	list := make([]python.Value, 1<<16)
	for i := range list {
		list[i] = python.DictOf(python.Item{Key: "name", Value: python.Str("Emil")}, python.Item{Key: "at", Value: python.Int(int64(i % 10))})
	}
	source := messagetext.ComposeSource("call_1", "send_message", python.Repr(python.DictOf(python.Item{Key: "to", Value: python.List(list...)})))
	start := time.Now()
	userSpec := baker()
	userSpec.Tools = []string{"send_message"}
	flags := check(userSpec, view("Done."), message(user, environment, source))
	if took := time.Since(start); took > patience || len(flags) > 0 {
		t.Errorf("Check: got %v and %v for %d MB, want no flag in less than a minute", flags, took, len(source)>>20)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("What?", "It's 030-2312 5042")
	f.Add("", ends)
	f.Fuzz(func(t *testing.T, asked, text string) {
		for _, recipient := range []worldv1.Role{agent, environment} {
			first := check(baker(), view(asked), message(user, recipient, text))
			seen := make(map[string]bool)
			for _, flag := range first {
				if seen[flag.GetRule()] {
					t.Errorf("Check(%q): got %v, want at most one flag of each rule", text, first)
				}
				seen[flag.GetRule()] = true
			}
		}
	})
}
