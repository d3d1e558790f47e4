package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/price"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Usage prints what the models of a run used and what that costs by the table of prices; nothing where no model played.
func Usage(w io.Writer, rows []Row) error {
	var turns, input, cached, output, reasoning, micros int64
	var unknown []string // players whose price is not known
	for _, row := range rows {
		for _, turn := range row.Usage {
			turns++
			u := turn.GetUsage()
			input, cached = input+u.GetInputTokens(), cached+u.GetCachedTokens()
			output, reasoning = output+u.GetOutputTokens(), reasoning+u.GetReasoningTokens()
			micros += u.GetCostMicros()
			if u.CostMicros == nil {
				unknown = append(unknown, player(row, turn.GetRole()))
			}
		}
	}
	if turns == 0 {
		return nil
	}
	slices.Sort(unknown)
	unknown = slices.Compact(unknown)
	cost := ", about " + price.Dollars(micros) + " if the table of prices is right"
	switch {
	case len(unknown) > 0 && micros > 0:
		cost += ", without " + strings.Join(unknown, ", ") + ", whose price is not known"
	case len(unknown) > 0:
		cost = ", cost not known: no price for " + strings.Join(unknown, ", ")
	}
	_, err := fmt.Fprintf(w, "\nmodels: %s tokens in%s, %s out%s%s\n",
		grouped(input), among(cached, "cached"), grouped(output), among(reasoning, "for reasoning"), cost)
	return err
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

// grouped writes a number with a comma before every three digits.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
