package usercheck_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/world"

	"github.com/google/go-cmp/cmp"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/pack"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/usercheck"
)

// scene is the instructions of a user and a conversation.
type scene struct {
	told *evaluationv1.User
	view []*worldv1.Message
}

// judgedMessage is a user's message in a scene, with a person's judgement.
type judgedMessage struct {
	scene
	line int
	said *worldv1.Message
	// broken maps each violated rule to the words that violate it, verbatim from the message or an
	// earlier one. The words are empty if the judgement does not state them.
	broken map[string]string
}

// initialScene returns the scene at the start of a scenario.
func initialScene(s *scenariov1.Scenario) scene {
	initial := scene{told: s.GetEvaluation().GetUser()}
	for _, m := range s.GetSetup().GetMessages() {
		if m.GetSender() == user || m.GetRecipient() == user {
			initial.view = append(initial.view, m)
		}
	}
	return initial
}

// catalogue returns the scenes at the start of the built-in scenarios.
func catalogue(t *testing.T) map[string]scene {
	t.Helper()
	loaded, err := pack.Load(os.DirFS(filepath.Join("..", "..", "..", "..", "packs", "phone")), pack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	scenes := make(map[string]scene, len(loaded.Scenarios))
	for _, one := range loaded.Scenarios {
		scenes[one.Scenario.GetSetup().GetName()] = initialScene(one.Scenario)
	}
	return scenes
}

// add parses a line of a scene: a field of the user, a text or a call. ok is false for another kind
// of line.
func (s *scene) add(speaker, content string) (ok bool) {
	switch speaker {
	case "wants":
		s.told.Goal = content
	case "knows":
		s.told.Knowledge = append(s.told.Knowledge, content)
	case "unknown":
		s.told.Unknown = append(s.told.Unknown, content)
	case "tools":
		s.told.Tools = strings.Split(content, ", ")
	default:
		m, spoke := parseMessage(speaker, content)
		if !spoke {
			return false
		}
		s.view = append(s.view[:len(s.view):len(s.view)], m)
	}
	return true
}

// parseMessage parses a text or a call. ok is false for another kind of line.
func parseMessage(speaker, content string) (m *worldv1.Message, ok bool) {
	switch speaker {
	case "agent":
		return message(agent, user, content), true
	case "user", "ok", "bad":
		if content == "(end)" {
			return message(user, environment, ends), true
		}
		if call, ok := strings.CutPrefix(content, "(call) "); ok {
			return parseCall(call), true
		}
		return message(user, agent, content), true
	case "calls":
		return parseCall(content), true
	case "answer":
		return message(environment, user, content), true
	}
	return nil, false
}

// parseCall parses a call of one of the user's tools, with an optional text.
func parseCall(call string) *worldv1.Message {
	tool, argument, _ := strings.Cut(call, " ")
	name := "content"
	if tool == "allow_action" {
		name = "action"
	}
	arguments := &python.Dict{}
	if argument != "" {
		arguments.Set(name, python.Str(argument))
	}
	return message(user, environment, messagetext.ComposeSource("call_1", tool, python.Repr(arguments.Value())))
}

// readLabelled reads turns written by hand, in the format of testdata/heldout.txt. A file may name
// scenarios instead of the user's fields.
func readLabelled(t *testing.T, name string) (list []judgedMessage, conversations int) {
	t.Helper()
	file := filepath.Join("testdata", name)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	known, used := catalogue(t), make(map[string]bool)
	var at scene
	for i, line := range strings.Split(string(raw), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if name, ok := strings.CutPrefix(line, "== "); ok {
			if at, ok = known[name]; !ok {
				at = scene{told: &evaluationv1.User{}}
			}
			used[name] = true
			continue
		}
		speaker, content, _ := strings.Cut(line, ":")
		content = strings.TrimPrefix(content, " ")
		if rule, ok := strings.CutPrefix(speaker, " "); ok && len(list) > 0 {
			list[len(list)-1].broken[rule] = content
			continue
		}
		if at.told == nil || len(at.view) == 0 && (speaker == "ok" || speaker == "bad") {
			t.Fatalf("%s:%d: there is no such scenario", file, i+1)
		}
		if speaker == "ok" || speaker == "bad" {
			message, _ := parseMessage(speaker, content)
			list = append(list, judgedMessage{scene: at, line: i + 1, said: message, broken: make(map[string]string)})
			continue
		}
		if !at.add(speaker, content) {
			t.Fatalf("%s:%d: got %q, want speaker: text", file, i+1, line)
		}
	}
	return list, len(used)
}

// tally counts the flags of a rule.
type tally struct{ right, wrong, missed int }

// flags is the number of flags.
func (t tally) flags() int { return t.right + t.wrong }

// precision is the share of correct flags.
func (t tally) precision() float64 { return float64(t.right) / float64(t.flags()) }

func (t tally) row(rule string) string {
	precision := "–"
	if t.flags() > 0 {
		precision = fmt.Sprintf("%.2f", t.precision())
	}
	return fmt.Sprintf("| `%s` | %d | %d | %d | %d | %s | %.2f |\n", rule, t.right+t.missed, t.right, t.wrong, t.missed,
		precision, float64(t.right)/float64(t.right+t.missed))
}

// tallies counts flags by rule.
type tallies map[string]tally

// add adds flags of a rule.
func (t tallies) add(rule string, right, wrong, missed int) {
	count := t[rule]
	t[rule] = tally{count.right + right, count.wrong + wrong, count.missed + missed}
}

// table returns a table for docs/users.md.
func (t tallies) table() string {
	table := "| rule | broken | found | wrong | missed | precision | recall |\n| -- | -- | -- | -- | -- | -- | -- |\n"
	for _, rule := range slices.Sorted(maps.Keys(t)) {
		table += t[rule].row(rule)
	}
	return table
}

// quoted reports whether evidence is verbatim in the instructions or the conversation.
func quoted(j judgedMessage, evidence string) bool {
	evidence = strings.TrimSuffix(evidence, "…")
	for _, m := range append(j.view[:len(j.view):len(j.view)], j.said) {
		if strings.Contains(messagetext.Content(m), evidence) {
			return true
		}
	}
	return strings.Contains(j.told.GetGoal(), evidence)
}

// measure adds the flags of the messages of a file. It fails the test if evidence differs from the
// judgement.
func measure(t *testing.T, name string, counts tallies) (turns, conversations int) {
	t.Helper()
	list, conversations := readLabelled(t, name)
	for _, j := range list {
		found := make(map[string]bool)
		for _, flag := range check(j.told, j.view, j.said) {
			rule, evidence := flag.GetRule(), flag.GetEvidence()
			found[rule] = true
			if want, ok := j.broken[rule]; !ok {
				counts.add(rule, 0, 1, 0)
				t.Logf("%s:%d: %q: wrong flag %s: %q", name, j.line, messagetext.Content(j.said), rule, evidence)
			} else {
				counts.add(rule, 1, 0, 0)
				if want != "" && evidence != want {
					t.Errorf("%s:%d: %s: got the evidence %q, want %q", name, j.line, rule, evidence, want)
				}
			}
			if !quoted(j, evidence) {
				t.Errorf("%s:%d: %s: got the evidence %q, want words that were said", name, j.line, rule, evidence)
			}
		}
		for rule, evidence := range j.broken {
			if !found[rule] {
				counts.add(rule, 0, 0, 1)
				t.Logf("%s:%d: %q: missed %s: %q", name, j.line, messagetext.Content(j.said), rule, evidence)
			}
		}
	}
	return len(list), conversations
}

// TestPrecision measures the rules on turns of models and on turns written by hand. docs/users.md
// contains the results. A rule needs the precision minPrecision: on models.txt, or on the turns
// written by hand if it has fewer than minFlags flags there.
func TestPrecision(t *testing.T) {
	const minPrecision, minFlags = 0.9, 5
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "users.md"))
	if err != nil {
		t.Fatal(err)
	}
	played, written := make(tallies), make(tallies)
	turns, faulty, flagged := 0, 0, 0
	rollouts := readModels(t)
	for _, r := range rollouts {
		turns += len(r.rules)
		isFaulty, isFlagged := r.measure(t, played)
		if isFaulty {
			faulty++
		}
		if isFlagged {
			flagged++
		}
	}
	paragraphs := []string{fmt.Sprintf("%d turns in %d conversations:\n\n%s", turns, len(rollouts), played.table()),
		fmt.Sprintf("%d of the %d conversations with a fault have a correct flag", flagged, faulty)}
	turns, conversations := 0, 0
	for _, name := range []string{"heldout.txt", "unseen.txt", "consents.txt"} {
		inFile, ofFile := measure(t, name, written)
		turns, conversations = turns+inFile, conversations+ofFile
	}
	paragraphs = append(paragraphs, fmt.Sprintf("%d turns in %d conversations:\n\n%s", turns, conversations, written.table()))
	for _, paragraph := range paragraphs {
		if !strings.Contains(string(page), paragraph) {
			t.Errorf("docs/users.md: got another text, want\n%s", paragraph)
		}
	}
	for _, rule := range []string{
		usercheck.Assistant, usercheck.EarlyEnd, usercheck.Invented, usercheck.Leak, usercheck.NeverEnds, usercheck.Repeats, usercheck.Unasked,
	} {
		count := played[rule]
		if count.flags() < minFlags {
			count = written[rule]
		}
		if !(count.precision() >= minPrecision) { // NaN without a flag
			t.Errorf("%s: got a precision of %.2f, want %.2f or more, or no such rule", rule, count.precision(), minPrecision)
		}
	}
}

