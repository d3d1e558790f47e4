package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/toolsandbox/toolsandbox/internal/telemetry"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	"github.com/toolsandbox/toolsandbox/internal/version"
)

// ask sends a request to a scraped port, and returns status and body.
func ask(t *testing.T, method, url string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// scraped runs a process with an address for Prometheus, and returns what a scrape gets.
func scraped(t *testing.T) string {
	t.Helper()
	address := porttest.Address(t)
	tel, err := telemetry.Start(t.Context(), telemetry.Config{MetricsListen: address}, "orchestrator")
	if err != nil {
		t.Fatal(err)
	}
	if !tel.Measures() || tel.Enabled() {
		t.Errorf("Measures, Enabled: got %v, %v, want true, false", tel.Measures(), tel.Enabled())
	}
	counter, err := otel.Meter("test").Int64Counter("toolsandbox.rollout.ended")
	if err != nil {
		t.Fatal(err)
	}
	counter.Add(t.Context(), 2)
	status, body := ask(t, http.MethodGet, "http://"+address+"/metrics")
	if status != http.StatusOK {
		t.Errorf("scrape: got status %d and %s, want 200", status, body)
	}
	if status, _ := ask(t, http.MethodPost, "http://"+address+"/metrics"); status != http.StatusMethodNotAllowed {
		t.Errorf("POST: got status %d, want 405", status)
	}
	if status, _ := ask(t, http.MethodGet, "http://"+address+"/debug/pprof/"); status != http.StatusNotFound {
		t.Errorf("another path: got status %d, want 404", status)
	}
	if err := tel.Close(t.Context()); err != nil {
		t.Errorf("Close: got %v, want nil", err)
	}
	return body
}

// TestScrape scrapes two processes of one service, which have different ids.
func TestScrape(t *testing.T) {
	target := regexp.MustCompile(`target_info\{service_instance_id="([^"]+)",service_name="orchestrator",service_version="` + regexp.QuoteMeta(version.Version) + `"\} 1`)
	ids := make(map[string]bool)
	for range 2 {
		body := scraped(t)
		for _, line := range []string{"toolsandbox_rollout_ended_total 2\n", "\ngo_goroutines "} {
			if !strings.Contains(body, line) {
				t.Errorf("scrape: got %s, want %q in it", body, line)
			}
		}
		if found := target.FindStringSubmatch(body); found != nil {
			ids[found[1]] = true
		}
	}
	if len(ids) != 2 {
		t.Errorf("instances: got %v, want two", ids)
	}
}

// TestSeriesAreBounded records more models than an instrument has series. The others share one.
func TestSeriesAreBounded(t *testing.T) {
	address := porttest.Address(t)
	tel, err := telemetry.Start(t.Context(), telemetry.Config{MetricsListen: address}, "agentgw")
	if err != nil {
		t.Fatal(err)
	}
	counter, err := otel.Meter("test").Int64Counter("toolsandbox.requests")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5000 {
		counter.Add(t.Context(), 1, metric.WithAttributes(attribute.String("model", fmt.Sprintf("m%d\n\"", i))))
	}
	_, body := ask(t, http.MethodGet, "http://"+address+"/metrics")
	if got := strings.Count(body, "\ntoolsandbox_requests_total{"); got != 2000 {
		t.Errorf("series of 5000 models: got %d, want 2000", got)
	}
	if !strings.Contains(body, `toolsandbox_requests_total{otel_metric_overflow="true"} 3001`) {
		t.Error("series of the other models: got none with 3001 requests")
	}
	if err := tel.Close(t.Context()); err != nil {
		t.Errorf("Close: got %v, want nil", err)
	}
}

// TestTracesWithoutMetrics sends spans and no metrics to a receiver that takes both.
func TestTracesWithoutMetrics(t *testing.T) {
	r := receive(t)
	tel, err := telemetry.Start(t.Context(), telemetry.Config{Endpoint: r.address, SampleRatio: 1}, "p")
	if err != nil {
		t.Fatal(err)
	}
	if !tel.Enabled() || tel.Measures() {
		t.Errorf("Enabled, Measures: got %v, %v, want true, false", tel.Enabled(), tel.Measures())
	}
	child(tel.Rollout(t.Context(), "s.0", 0), "child")
	if err := tel.Close(t.Context()); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if len(r.spans) != 1 || len(r.metrics) != 0 {
		t.Errorf("received: got %d spans and the metrics %v, want 1 and none", len(r.spans), r.metrics)
	}
}

func TestMetricsListenErrors(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	}()
	taken := listener.Addr().String()
	_, err = telemetry.Start(t.Context(), telemetry.Config{MetricsListen: taken}, "p")
	if err == nil || !strings.HasPrefix(err.Error(), "listen for scrapes on "+taken) || !strings.HasSuffix(err.Error(), "choose another --metrics-listen") {
		t.Errorf("port in use: got %v, want an error that names it and the flag", err)
	}
	for _, listen := range []string{"7405", "localhost", "localhost:"} {
		if err := (telemetry.Config{MetricsListen: listen}).Validate(); err == nil || !strings.HasPrefix(err.Error(), "--metrics-listen: ") {
			t.Errorf("Validate of %q: got %v, want an error that names the flag", listen, err)
		}
	}
}
