// Package observability makes the files by which Prometheus and Grafana watch an installation, from
// the table of metrics: alert rules, a dashboard and the reference of the metrics.
package observability

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/toolsandbox/toolsandbox/internal/instrument"
)

// These are severities: somebody has to act now, or in working hours.
const (
	critical = "critical"
	warning  = "warning"
)

// runbook is the page with an entry for each alert.
const runbook = "docs/operations.md"

// Alert is an alert rule.
type Alert struct {
	Name string
	// Expr is its condition in PromQL.
	Expr string
	// For is how long the condition holds before the alert fires.
	For      string
	Severity string
	// Summary says in one sentence what is wrong. It may have Prometheus' templates.
	Summary string
}

// services matches the jobs of the services in scrapes and in OTLP.
const services = `job=~"orchestrator|toolhost|agentgw|evaluator"`

// rate returns the sum of a counter's rates, by labels if any are given.
func rate(i instrument.Instrument, selector, window string, by ...string) string {
	return sum(by...) + fmt.Sprintf("(rate(%s%s[%s]))", series(i), selector, window)
}

// increase returns the sum of a counter's increases, by labels if any are given.
func increase(i instrument.Instrument, selector, window string, by ...string) string {
	return sum(by...) + fmt.Sprintf("(increase(%s%s[%s]))", series(i), selector, window)
}

func sum(by ...string) string {
	if len(by) == 0 {
		return "sum"
	}
	return "sum by (" + strings.Join(labels(by), ", ") + ") "
}

// series returns the name that counts an instrument: of a histogram that of its measurements.
func series(i instrument.Instrument) string {
	if i.Kind == instrument.Histogram {
		return i.Prometheus() + "_count"
	}
	return i.Prometheus()
}

func labels(keys []string) []string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = instrument.Label(key)
	}
	return names
}

// is returns a selector of values of a label, which are an expression.
func is(key, values string) string { return fmt.Sprintf(`{%s=~"%s"}`, instrument.Label(key), values) }

// Alerts returns all alerts, in the order of the reference.
func Alerts() []Alert {
	return slices.Concat(processAlerts(), roomAlerts(), queueAlerts(), providerAlerts(), endAlerts())
}

func processAlerts() []Alert {
	stream := instrument.Label(instrument.LabelStream)
	return []Alert{
		{
			Name: "ToolSandboxServiceDown", For: "2m", Severity: critical,
			Expr:    "up{" + services + "} == 0",
			Summary: "{{ $labels.job }} at {{ $labels.instance }} does not answer scrapes.",
		},
		{
			Name: "ToolSandboxNotReady", For: "5m", Severity: critical,
			Expr:    instrument.Ready.Prometheus() + " == 0",
			Summary: "{{ $labels.job }} at {{ $labels.instance }} runs and cannot do its work.",
		},
		{
			Name: "ToolSandboxNATSUnanswered", For: "5m", Severity: critical,
			Expr:    increase(instrument.BusErrors, is(instrument.LabelError, "unanswered"), "10m", instrument.LabelStream) + " > 5",
			Summary: "NATS left {{ $value | humanize }} attempts for stream {{ $labels." + stream + " }} without an answer in ten minutes.",
		},
	}
}

func roomAlerts() []Alert {
	stream := instrument.Label(instrument.LabelStream)
	return []Alert{
		{
			Name: "ToolSandboxStreamFull", For: "0m", Severity: critical,
			Expr:    increase(instrument.BusErrors, is(instrument.LabelError, "full"), "10m", instrument.LabelStream) + " > 0",
			Summary: "Stream {{ $labels." + stream + " }} takes no more messages, and sweeps wait.",
		},
		{
			Name: "ToolSandboxStreamNearlyFull", For: "10m", Severity: warning,
			Expr: fmt.Sprintf("max by (%s) (%s) / max by (%s) (%s) > 0.85", stream, instrument.StreamBytes.Prometheus(), stream,
				instrument.StreamLimit.Prometheus()),
			Summary: "Stream {{ $labels." + stream + " }} has {{ $value | humanizePercentage }} of its bytes.",
		},
		{
			Name: "ToolSandboxDiskNearlyFull", For: "10m", Severity: warning,
			Expr:    instrument.DiskFree.Prometheus() + " / " + instrument.DiskSize.Prometheus() + " < 0.1",
			Summary: "The disk of the sessions of {{ $labels.instance }} has {{ $value | humanizePercentage }} free.",
		},
	}
}

