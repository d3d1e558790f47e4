package e2e_test

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	"github.com/toolsandbox/toolsandbox/internal/instrument"
	"github.com/toolsandbox/toolsandbox/internal/observability"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
)

// series are scraped series: values of labels by metric and label.
type series map[string]map[string]map[string]bool

var (
	seriesLine  = regexp.MustCompile(`(?m)^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? \S+$`)
	seriesLabel = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"`)
)

// add adds what an address answers to a scrape.
func (s series) add(t *testing.T, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("scrape of %s: got status %d, %v, want 200", address, response.StatusCode, err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	for _, line := range seriesLine.FindAllStringSubmatch(string(body), -1) {
		if s[line[1]] == nil {
			s[line[1]] = make(map[string]map[string]bool)
		}
		for _, label := range seriesLabel.FindAllStringSubmatch(line[2], -1) {
			if s[line[1]][label[1]] == nil {
				s[line[1]][label[1]] = make(map[string]bool)
			}
			s[line[1]][label[1]][label[2]] = true
		}
	}
}

// has reports whether a metric of the table was scraped.
func (s series) has(i instrument.Instrument) bool { return s[seriesName(i)] != nil }

func seriesName(i instrument.Instrument) string {
	if i.Kind == instrument.Histogram {
		return i.Prometheus() + "_bucket"
	}
	return i.Prometheus()
}

// ofTable returns the scraped metrics that the table should have, with the names of their labels.
func (s series) ofTable() map[string][]string {
	found := make(map[string][]string)
	for name, labels := range s {
		if (strings.HasPrefix(name, "toolsandbox_") || strings.HasPrefix(name, "gen_ai_")) && !strings.HasSuffix(name, "_sum") && !strings.HasSuffix(name, "_count") {
			found[name] = slices.Sorted(maps.Keys(labels))
		}
	}
	return found
}

// wantTable returns the metrics of the table that services record, as ofTable does.
func wantTable() map[string][]string {
	want := make(map[string][]string)
	for _, i := range instrument.All() {
		var labels []string
		for _, key := range i.Labels {
			labels = append(labels, instrument.Label(key))
		}
		if i.Kind == instrument.Histogram {
			labels = append(labels, "le")
		}
		want[seriesName(i)] = slices.Sorted(slices.Values(labels))
	}
	return want
}

// checkExpressions checks that each metric of the dashboard and the alerts was scraped.
func (s series) checkExpressions(t *testing.T) {
	t.Helper()
	metric := regexp.MustCompile(`\b(?:toolsandbox_|gen_ai_client_|process_)\w+`)
	for _, expression := range observability.Expressions() {
		for _, name := range metric.FindAllString(expression, -1) {
			if s[name] == nil {
				t.Errorf("%s: a graph or alert uses it, and no process has it", name)
			}
		}
	}
}

// TestLongMetrics scrapes the processes of a sweep that reaches its spend limit and loses NATS.
// They have exactly the metrics and labels of the table, each process has an id of its own, and no
// label tells a scenario, a sweep or an address.
func TestLongMetrics(t *testing.T) {
	t.Parallel()
	services := startCluster(t, cluster.Config{
		Users: true, TwoPlayers: true, Metrics: true, Env: []string{"OPENAI_API_KEY=" + serviceKey, "TOOLSANDBOX_BUS_BYTES=1000000000"},
	})
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"Words."}}],"usage":{"prompt_tokens":1000,"completion_tokens":2}}`)
	}))
	defer server.Close()
	toolsandbox(t, append([]string{"run", "--agent", "oracle", "--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi"}, services.ClientArgs()...)...)
	code := exitCodeOf(t, append([]string{
		"run", "--probe=false", "--agent", "openai:gpt-4o", "--user", "openai:gpt-4o", "--base-url", server.URL + "/v1", "--trials", "100", "--parallel", "4",
		"--spend-tokens", "20000", "--sweep-id", "night", "--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi",
	}, services.ClientArgs()...)...)
	if code != 1 {
		t.Errorf("exit code of a run that reaches its limit: got %d, want 1", code)
	}
	processes := append(cluster.Services(), cluster.SecondAgentGateway, cluster.SecondOrchestrator)
	got := make(series)
	scrape := func() {
		for _, name := range processes {
			got.add(t, services.MetricsAddress(name))
		}
	}
	eventually(t, "the elected orchestrator exports", func() bool { scrape(); return got.has(instrument.JobsPending) })
	if ids := got["target_info"]["service_instance_id"]; len(ids) != len(processes) {
		t.Errorf("instances: got %v, want %d", ids, len(processes))
	}
	if want := map[string]bool{"orchestrator": true, "toolhost": true, "agentgw": true, "evaluator": true}; !maps.Equal(got["target_info"]["service_name"], want) {
		t.Errorf("services: got %v, want %v", got["target_info"]["service_name"], want)
	}
	if err := services.Kill(cluster.NATS); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an error of the bus", func() bool { scrape(); return got.has(instrument.BusErrors) })
	if diff := cmp.Diff(wantTable(), got.ofTable()); diff != "" {
		t.Errorf("metrics with their labels (-table +scraped):\n%s", diff)
	}
	got.checkExpressions(t)
	for name, labels := range got {
		for label, values := range labels {
			for value := range values {
				if strings.Contains(value, "turn_off_wifi") || strings.Contains(value, "night") || strings.Contains(value, server.URL) {
					t.Errorf("%s: label %s has the value %q, want nothing of a run", name, label, value)
				}
			}
		}
	}
	if err := services.Start(t.Context(), cluster.NATS); err != nil {
		t.Fatal(err)
	}
}

// TestMetricsOfOneProcess scrapes a run that plays everything in one process, while its model is
// asked.
func TestMetricsOfOneProcess(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}, 1), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		select {
		case <-answer:
			_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"Words."}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`)
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	address, ended := porttest.Address(t), make(chan int, 1)
	go func() {
		ended <- exitCodeOf(t, "run", "--probe=false", "--agent", "openai:gpt-4o", "--base-url", server.URL+"/v1", "--metrics-listen", address,
			"--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi")
	}()
	select {
	case <-asked:
	case code := <-ended:
		t.Fatalf("the run ended with code %d before it asked its model", code)
	}
	got := make(series)
	got.add(t, address)
	close(answer)
	for _, want := range []instrument.Instrument{
		instrument.JobsPending, instrument.StreamBytes, instrument.RolloutsRunning, instrument.ModelRunning, instrument.SessionsHeld,
	} {
		if !got.has(want) {
			t.Errorf("scrape of a run: %s is missing", want.Prometheus())
		}
	}
	if name := got["target_info"]["service_name"]; !name["toolsandbox"] {
		t.Errorf("service: got %v, want toolsandbox", name)
	}
	if code := <-ended; code != 0 {
		t.Errorf("exit code: got %d, want 0", code)
	}
}
