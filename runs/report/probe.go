package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// WriteProbe prints what a probe of the players' model showed, a line each.
func WriteProbe(w io.Writer, players string, p *results.Probe) error {
	problem := output.Line(p.Problem)
	if problem != "" && p.Tools == results.Unknown && p.Calls == results.Unknown && p.Slots == nil && p.ContextTokens == nil {
		_, err := fmt.Fprintf(w, "%s could not be probed: %s\n", players, problem)
		return err
	}
	lines := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	spent := fmt.Sprintf("%d requests", p.Requests)
	if tokens := p.InputTokens + p.OutputTokens; tokens > 0 {
		spent += fmt.Sprintf(", %d tokens", tokens)
	}
	_, _ = fmt.Fprintf(lines, "probe of %s: %s\n", players, spent)
	for _, line := range [][2]string{
		{"tools reach the model", because(tools(p.Tools), p.ToolsReason)},
		{"calls come back", because(calls(p.Calls), p.CallsReason)},
		{"slots", orUnknown(p.Slots, "%d")},
		{"context", orUnknown(p.ContextTokens, "%d tokens")},
		{"speed", orUnknown(p.TokensPerSecond, "%.1f tokens a second")},
		{"seed", setting(p.Seed)},
		{"temperature", setting(p.Temperature)},
	} {
		_, _ = fmt.Fprintf(lines, "  %s\t%s\n", line[0], line[1])
	}
	if problem != "" {
		_, _ = fmt.Fprintf(lines, "  not asked further\t%s\n", problem)
	}
	return lines.Flush()
}

// notKnown stands for what a probe did not show.
const notKnown = "not known"

func tools(word string) string {
	switch word {
	case "reach":
		return "yes"
	case "dropped":
		return "no"
	case "refused":
		return "no, the server refuses them"
	case "prompted":
		return "yes, within the prompt"
	}
	return notKnown
}

func calls(word string) string {
	switch word {
	case "call":
		return "as calls"
	case "text":
		return "as text"
	}
	return notKnown
}

func setting(word string) string {
	switch word {
	case "kept":
		return "kept"
	case "differs":
		return "not kept: equal requests had different answers"
	case "refused":
		return "the server refuses it"
	case "unsent":
		return "not sent to this model"
	}
	return notKnown
}

// because returns a verdict with its reason.
func because(verdict, reason string) string {
	if reason == "" {
		return verdict
	}
	return verdict + ": " + strings.TrimSpace(output.Line(reason))
}

func orUnknown[T int32 | int64 | float64](number *T, format string) string {
	if number == nil {
		return notKnown
	}
	return fmt.Sprintf(format, *number)
}
