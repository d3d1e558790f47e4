package usercheck_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"

	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/usercheck"
)

// rollout is a conversation of a model as the user, with a reader's judgement of each turn.
type rollout struct {
	scene
	name  string
	from  int                     // the number of starting messages
	rules map[int]map[string]bool // the rules that a message breaks, by its position
}

// oncePerRollout are the rules that flag a conversation at most once.
var oncePerRollout = []string{usercheck.EarlyEnd, usercheck.Repeats, usercheck.NeverEnds}

// readModels reads testdata/models.txt.
func readModels(t *testing.T) (list []rollout) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "models.txt"))
	if err != nil {
		t.Fatal(err)
	}
	known := catalogue(t)
	for i, line := range strings.Split(string(raw), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if name, ok := strings.CutPrefix(line, "== "); ok {
			scenarioName, _, _ := strings.Cut(name, ", ")
			one := rollout{scene: known[scenarioName], name: name, rules: make(map[int]map[string]bool)}
			if one.told == nil {
				t.Fatalf("models.txt:%d: there is no such scenario", i+1)
			}
			one.from = len(one.view)
			list = append(list, one)
			continue
		}
		at := &list[len(list)-1]
		if rules, ok := strings.CutPrefix(line, " "); ok {
			for rule := range strings.SplitSeq(rules, " ") {
				at.rules[len(at.view)-1][rule] = true
			}
			continue
		}
		speaker, content, _ := strings.Cut(line, ":")
		content = strings.TrimPrefix(content, " ")
		if speaker == "works" {
			at.view = append(at.view[:len(at.view):len(at.view)], message(agent, environment, "print(1)"))
			continue
		}
		if !at.add(speaker, strings.ReplaceAll(content, `\n`, "\n")) {
			t.Fatalf("models.txt:%d: got %q, want speaker: text", i+1, line)
		}
		if speaker == "user" {
			at.rules[len(at.view)-1] = make(map[string]bool)
		}
	}
	return list
}

// flags returns the rules that the check flags, by position of the message.
func (r rollout) flags() map[int][]string {
	for i, m := range r.view[r.from:] {
		m.Index = int32(r.from + i)
	}
	found := make(map[int][]string)
	for _, flag := range usercheck.Check(r.told, r.view, r.from) {
		found[int(flag.GetIndex())] = append(found[int(flag.GetIndex())], flag.GetRule())
	}
	return found
}

// measure adds the flags of the conversation. A rule that flags a conversation once is missed if
// none of its turns is flagged correctly. It returns whether the user has made a fault, and whether
// one is flagged. One has to be if the user is useless: it never ends and breaks another rule.
func (r rollout) measure(t *testing.T, counts tallies) (faulty, flagged bool) {
	t.Helper()
	found, right := r.flags(), make(map[string]bool)
	for at, rules := range found {
		for _, rule := range rules {
			if r.rules[at][rule] {
				right[rule] = true
				counts.add(rule, 1, 0, 0)
				continue
			}
			counts.add(rule, 0, 1, 0)
			t.Logf("%s: %q: wrong flag %s", r.name, messagetext.Content(r.view[at]), rule)
		}
	}
	broken, missed := make(map[string]bool), make(map[string]bool)
	for at, rules := range r.rules {
		for rule := range rules {
			broken[rule] = true
			once := slices.Contains(oncePerRollout, rule)
			if slices.Contains(found[at], rule) || once && (right[rule] || missed[rule]) {
				continue
			}
			missed[rule] = true
			counts.add(rule, 0, 0, 1)
			t.Logf("%s: %q: missed %s", r.name, messagetext.Content(r.view[at]), rule)
		}
	}
	if broken[usercheck.NeverEnds] && len(broken) > 1 && len(right) == 0 {
		t.Errorf("%s: got no correct flag, want one of a useless user", r.name)
	}
	return len(broken) > 0, len(right) > 0
}
