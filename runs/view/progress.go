package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/toolsandbox/toolsandbox/runs/report"
)

// progress is what a run that is being played does.
type progress struct {
	report.SweepDetail
	Facts   []fact
	Problem string
}

func newProgress(now report.SweepDetail) *progress {
	p := &progress{SweepDetail: now}
	add := func(name, text string) { p.Facts = append(p.Facts, fact{name, text}) }
	add("state", now.State)
	for _, count := range []struct {
		name string
		n    int64
	}{{"running", now.Running}, {"queued", now.Queued}, {"to be scored", now.Scoring}, {"to be retried", now.Retrying}, {"parked", now.Parked}} {
		if count.n > 0 {
			add(count.name, fmt.Sprint(count.n))
		}
	}
	if now.Over() {
		return p
	}
	var waits []string
	for _, provider := range now.Providers {
		waits = append(waits, fmt.Sprintf("%s %d (%d for its limits)", provider.Provider, provider.Asked, provider.Limited))
	}
	if len(waits) > 0 {
		add("waiting", strings.Join(waits, ", "))
	}
	if now.Rate != nil && *now.Rate > 0 {
		add("rate", fmt.Sprintf("%.1f rollouts/min", 60**now.Rate))
		left := time.Duration(float64(now.Total-now.Done) / *now.Rate * float64(time.Second))
		add("time left", "about "+left.Round(time.Second).String())
	}
	add("spent", now.Spent())
	if now.Reason != "" {
		add("reason", now.Reason)
	}
	return p
}
