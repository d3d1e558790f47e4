package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/telemetry"
)

// maxTraces is the largest number of links to traces.
const maxTraces = 5

// WriteTraces writes links to the traces of the worst rollouts: those with the lowest scores, then
// those without a score. If all rollouts score 1, it writes one. ui is the address of Jaeger's user
// interface, or of another one with the same paths. Without it, it writes nothing.
func WriteTraces(w io.Writer, ui string, rows []Row) error {
	if ui == "" {
		return nil
	}
	worst := slices.Clone(rows)
	slices.SortStableFunc(worst, func(a, b Row) int {
		if a.Scored() != b.Scored() {
			return map[bool]int{true: -1, false: 1}[a.Scored()]
		}
		return cmp.Or(cmp.Compare(a.Result.GetSimilarity(), b.Result.GetSimilarity()), cmp.Compare(a.Name, b.Name))
	})
	for i, row := range worst[:min(len(worst), maxTraces)] {
		score := "no score"
		if row.Scored() {
			score = fmt.Sprintf("%.2f", row.Result.GetSimilarity())
			if row.Result.GetSimilarity() == 1 && i > 0 {
				continue
			}
		}
		if _, err := fmt.Fprintf(w, "trace of %s (%s): %s\n", row.Name, score, telemetry.TraceAddress(ui, row.Result.GetRollout().GetId(), row.Result.GetRound())); err != nil {
			return err
		}
	}
	return nil
}
