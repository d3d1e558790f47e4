package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
)

// callAsText is the kind of causes whose count asks for a remedy.
const callAsText = "call_as_text"

// maxDetail is the number of characters of a detail in the table of causes.
const maxDetail = 24

// causeTotal is one kind of causes over all rollouts.
type causeTotal struct {
	kind, detail string
	times        int
	with         []float64 // scores of the rollouts with it
}

// WriteCauses prints what may have cost an agent its score: in how many rollouts, and the mean
// score of these and of the others. It prints nothing if all rollouts have the full score.
func WriteCauses(w io.Writer, rows []Row) error {
	totals := causeTotals(rows)
	if len(totals) == 0 {
		return nil
	}
	sum, scored := 0.0, 0
	for _, row := range rows {
		if row.Scored() {
			sum, scored = sum+row.Result.GetSimilarity(), scored+1
		}
	}
	if sum == float64(scored) {
		return nil
	}
	list := newTable(table.Row{"cause", "rollouts", "times", "score with", "without"})
	texts := 0
	for _, total := range totals {
		with := 0.0
		for _, score := range total.with {
			with += score
		}
		without := noScore
		if others := scored - len(total.with); others > 0 {
			without = number((sum - with) / float64(others))
		}
		list.Append(table.Row{total.name(), len(total.with), total.times, number(with / float64(len(total.with))), without})
		if total.kind == callAsText {
			texts = total.times
		}
	}
	text := "\n" + list.Fit(output.Width(w)) + "\n"
	switch {
	case texts == 1:
		text += "1 text looks like a call: is the server's tool parser on?\n"
	case texts > 1:
		text += fmt.Sprintf("%d texts look like calls: is the server's tool parser on?\n", texts)
	}
	_, err := io.WriteString(w, text)
	return err
}

// causeTotals sums the causes of scored rollouts by kind, the most frequent first.
func causeTotals(rows []Row) []*causeTotal {
	var totals []*causeTotal
	for _, row := range rows {
		if !row.Scored() {
			continue
		}
		seen := make(map[*causeTotal]bool)
		for _, cause := range row.Result.GetCauses() {
			at := slices.IndexFunc(totals, func(t *causeTotal) bool { return t.kind == cause.GetKind() && t.detail == detail(cause) })
			if at < 0 {
				at, totals = len(totals), append(totals, &causeTotal{kind: cause.GetKind(), detail: detail(cause)})
			}
			total := totals[at]
			total.times += int(cause.GetCount())
			if !seen[total] {
				seen[total], total.with = true, append(total.with, row.Result.GetSimilarity())
			}
		}
	}
	slices.SortFunc(totals, func(a, b *causeTotal) int {
		return cmp.Or(cmp.Compare(len(b.with), len(a.with)), cmp.Compare(a.kind, b.kind), cmp.Compare(a.detail, b.detail))
	})
	return totals
}

// detail returns what distinguishes causes of one kind: the type of a tool's error, and the
// provider's reason for an empty answer.
func detail(cause *busv1.Cause) string {
	switch cause.GetKind() {
	case "tool_error", "empty_answer", "model_failure":
		return cause.GetDetail()
	default:
		return ""
	}
}

func (t *causeTotal) name() string {
	name := strings.ReplaceAll(t.kind, "_", " ")
	if t.detail == "" {
		return name
	}
	shown := []rune(output.Line(t.detail))
	if len(shown) > maxDetail {
		shown = append(shown[:maxDetail-1], '…')
	}
	return name + ": " + string(shown)
}
