package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/pricing"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// WriteUsage prints the tokens of a run's models, their cost by the price table, and the number of
// requests without reported tokens; nothing where no model played.
func WriteUsage(w io.Writer, rows []Row) error {
	var withUsage, input, cached, output, reasoning, micros int64
	var unpriced []string        // players without a price
	silent := map[string]int64{} // requests without reported tokens, by player
	for _, row := range rows {
		for _, turn := range row.Usage {
			u, name := turn.GetUsage(), player(row, turn.GetRole())
			if !pricing.HasTokens(u) {
				silent[name]++
				continue
			}
			withUsage++
			input, cached = input+u.GetInputTokens(), cached+u.GetCachedTokens()
			output, reasoning = output+u.GetOutputTokens(), reasoning+u.GetReasoningTokens()
			micros += u.GetCostMicros()
			if u.CostMicros == nil {
				unpriced = append(unpriced, name)
			}
		}
	}
	var parts []string
	if withUsage > 0 {
		parts = append(parts, fmt.Sprintf("%s tokens in%s, %s out%s%s", grouped(input), among(cached, "cached"),
			grouped(output), among(reasoning, "for reasoning"), cost(micros, unpriced)))
	}
	for _, name := range slices.Sorted(maps.Keys(silent)) {
		parts = append(parts, fmt.Sprintf("%s of %s, tokens not reported", requests(silent[name]), name))
	}
	if len(parts) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\nmodels: %s\n", strings.Join(parts, "; "))
	return err
}

// cost formats the cost of tokens, and the players without a price.
func cost(micros int64, unpriced []string) string {
	slices.Sort(unpriced)
	names := strings.Join(slices.Compact(unpriced), ", ")
	estimate := ", about " + pricing.FormatDollars(micros) + " if the price table is right"
	switch {
	case names == "":
		return estimate
	case micros > 0:
		return estimate + ", without " + names + " (no price)"
	default:
		return ", cost unknown: no price for " + names
	}
}

func requests(n int64) string {
	if n == 1 {
		return "1 request"
	}
	return grouped(n) + " requests"
}

func player(row Row, role worldv1.Role) string {
	if role == worldv1.Role_ROLE_USER {
		return row.Result.GetRollout().GetUser().GetName()
	}
	return row.Result.GetRollout().GetAgent().GetName()
}

func among(n int64, what string) string {
	if n == 0 {
		return ""
	}
	return " (" + grouped(n) + " " + what + ")"
}

// grouped formats a number with a comma before every three digits.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
