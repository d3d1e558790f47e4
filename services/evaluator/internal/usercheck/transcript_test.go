package usercheck_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/usercheck"
)

// transcript parses a conversation with lines of `speaker: text`. testdata/heldout.txt describes
// the speakers. The last line is checked.
func transcript(t *testing.T, text string) scene {
	t.Helper()
	s := scene{told: &evaluationv1.User{}}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		speaker, content, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || !s.add(speaker, content) {
			t.Fatalf("line %q: got no speaker: text", line)
		}
	}
	return s
}

// TestTranscripts checks realistic conversations. kept.txt contains messages that must not be
// flagged, broken.txt messages that must be flagged by a rule.
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
				s := transcript(t, text)
				for _, found := range usercheck.Check(s.told, s.view, len(s.view)-1) {
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
