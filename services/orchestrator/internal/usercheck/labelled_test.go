package usercheck_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/sandbox"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/internal/scenario"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/usercheck"
)

// judged is a message of a user as a person has judged it.
type judged struct {
	line int
	view []*worldv1.Message
	said *worldv1.Message
	// broken has the words that break each rule, as they stand in the message or before it; none if
	// it is not said which they are.
	broken map[string]string
}

// start returns the starting messages of a scenario that its user sees.
func start(setup *setupv1.Setup) []*worldv1.Message {
	var seen []*worldv1.Message
	for _, m := range setup.GetMessages() {
		if m.GetSender() == user || m.GetRecipient() == user {
			seen = append(seen, m)
		}
	}
	return seen
}

// catalogue returns the starting messages of every built-in scenario that its user sees.
func catalogue(t *testing.T) map[string][]*worldv1.Message {
	t.Helper()
	loaded, err := scenario.LoadDir(filepath.Join("..", "..", "..", "..", "scenarios"), scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string][]*worldv1.Message, len(loaded))
	for _, one := range loaded {
		seen[one.Scenario.GetSetup().GetName()] = start(one.Scenario.GetSetup())
	}
	return seen
}

// spoken reads what somebody says or calls; ok is false for another kind of line.
func spoken(speaker, content string) (m *worldv1.Message, ok bool) {
	switch speaker {
	case "agent":
		return message(agent, user, content), true
	case "user", "ok", "bad":
		if content == "(end)" {
			return message(user, environment, ends), true
		}
		return message(user, agent, content), true
	case "calls":
		tool, argument, _ := strings.Cut(content, " ")
		arguments := &python.Dict{}
		if argument != "" {
			arguments.Set("content", python.Str(argument))
		}
		return message(user, environment, sandbox.ComposeSource("call_1", tool, python.Repr(arguments.Value()))), true
	case "answer":
		return message(environment, user, content), true
	}
	return nil, false
}

// labelled reads a file in the form that testdata/labelled.txt describes.
func labelled(t *testing.T, name string) (list []judged, scenarios int) {
	t.Helper()
	file := filepath.Join("testdata", name)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	known, used := catalogue(t), make(map[string]bool)
	var view []*worldv1.Message
	for i, line := range strings.Split(string(raw), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if name, ok := strings.CutPrefix(line, "== "); ok {
			messages, there := known[name]
			if !there {
				t.Fatalf("%s:%d: there is no scenario %q", file, i+1, name)
			}
			view, used[name] = messages, true
			continue
		}
		speaker, content, _ := strings.Cut(line, ":")
		content = strings.TrimPrefix(content, " ")
		if rule, ok := strings.CutPrefix(speaker, " "); ok && len(list) > 0 {
			list[len(list)-1].broken[rule] = content
			continue
		}
		m, ok := spoken(speaker, content)
		if !ok {
			t.Fatalf("%s:%d: got %q, want speaker: text", file, i+1, line)
		}
		if speaker == "ok" || speaker == "bad" {
			list = append(list, judged{line: i + 1, view: view, said: m, broken: make(map[string]string)})
			continue
		}
		view = append(view[:len(view):len(view)], m)
	}
	return list, len(used)
}

// tally counts what a rule found.
type tally struct{ right, wrong, missed int }

func (t tally) row(rule string) string {
	share := func(part, whole int) string {
		if whole == 0 {
			return "–"
		}
		return fmt.Sprintf("%.2f", float64(part)/float64(whole))
	}
	return fmt.Sprintf("| `%s` | %d | %d | %d | %d | %s | %s |\n", rule, t.right+t.missed, t.right, t.wrong, t.missed,
		share(t.right, t.right+t.wrong), share(t.right, t.right+t.missed))
}

// quoted says whether evidence stands in what the user said or could see.
func quoted(j judged, evidence string) bool {
	evidence = strings.TrimSuffix(evidence, "…")
	for _, m := range append(j.view[:len(j.view):len(j.view)], j.said) {
		if strings.Contains(sandbox.Content(m), evidence) {
			return true
		}
	}
	return false
}