// play follows each turn of the oracle with a turn of the user's script. It calls look with the
// messages that the user sees and sends.
func play(setup *setupv1.Setup, view []*worldv1.Message, look func(view, messages []*worldv1.Message)) {
	script := setup.GetUserScript()
	for _, turn := range setup.GetOracleScript() {
		if turn.GetSay() == "" {
			continue
		}
		view = append(view[:len(view):len(view)], message(agent, user, turn.GetSay()))
		for speaks := true; speaks && len(script) > 0; script = script[1:] {
			var messages []*worldv1.Message
			for _, call := range script[0].GetCalls() {
				arguments, _ := python.ParseJSON(call.GetArgumentsJson())
				messages = append(messages, message(user, environment, messagetext.ComposeSource("call_1", call.GetTool(), python.Repr(arguments))))
			}
			if speaks = len(messages) > 0; !speaks {
				messages = append(messages, message(user, agent, script[0].GetSay()))
			}
			look(view, messages)
			view = append(view[:len(view):len(view)], messages...)
		}
	}
}

// TestCatalogue checks the scripts of the catalogue's users. Only words of a script that are not in
// the instructions are flagged.
func TestCatalogue(t *testing.T) {
	loaded, err := pack.Load(os.DirFS(filepath.Join("..", "..", "..", "..", "packs", "phone")), pack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	turns := 0
	var got []string
	for _, one := range loaded.Scenarios {
		setup, initial := one.Scenario.GetSetup(), initialScene(one.Scenario)
		play(setup, initial.view, func(view, messages []*worldv1.Message) {
			turns++
			for _, flag := range check(initial.told, view, messages...) {
				got = append(got, setup.GetName()+": "+flag.GetRule()+": "+flag.GetEvidence())
			}
		})
	}
	slices.Sort(got)
	want := []string{"courier_put_back: invented: Sione", "kayak_lesson_after_all: invented: Leilani", "which_dollars_which_kroner: invented: Denmark"}
	if diff := cmp.Diff(want, got); diff != "" || turns < 200 {
		t.Errorf("Check: got %d turns and flags (-want +got):\n%s", turns, diff)
	}
}

// TestConfirmationVariants checks the scripts of users that consent when the oracle asks. None is
// flagged. Each is flagged if it consents earlier.
func TestConfirmationVariants(t *testing.T) {
	loaded, err := pack.Load(os.DirFS(filepath.Join("..", "..", "..", "..", "packs", "phone")), pack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var bases []*scenariov1.Scenario
	for _, one := range loaded.Scenarios {
		bases = append(bases, one.Scenario)
	}
	allowed := 0
	for _, variant := range scenario.Expand(bases, []*setupv1.ConsentTool{
		{Tool: "send_message_with_phone_number", Action: "send a text message"},
		{Tool: "remove_contact", Action: "remove a contact"}, {Tool: "remove_reminder", Action: "remove a reminder"},
	}) {
		if variant.Suffix != scenario.ConfirmationSuffix {
			continue
		}
		initial := initialScene(variant.Scenario())
		play(variant.Scenario().GetSetup(), initial.view, func(view, messages []*worldv1.Message) {
			if messages[0].GetCall().GetTool() != world.AllowTool {
				return
			}
			allowed++
			if got := flagged(initial.told, view, messages...); got != nil {
				t.Errorf("%s, asked: got %q, want no flag", variant.Name, got)
			}
			early := flagged(initial.told, append(slices.Clone(initial.view), message(agent, user, "Which one do you mean?")), messages...)
			if len(early) == 0 || !strings.HasPrefix(early[0], "unasked: ") {
				t.Errorf("%s, not asked: got %q, want the flag unasked", variant.Name, early)
			}
		})
	}
	if allowed < 20 {
		t.Errorf("got %d turns with consents, want more", allowed)
	}
}

func BenchmarkCheck(b *testing.B) {
	said := message(user, agent, "Her name is Hanna Voss, and remind me on Friday at half past nine to call +49 30 23125042, please.")
	for b.Loop() {
		check(baker(), view("What is her name?", "And what is the number?"), said)
	}
}
