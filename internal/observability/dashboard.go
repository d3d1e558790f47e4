package observability

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/instrument"
)

// panel is a graph of the dashboard. Its unit is one of Grafana's.
type panel struct {
	title, unit string
	queries     []query
}

// query is a line of a graph. The legend has templates of Grafana.
type query struct{ expr, legend string }

// row is a row of graphs.
type row struct {
	title  string
	panels []panel
}

// window is Grafana's range for rates.
const window = "$__rate_interval"

// quantile returns a quantile of a histogram by labels.
func quantile(q float64, i instrument.Instrument, by ...string) query {
	text := fmt.Sprintf("histogram_quantile(%v, %s(rate(%s_bucket[%s])))", q, sum(append([]string{"le"}, by...)...), i.Prometheus(), window)
	return query{text, legend(fmt.Sprintf("p%v", q*100), by...)}
}

func legend(text string, by ...string) string {
	for _, name := range labels(by) {
		text += " {{" + name + "}}"
	}
	return strings.TrimSpace(text)
}

// perSecond returns the rate of a counter or of a histogram's measurements by labels.
func perSecond(i instrument.Instrument, text string, by ...string) query {
	return query{rate(i, "", window, by...), legend(text, by...)}
}

// added returns the rate of what a histogram adds up, or of a counter, by labels.
func added(i instrument.Instrument, per float64, by ...string) query {
	name := i.Prometheus()
	if i.Kind == instrument.Histogram {
		name += "_sum"
	}
	return query{fmt.Sprintf("%v * %s(rate(%s[%s]))", per, sum(by...), name, window), legend("", by...)}
}

// most returns the largest value of a gauge by labels, since one process exports it, or several the
// same.
func most(i instrument.Instrument, text string, by ...string) query {
	expr := "max(" + i.Prometheus() + ")"
	if len(by) > 0 {
		expr = "max by (" + strings.Join(labels(by), ", ") + ") (" + i.Prometheus() + ")"
	}
	return query{expr, legend(text, by...)}
}

// total returns the sum of a gauge over processes by labels.
func total(i instrument.Instrument, text string, by ...string) query {
	return query{sum(by...) + "(" + i.Prometheus() + ")", legend(text, by...)}
}

// process returns a metric of each process, which Prometheus' client adds.
func process(expr string) query {
	return query{fmt.Sprintf(expr, "{"+services+"}"), "{{job}} {{instance}}"}
}

func one(title, unit string, queries ...query) panel { return panel{title, unit, queries} }

