package report

import (
	"bytes"
	"strings"
	"testing"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// TestProgressMean shows the mean of what has a score, and no number where nothing has one.
func TestProgressMean(t *testing.T) {
	lost := Row{Name: "lost", Result: &busv1.Result{End: &busv1.End{Reason: busv1.EndReason_END_REASON_INFRASTRUCTURE}}}
	half := Row{Name: "half", Result: &busv1.Result{Similarity: 0.5, End: &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED}}}
	zero := Row{Name: "zero", Result: &busv1.Result{End: &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED}}}
	for _, test := range []struct {
		rows []Row
		want string
	}{
		{[]Row{lost}, "1/1 rollouts, mean score –, "},
		{[]Row{lost, half}, "2/2 rollouts, mean score 0.500, "},
		{[]Row{zero, half, lost}, "3/3 rollouts, mean score 0.250, "},
		{[]Row{zero}, "1/1 rollouts, mean score 0.000, "},
	} {
		var out bytes.Buffer
		progress := NewProgress(&out, len(test.rows))
		for _, row := range test.rows {
			progress.Add(row)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, test.want) {
			t.Errorf("got %q, want it to begin with %q", last, test.want)
		}
	}
}
