package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/runs/results"
)

func caused(score float64, causes ...results.Cause) results.CausedScore {
	return results.CausedScore{Score: score, Causes: causes}
}

// writeCauses returns the table of causes of scored rollouts and of others, all but one of which
// have no score because of the user.
func writeCauses(t *testing.T, scores []results.CausedScore, unscored int) string {
	t.Helper()
	var out strings.Builder
	if err := WriteCauses(&out, results.CountCauses(slices.Values(scores), len(scores)+unscored, max(unscored-1, 0))); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
			t.Errorf("%q has %d columns, want at most 80", line, n)
		}
	}
	return out.String()
}

func TestWriteCauses(t *testing.T) {
	text := results.Cause{Kind: "call_as_text", Count: 3, Detail: "set_wifi_status"}
	refused := func(detail string) results.Cause { return results.Cause{Kind: "refused", Count: 1, Detail: detail} }
	failed := func(detail string) results.Cause { return results.Cause{Kind: "tool_error", Count: 2, Detail: detail} }
	left := results.Cause{Kind: "early_end", User: true, Count: 1}
	scores := []results.CausedScore{
		caused(0, text, failed("ValueError")), caused(0.5, failed("ValueError")), caused(1), caused(1, failed("polars.exceptions.NoDataError\x1b[2J")),
		caused(0, refused("refusal: I can't."), left, results.Cause{Kind: "refused", User: true, Count: 1, Detail: "SAFETY"}), caused(0, refused("refusal: I won't."), left),
	}
	want := `
 cause                                 rollouts  times  score with  without 
────────────────────────────────────────────────────────────────────────────
 refused: refusal                             2      2       0.000    0.625 
 tool error: ValueError                       2      4       0.250    0.500 
 call as text                                 1      3       0.000    0.500 
 tool error: polars.exceptions.NoDat…         1      2       1.000    0.300 
3 texts look like calls: is the server's tool parser on?

 the simulated user's fault  rollouts  times  score with  without 
──────────────────────────────────────────────────────────────────
 early end                          2      2       0.000    0.625 
 refused: SAFETY                    1      1       0.000    0.500 
agent's mean 0.417, n 6; without the rollouts whose user failed 0.625, n 4
2 of 8 rollouts have no score and are missing here, 1 for the user's fault
`
	if diff := cmp.Diff(want, writeCauses(t, scores, 2)); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
}

// TestWriteNoCauses prints nothing about full scores, scores without causes and no scores, and a
// mean of nothing where every user failed.
func TestWriteNoCauses(t *testing.T) {
	left := results.Cause{Kind: "early_end", User: true, Count: 1}
	for name, scores := range map[string][]results.CausedScore{"full": {caused(1, left)}, "no causes": {caused(0)}, "no scores": nil} {
		if got := writeCauses(t, scores, 2); got != "" {
			t.Errorf("%s: got %q, want nothing", name, got)
		}
	}
	want := "agent's mean 0.000, n 1; without the rollouts whose user failed –, n 0\n"
	if got := writeCauses(t, []results.CausedScore{caused(0, left)}, 0); !strings.HasSuffix(got, want) {
		t.Errorf("every user failed: got %q, want %q at its end", got, want)
	}
}
