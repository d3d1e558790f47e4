package usercheck_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/usercheck"
)

// transcript reads a conversation: a line is `speaker: text`, where the speakers are wants and
// knows (which make the instruction), user, agent, calls (a tool of the user and its argument text)
// and answer (of that tool). The last line is what is checked.
func transcript(t *testing.T, text string) (view, said []*worldv1.Message) {
	t.Helper()
	instruction := "You play a person who uses their phone.\n- Write as people write to an assistant: short and plain.\n"
	knows := false
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		speaker, content, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			t.Fatalf("line %q: expected speaker: text", line)
		}
		var m *worldv1.Message
		switch speaker {
		case "wants":
			instruction += "\nWhat you want: " + content
		case "knows":
			if !knows {
				instruction += "\nWhat you know:"
			}
			knows = true
			instruction += "\n- " + content
		default:
			if m, ok = spoken(speaker, content); !ok {
				t.Fatalf("line %q: unknown speaker", line)
			}
		}
		if m != nil {
			view = append(view, m)
		}
	}
	last := len(view) - 1
	return append([]*worldv1.Message{message(system, user, instruction)}, view[:last]...), view[last:]
}

// TestTranscripts checks realistic conversations: kept.txt holds what must not be flagged,
// broken.txt what must, and as what.
func TestTranscripts(t *testing.T) {
	for _, file := range []string{"kept.txt", "broken.txt"} {
		raw, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		cases := strings.Split(string(raw), "\n== ")[1:]
		if len(cases) == 0 {
			t.Fatalf("%s: got no case, want some", file)
		}
		for _, text := range cases {
			name, text, _ := strings.Cut(text, "\n")
			text, flag, flagged := strings.Cut(text, "\nflag: ")
			if flagged != (file == "broken.txt") {
				t.Fatalf("%s: %s: got a flag: %t, want the other", file, name, flagged)
			}
			t.Run(file+"/"+name, func(t *testing.T) {
				var got, want []string
				told, said := transcript(t, text)
				for _, found := range usercheck.Check(told, said, usercheck.Tools{}) {
					got = append(got, found.GetRule()+": "+found.GetEvidence())
				}
				if flagged {
					want = []string{strings.TrimSpace(flag)}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("Check (-want +got):\n%s", diff)
				}
			})
		}
	}
}
