package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/toolsandbox/toolsandbox/internal/pricing"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
)

// SweepDetail is a sweep with what it does at the moment, for programs.
type SweepDetail struct {
	Sweep
	// Running, Queued, Scoring, Retrying and Parked count rollouts without a result. Parked ones wait
	// for a higher spend limit.
	Running  int64 `json:"running"`
	Queued   int64 `json:"queued"`
	Scoring  int64 `json:"scoring"`
	Retrying int64 `json:"retrying"`
	Parked   int64 `json:"parked"`
	// Rate is the number of results per second since the last look, nil at the first one.
	Rate *float64 `json:"rate"`
	// Providers are the requests to models.
	Providers []ProviderWait `json:"providers"`
	// Round is the number of the last round.
	Round int32 `json:"round"`
	// Parallel is the number of concurrent rollouts per orchestrator, 0 for its own limit.
	Parallel int32 `json:"parallel"`
	// SpentTokens and SpentUSD are what models have spent, SpendTokens and SpendUSD the limits, 0 for
	// none.
	SpentTokens int64   `json:"spent_tokens"`
	SpentUSD    float64 `json:"spent_usd"`
	SpendTokens int64   `json:"spend_tokens"`
	SpendUSD    float64 `json:"spend_usd"`
}

// ProviderWait counts requests to the models of one provider.
type ProviderWait struct {
	Provider string `json:"provider"`
	// Asked are the requests without an answer yet.
	Asked int64 `json:"asked"`
	// Limited are the requests that wait for the provider's limits.
	Limited int64 `json:"limited"`
}

// microsPerDollar converts the unit of spend limits.
const microsPerDollar = 1e6

// NewSweepDetail converts an orchestrator's description of a sweep with counts.
func NewSweepDetail(info *orchestratorv1.SweepInfo) SweepDetail {
	progress := info.GetProgress()
	d := SweepDetail{
		Sweep: NewSweep(info), Providers: []ProviderWait{}, Round: info.GetRound(), Parallel: info.GetParallel(),
		Running: progress.GetRunning(), Queued: progress.GetQueued(), Scoring: progress.GetScoring(), Retrying: progress.GetRetrying(),
		SpentTokens: info.GetSpent().GetTokens(), SpentUSD: float64(info.GetSpent().GetMicros()) / microsPerDollar,
		SpendTokens: info.GetSpendLimit().GetTokens(), SpendUSD: float64(info.GetSpendLimit().GetCostMicros()) / microsPerDollar,
	}
	if d.State == SweepExhausted {
		d.Parked = max(d.Total-d.Done-d.Running-d.Queued-d.Scoring-d.Retrying, 0)
	}
	for _, p := range progress.GetProviders() {
		d.Providers = append(d.Providers, ProviderWait{p.GetProvider(), p.GetAsked(), p.GetLimited()})
	}
	return d
}

// waits describes the requests to models.
func (d SweepDetail) waits() string {
	var parts []string
	for _, p := range d.Providers {
		part := fmt.Sprintf("%s %d", p.Provider, p.Asked)
		if p.Limited > 0 {
			part += fmt.Sprintf(" (+%d limited)", p.Limited)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// Spent describes what was spent of which limit.
func (d SweepDetail) Spent() string {
	dollars := pricing.FormatDollars(int64(d.SpentUSD * microsPerDollar))
	if d.SpendUSD > 0 {
		dollars += " of " + pricing.FormatDollars(int64(d.SpendUSD*microsPerDollar))
	}
	tokens := fmt.Sprint(d.SpentTokens)
	if d.SpendTokens > 0 {
		tokens += fmt.Sprintf(" of %d", d.SpendTokens)
	}
	return dollars + ", " + tokens + " tokens"
}

// Limits describes the limits.
func (d SweepDetail) Limits() string {
	parts := []string{"concurrent rollouts " + d.parallel()}
	if d.SpendUSD > 0 {
		parts = append(parts, "at most "+pricing.FormatDollars(int64(d.SpendUSD*microsPerDollar)))
	}
	if d.SpendTokens > 0 {
		parts = append(parts, fmt.Sprintf("at most %d tokens", d.SpendTokens))
	}
	return strings.Join(parts, ", ")
}

func (d SweepDetail) parallel() string {
	if d.Parallel > 0 {
		return fmt.Sprintf("%d per orchestrator", d.Parallel)
	}
	return "as each orchestrator is set"
}

func (d SweepDetail) rate() string {
	switch {
	case d.Rate == nil:
		return ""
	case *d.Rate >= 1:
		return fmt.Sprintf("%.1f/s", *d.Rate)
	}
	return fmt.Sprintf("%.1f/min", *d.Rate*60)
}

// WriteText prints a sweep, one fact per line.
func (d SweepDetail) WriteText(w io.Writer) error {
	t := output.NewList()
	for _, row := range []table.Row{
		{"sweep", d.ID}, {"state", d.State}, {"reason", d.Reason}, {"done", fmt.Sprintf("%d/%d", d.Done, d.Total)}, {"running", d.Running}, {"queued", d.Queued},
		{"scoring", d.Scoring}, {"retrying", d.Retrying}, {"parked", d.Parked}, {"waits for models", d.waits()}, {"spent", d.Spent()},
		{"concurrent rollouts", d.parallel()}, {"round", d.Round}, {"agent", strings.Join(d.Agents, ", ")}, {"user", strings.Join(d.Users, ", ")},
		{"created", d.Created.Local().Format(time.DateTime)},
	} {
		if text := fmt.Sprint(row[1]); text != "" {
			t.Append(row)
		}
	}
	_, err := fmt.Fprintln(w, t.Fit(output.Width(w)))
	return err
}

// Top returns a table of what sweeps do.
func Top(w io.Writer, sweeps []SweepDetail) string {
	t := output.NewNumbers(table.Row{"sweep", "state", "done", "rate", "running", "queued", "scoring", "retrying", "parked", "waits for models", "spent"})
	for _, d := range sweeps {
		t.Append(table.Row{
			d.ID, d.State, fmt.Sprintf("%d/%d", d.Done, d.Total), d.rate(), d.Running, d.Queued, d.Scoring, d.Retrying, d.Parked, d.waits(), d.Spent(),
		})
	}
	return t.Fit(output.Width(w))
}
