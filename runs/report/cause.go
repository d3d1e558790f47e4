package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// maxClass is the number of characters of a class in the table of causes.
const maxClass = 24

// WriteCauses prints what may have cost an agent its score: in how many rollouts, and the mean
// score of these and of the others. The faults of the simulated user follow, with the agent's mean
// without the rollouts that have them. It prints nothing if all rollouts have the full score.
func WriteCauses(w io.Writer, counts *results.CauseCounts) error {
	if counts == nil || counts.Mean == nil || *counts.Mean == 1 {
		return nil
	}
	at := slices.IndexFunc(counts.Causes, func(c results.CauseCount) bool { return c.User })
	if at < 0 {
		at = len(counts.Causes)
	}
	text := causeTable(w, "cause", counts.Causes[:at]) + callsAsText(counts.Causes[:at]) + causeTable(w, "the simulated user's fault", counts.Causes[at:])
	if counts.UserFailed > 0 {
		text += fmt.Sprintf("agent's mean %s, n %d; without the rollouts whose user failed %s, n %d\n",
			orNoScore(counts.Mean, "%.3f"), counts.Scored, orNoScore(counts.MeanWithout, "%.3f"), counts.Scored-counts.UserFailed)
	}
	if missing := counts.Rollouts - counts.Scored; missing > 0 {
		user := ""
		if counts.UserUnscored > 0 {
			user = fmt.Sprintf(", %d for the user's fault", counts.UserUnscored)
		}
		text += fmt.Sprintf("%d of %d rollouts have no score and are missing here%s\n", missing, counts.Rollouts, user)
	}
	_, err := io.WriteString(w, text)
	return err
}

// causeTable returns a table of causes as wide as w after a blank line, "" without any.
func causeTable(w io.Writer, title string, causes []results.CauseCount) string {
	if len(causes) == 0 {
		return ""
	}
	list := output.NewNumbers(table.Row{title, "rollouts", "times", "score with", "without"})
	for _, c := range causes {
		list.Append(table.Row{causeTitle(c), c.Rollouts, c.Times, orNoScore(c.MeanWith, "%.3f"), orNoScore(c.MeanWithout, "%.3f")})
	}
	return "\n" + list.Fit(output.Width(w)) + "\n"
}

// callsAsText asks for a remedy if texts look like calls.
func callsAsText(causes []results.CauseCount) string {
	name := results.CauseName(busv1.CauseKind_CAUSE_KIND_CALL_AS_TEXT)
	at := slices.IndexFunc(causes, func(c results.CauseCount) bool { return c.Kind == name })
	switch {
	case at < 0:
		return ""
	case causes[at].Times == 1:
		return "1 text looks like a call: is the server's tool parser on?\n"
	default:
		return fmt.Sprintf("%d texts look like calls: is the server's tool parser on?\n", causes[at].Times)
	}
}

func causeTitle(c results.CauseCount) string {
	name := strings.ReplaceAll(c.Kind, "_", " ")
	if c.Class == "" {
		return name
	}
	shown := []rune(output.Line(c.Class))
	if len(shown) > maxClass {
		shown = append(shown[:maxClass-1], '…')
	}
	return name + ": " + string(shown)
}
