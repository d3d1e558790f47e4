package results

import (
	"os"
	"strings"
	"testing"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// TestCauseWords finds a sentence and a line of docs/scoring.md for every kind of causes.
func TestCauseWords(t *testing.T) {
	page, err := os.ReadFile("../../docs/scoring.md")
	if err != nil {
		t.Fatal(err)
	}
	for number := range busv1.CauseKind_name {
		kind := busv1.CauseKind(number)
		if kind == busv1.CauseKind_CAUSE_KIND_UNSPECIFIED {
			continue
		}
		cause := Cause{Kind: CauseName(kind)}
		if !cause.Is(kind) || cause.Sentence() == cause.Kind {
			t.Errorf("%v has no sentence", kind)
		}
		if !strings.Contains(string(page), "`"+cause.Kind+"`") {
			t.Errorf("docs/scoring.md does not explain %s", cause.Kind)
		}
	}
	if got := (Cause{Kind: "of_later"}).Sentence(); got != "of_later" {
		t.Errorf("sentence of an unknown kind: got %q, want its name", got)
	}
}