func queueAlerts() []Alert {
	age := instrument.JobsWaiting.Prometheus()
	return []Alert{
		{
			Name: "ToolSandboxNoGauges", For: "5m", Severity: warning,
			Expr:    "absent(" + instrument.JobsPending.Prometheus() + ")",
			Summary: "No orchestrator exports what the installation has to do, and autoscalers stand still.",
		},
		{
			Name: "ToolSandboxQueueStalled", For: "5m", Severity: critical,
			Expr: fmt.Sprintf("max(min_over_time(%s[30m])) > 0 and on () (%s or on () vector(0)) == 0", instrument.JobsPending.Prometheus(),
				increase(instrument.RolloutsEnded, "", "30m")),
			Summary: "At least {{ $value }} rollouts have waited for half an hour, and none has ended.",
		},
		{
			Name: "ToolSandboxQueueGrowing", For: "30m", Severity: warning,
			Expr:    fmt.Sprintf("max(%s) > 3600 and max(delta(%s[30m])) > 0", age, age),
			Summary: "The oldest waiting rollout has been queued for {{ $value | humanizeDuration }}, and the queue ages.",
		},
		{
			Name: "ToolSandboxRolloutsParked", For: "0m", Severity: warning,
			Expr:    increase(instrument.RolloutsParked, "", "15m") + " > 0",
			Summary: "A sweep has reached its spend limit: {{ $value | humanize }} of its rollouts are parked.",
		},
		{
			Name: "ToolSandboxBudgetNearlyUsed", For: "0m", Severity: warning,
			Expr:    "max(" + instrument.SpendShare.Prometheus() + ") > 0.9 < 1",
			Summary: "A sweep has used {{ $value | humanizePercentage }} of its spend limit.",
		},
	}
}

func providerAlerts() []Alert {
	provider := instrument.Label(instrument.LabelProvider)
	refusals := rate(instrument.ModelDuration, is(instrument.LabelError, "throttled|overloaded"), "10m", instrument.LabelProvider)
	return []Alert{
		{
			Name: "ToolSandboxProviderRefusing", For: "10m", Severity: warning,
			Expr:    refusals + " / " + rate(instrument.ModelDuration, "", "10m", instrument.LabelProvider) + " > 0.2",
			Summary: "{{ $labels." + provider + " }} refuses {{ $value | humanizePercentage }} of the requests for their number.",
		},
		{
			Name: "ToolSandboxProviderOutage", For: "5m", Severity: critical,
			Expr:    increase(instrument.ModelRefused, is(instrument.LabelCause, "outage|breaker_open"), "10m", instrument.LabelProvider) + " > 0",
			Summary: "{{ $labels." + provider + " }} answers nothing, and rollouts end without a score.",
		},
	}
}

func endAlerts() []Alert {
	scoring := instrument.JobsScoring.Prometheus()
	return []Alert{
		{
			Name: "ToolSandboxInfrastructureEnds", For: "10m", Severity: critical,
			Expr:    rate(instrument.RolloutsEnded, is(instrument.LabelEnd, "infrastructure"), "30m") + " / " + rate(instrument.RolloutsEnded, "", "30m") + " > 0.05",
			Summary: "{{ $value | humanizePercentage }} of the rollouts end by a failure of the infrastructure, without a score.",
		},
		{
			Name: "ToolSandboxEvaluatorLagging", For: "10m", Severity: warning,
			Expr: fmt.Sprintf("max(%s) > 10 and on () max(%s) > on () (%s or on () vector(0))", scoring, scoring,
				increase(instrument.ScoreDuration, "", "10m")),
			Summary: "{{ $value }} rollouts have ended and wait for their score, more than are scored in ten minutes.",
		},
	}
}

type ruleFile struct {
	Groups []ruleGroup `yaml:"groups"`
}

type ruleGroup struct {
	Name  string `yaml:"name"`
	Rules []rule `yaml:"rules"`
}

type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

// Rules returns the alerts as a rule file of Prometheus.
func Rules() ([]byte, error) {
	group := ruleGroup{Name: "toolsandbox"}
	for _, a := range Alerts() {
		group.Rules = append(group.Rules, rule{
			Alert: a.Name, Expr: a.Expr, For: a.For, Labels: map[string]string{"severity": a.Severity},
			Annotations: map[string]string{"summary": a.Summary, "runbook": runbook + "#" + strings.ToLower(a.Name)},
		})
	}
	rules, err := yaml.Marshal(ruleFile{Groups: []ruleGroup{group}})
	if err != nil {
		return nil, fmt.Errorf("write alert rules: %w", err)
	}
	return append([]byte("# Made by `make observability` from internal/observability: change that.\n"), rules...), nil
}
