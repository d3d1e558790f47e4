package report_test

import (
	"fmt"
	"strings"
	"testing"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	"github.com/toolsandbox/toolsandbox/runs/report"
)

// TestWriteTraces links to the worst rollouts: the lowest scores, then those without one, and no
// perfect one unless all are.
func TestWriteTraces(t *testing.T) {
	row := func(n int, score float64, reason busv1.EndReason) report.Row {
		return report.Row{Name: fmt.Sprintf("scene_%d", n), Result: &busv1.Result{
			Rollout: &busv1.Rollout{Id: fmt.Sprintf("s.%d", n)}, Similarity: score, End: &busv1.End{Reason: reason},
		}}
	}
	const finished, failed = busv1.EndReason_END_REASON_FINISHED, busv1.EndReason_END_REASON_INFRASTRUCTURE
	perfect := []report.Row{row(0, 1, finished), row(1, 1, finished)}
	for _, test := range []struct {
		ui   string
		rows []report.Row
		want []string // beginnings of lines
	}{
		{"", perfect, nil},
		{"http://ui/", nil, nil},
		{"http://ui/", perfect, []string{"trace of scene_0 (1.00): http://ui/trace/"}},
		{"http://ui", append(perfect, row(2, 0, failed), row(3, 0.5, finished), row(4, 0, finished)), []string{
			"trace of scene_4 (0.00): http://ui/trace/", "trace of scene_3 (0.50): http://ui/trace/", "trace of scene_2 (no score): http://ui/trace/",
		}},
		{"http://ui", []report.Row{row(0, 0.1, finished), row(1, 0.1, finished), row(2, 0.1, finished), row(3, 0.1, finished), row(4, 0.1, finished), row(5, 0.1, finished)}, []string{
			"trace of scene_0 (0.10)", "trace of scene_1", "trace of scene_2", "trace of scene_3", "trace of scene_4",
		}},
	} {
		var out strings.Builder
		if err := report.WriteTraces(&out, test.ui, test.rows); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if out.Len() == 0 {
			lines = nil
		}
		ok := len(lines) == len(test.want)
		for i := range min(len(lines), len(test.want)) {
			ok = ok && strings.HasPrefix(lines[i], test.want[i])
		}
		if !ok {
			t.Errorf("got\n%s\nwant lines that begin with %q", out.String(), test.want)
		}
	}
}