func rows() []row {
	i := instrument.Label
	mean := query{
		fmt.Sprintf("%s(rate(%s_sum[%s])) / %s(rate(%s_count[%s]))", sum(instrument.LabelCategory), instrument.Score.Prometheus(), window,
			sum(instrument.LabelCategory), instrument.Score.Prometheus(), window), "{{" + i(instrument.LabelCategory) + "}}",
	}
	full := query{
		fmt.Sprintf("max by (stream) (%s) / max by (stream) (%s)", instrument.StreamBytes.Prometheus(), instrument.StreamLimit.Prometheus()), "{{stream}}",
	}
	return []row{
		{"Installation", []panel{
			one("Rollouts", "short", most(instrument.JobsPending, "without a score"), most(instrument.JobsRunning, "running"), most(instrument.JobsScoring, "waiting for a score")),
			one("Age of the oldest waiting rollout", "s", most(instrument.JobsWaiting, "age")),
			one("Ended rollouts a minute", "short", query{"60 * " + rate(instrument.RolloutsEnded, "", window, instrument.LabelEnd, instrument.LabelCause), "{{end}} {{cause}}"}),
			one("Mean score by category", "percentunit", mean),
			one("Services that are ready", "short", query{"sum by (job) (" + instrument.Ready.Prometheus() + ")", "{{job}}"}),
			one("Largest share of a spend limit", "percentunit", most(instrument.SpendShare, "used")),
		}},
		{"Rollouts and turns", []panel{
			one("Turn latency", "s", quantile(0.5, instrument.TurnDuration, instrument.LabelRole, instrument.LabelKind),
				quantile(0.95, instrument.TurnDuration, instrument.LabelRole, instrument.LabelKind)),
			one("Rollout duration", "s", quantile(0.5, instrument.RolloutDuration), quantile(0.95, instrument.RolloutDuration)),
			one("Running rollouts by process", "short", query{"sum by (instance) (" + instrument.RolloutsRunning.Prometheus() + ")", "{{instance}}"}),
			one("Retries, redeliveries and parked rollouts", "short", perSecond(instrument.RolloutsRetried, "retried"),
				perSecond(instrument.JobsRedelivered, "redelivered"), perSecond(instrument.RolloutsParked, "parked")),
		}},
		{"Models", []panel{
			one("Requests a second", "reqps", perSecond(instrument.ModelDuration, "", instrument.LabelProvider, instrument.LabelError)),
			one("Latency of requests, p95", "s", quantile(0.95, instrument.ModelDuration, instrument.LabelModel)),
			one("Wait for the budget, p95", "s", quantile(0.95, instrument.ModelWait, instrument.LabelProvider)),
			one("Requests that wait and run", "short", total(instrument.ModelQueued, "waiting", instrument.LabelProvider),
				total(instrument.ModelRunning, "running", instrument.LabelProvider), total(instrument.ModelConcurrency, "at once", instrument.LabelProvider)),
			one("Requests not sent", "reqps", perSecond(instrument.ModelRefused, "", instrument.LabelProvider, instrument.LabelCause)),
			one("Tokens a minute", "short", added(instrument.ModelTokens, 60, instrument.LabelModel, instrument.LabelTokenType)),
			one("US dollars an hour", "currencyUSD", added(instrument.ModelCost, 3600, instrument.LabelModel)),
		}},
		{"Tools and sessions", []panel{
			one("Executions a second", "reqps", perSecond(instrument.ExecutionDuration, "", instrument.LabelOutcome)),
			one("Execution latency", "s", quantile(0.5, instrument.ExecutionDuration), quantile(0.95, instrument.ExecutionDuration)),
			one("Sessions in memory", "short", query{"sum by (instance) (" + instrument.SessionsHeld.Prometheus() + ")", "{{instance}}"}),
			one("Sessions created and rebuilt", "short", perSecond(instrument.SessionsCreated, "created"), perSecond(instrument.SessionsRebuilt, "rebuilt")),
			one("Session file", "bytes", query{instrument.StoreBytes.Prometheus(), "{{instance}}"}),
			one("Free disk", "percentunit", query{instrument.DiskFree.Prometheus() + " / " + instrument.DiskSize.Prometheus(), "{{instance}}"}),
		}},
		{"Scoring", []panel{
			one("Time to score", "s", quantile(0.5, instrument.ScoreDuration), quantile(0.95, instrument.ScoreDuration)),
			one("Scored rollouts a second", "reqps", perSecond(instrument.ScoreDuration, "scored")),
			one("Complete rollouts that wait for a scorer", "short", total(instrument.ScoresWaiting, "waiting")),
		}},
		{"NATS and processes", []panel{
			one("Bytes of streams", "bytes", most(instrument.StreamBytes, "", instrument.LabelStream)),
			one("Streams, share of their limit", "percentunit", full),
			one("Failed attempts on streams", "short", perSecond(instrument.BusErrors, "", instrument.LabelStream, instrument.LabelError)),
			one("Restored connections to NATS", "short", query{"sum by (job) (increase(" + instrument.Reconnects.Prometheus() + "[" + window + "]))", "{{job}}"}),
			one("Processors", "short", process("rate(process_cpu_seconds_total%s["+window+"])")),
			one("Memory", "bytes", process("process_resident_memory_bytes%s")),
		}},
	}
}

// Expressions returns the expressions of all alerts and graphs.
func Expressions() []string {
	var all []string
	for _, a := range Alerts() {
		all = append(all, a.Expr)
	}
	for _, r := range rows() {
		for _, p := range r.panels {
			for _, q := range p.queries {
				all = append(all, q.expr)
			}
		}
	}
	return all
}

// These are sizes in Grafana's grid, which is 24 wide.
const (
	panelWidth, panelHeight = 8, 8
	columns                 = 3
)

// object is a JSON object.
type object = map[string]any

// Dashboard returns the dashboard as JSON for Grafana 10 or newer. It asks for its data source.
func Dashboard() ([]byte, error) {
	source := object{"type": "prometheus", "uid": "${source}"}
	var panels []object
	y := 0
	for _, r := range rows() {
		panels = append(panels, object{
			"id": len(panels) + 1, "type": "row", "title": r.title, "collapsed": false, "panels": []object{},
			"gridPos": object{"x": 0, "y": y, "w": columns * panelWidth, "h": 1},
		})
		y++
		for n, p := range r.panels {
			var targets []object
			for k, q := range p.queries {
				targets = append(targets, object{"refId": string(rune('A' + k)), "datasource": source, "expr": q.expr, "legendFormat": q.legend})
			}
			panels = append(panels, object{
				"id": len(panels) + 1, "type": "timeseries", "title": p.title, "datasource": source, "targets": targets,
				"gridPos":     object{"x": n % columns * panelWidth, "y": y + n/columns*panelHeight, "w": panelWidth, "h": panelHeight},
				"fieldConfig": object{"defaults": object{"unit": p.unit, "min": 0}, "overrides": []object{}},
			})
		}
		y += (len(r.panels) + columns - 1) / columns * panelHeight
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(object{
		"title": "ToolSandbox", "uid": "toolsandbox", "schemaVersion": 39, "editable": true, "refresh": "30s", "timezone": "browser",
		"time": object{"from": "now-3h", "to": "now"}, "panels": panels, "annotations": object{"list": []object{}},
		"templating": object{"list": []object{{"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}}},
	})
	if err != nil {
		return nil, fmt.Errorf("write dashboard: %w", err)
	}
	return out.Bytes(), nil
}