// measure counts what the rules found in the messages of a file, and fails the test where evidence
// is not as judged.
func measure(t *testing.T, name string) (table string) {
	t.Helper()
	list, scenarios := labelled(t, name)
	tallies := make(map[string]tally)
	for _, j := range list {
		found := make(map[string]bool)
		for _, flag := range usercheck.Check(j.view, []*worldv1.Message{j.said}, usercheck.Tools{}) {
			rule, evidence := flag.GetRule(), flag.GetEvidence()
			found[rule] = true
			count := tallies[rule]
			if want, ok := j.broken[rule]; !ok {
				count.wrong++
				t.Logf("%s:%d: %q: wrong flag %s: %q", name, j.line, sandbox.Content(j.said), rule, evidence)
			} else {
				count.right++
				if want != "" && evidence != want {
					t.Errorf("%s:%d: %s: got the evidence %q, want %q", name, j.line, rule, evidence, want)
				}
			}
			if !quoted(j, evidence) {
				t.Errorf("%s:%d: %s: got the evidence %q, want words that were said", name, j.line, rule, evidence)
			}
			tallies[rule] = count
		}
		for rule, evidence := range j.broken {
			if !found[rule] {
				count := tallies[rule]
				count.missed++
				tallies[rule] = count
				t.Logf("%s:%d: %q: missed %s: %q", name, j.line, sandbox.Content(j.said), rule, evidence)
			}
		}
	}
	table = fmt.Sprintf("%d messages in %d scenarios:\n\n| rule | broken | found | wrong | missed | precision | recall |\n|---|---|---|---|---|---|---|\n", len(list), scenarios)
	for _, rule := range []string{usercheck.Assistant, usercheck.EarlyEnd, usercheck.Invented, usercheck.Leak} {
		table += tallies[rule].row(rule)
	}
	return table
}

// TestMeasured measures the rules on judged messages. docs/models.md has what comes out.
func TestMeasured(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "models.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"labelled.txt", "fresh.txt", "audited.txt", "unseen.txt"} {
		table := measure(t, name)
		t.Logf("%s: %s", name, table)
		if !strings.Contains(string(page), table) {
			t.Errorf("docs/models.md: got another table, want for %s\n%s", name, table)
		}
	}
}

// play lets a user say its script after what the oracle says, and calls check with what each turn
// could see and said.
func play(setup *setupv1.Setup, view []*worldv1.Message, check func(view, said []*worldv1.Message)) {
	script := setup.GetUserScript()
	for _, turn := range setup.GetOracleScript() {
		if turn.GetSay() == "" {
			continue
		}
		view = append(view[:len(view):len(view)], message(agent, user, turn.GetSay()))
		for speaks := true; speaks && len(script) > 0; script = script[1:] {
			var said []*worldv1.Message
			for _, call := range script[0].GetCalls() {
				said = append(said, message(user, environment, sandbox.ComposeSource("call_1", call.GetTool(), python.Repr((&python.Dict{}).Value()))))
			}
			if speaks = len(said) > 0; !speaks {
				said = append(said, message(user, agent, script[0].GetSay()))
			}
			check(view, said)
			view = append(view[:len(view):len(view)], said...)
		}
	}
}

// TestCatalogue lets the users of the catalogue say what their authors wrote. Only what stands in a
// script and not in the instruction is flagged.
func TestCatalogue(t *testing.T) {
	loaded, err := scenario.LoadDir(filepath.Join("..", "..", "..", "..", "scenarios"), scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	turns := 0
	var got []string
	for _, one := range loaded {
		setup := one.Scenario.GetSetup()
		play(setup, start(setup), func(view, said []*worldv1.Message) {
			turns++
			for _, flag := range usercheck.Check(view, said, usercheck.Tools{}) {
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

func BenchmarkCheck(b *testing.B) {
	said := []*worldv1.Message{message(user, agent, "Her name is Hanna Voss, and remind me on Friday at half past nine to call +49 30 23125042, please.")}
	for b.Loop() {
		usercheck.Check(view("What is her name?", "And what is the number?"), said, usercheck.Tools{})
	}
}
