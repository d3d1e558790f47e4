package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

func causedRow(name string, similarity float64, reason busv1.EndReason, causes ...*busv1.Cause) Row {
	return Row{Name: name, Result: &busv1.Result{Similarity: similarity, End: &busv1.End{Reason: reason}, Causes: causes}}
}

func TestWriteCauses(t *testing.T) {
	const finished, lost = busv1.EndReason_END_REASON_FINISHED, busv1.EndReason_END_REASON_INFRASTRUCTURE
	text, failed := &busv1.Cause{Kind: busv1.CauseKind_CAUSE_KIND_CALL_AS_TEXT, Count: 3, Detail: "set_wifi_status"}, &busv1.Cause{Kind: busv1.CauseKind_CAUSE_KIND_TOOL_ERROR, Count: 2, Detail: "ValueError"}
	rows := []Row{
		causedRow("a", 0, finished, text, failed), causedRow("b", 0.5, finished, failed), causedRow("c", 1, finished),
		causedRow("d", 1, finished, &busv1.Cause{Kind: busv1.CauseKind_CAUSE_KIND_TOOL_ERROR, Count: 1, Detail: "polars.exceptions.NoDataError\x1b[2J"}), causedRow("e", 0, lost, text),
	}
	want := `
 cause                                 rollouts  times  score with  without 
────────────────────────────────────────────────────────────────────────────
 tool error: ValueError                       2      4       0.250    1.000 
 call as text                                 1      3       0.000    0.833 
 tool error: polars.exceptions.NoDat…         1      1       1.000    0.500 
3 texts look like calls: is the server's tool parser on?
`
	var out strings.Builder
	if err := WriteCauses(&out, rows); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
	out.Reset()
	if err := WriteCauses(&out, rows[2:4]); err != nil || out.Len() > 0 {
		t.Errorf("with full scores only: got %q and %v, want nothing", out.String(), err)
	}
}
