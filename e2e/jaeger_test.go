//go:build jaeger

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	"github.com/toolsandbox/toolsandbox/internal/telemetry"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
)

// maxOperations bounds the names of all spans of the catalogue, whose tools are some 40.
const maxOperations = 64

// jaegerConfig is Jaeger with its traces in memory. The parameters are the addresses of OTLP and of
// the query API.
const jaegerConfig = `service:
  extensions: [jaeger_storage, jaeger_query]
  pipelines:
    traces: {receivers: [otlp], exporters: [jaeger_storage_exporter]}
  telemetry: {metrics: {level: none}, logs: {level: warn}}
extensions:
  jaeger_storage: {backends: {memory: {memory: {max_traces: 100000}}}}
  jaeger_query: {storage: {traces: memory}, http: {endpoint: %[2]q}, grpc: {endpoint: "127.0.0.1:0"}}
receivers:
  otlp: {protocols: {grpc: {endpoint: %[1]q}}}
exporters:
  jaeger_storage_exporter: {trace_storage: memory}
`

// jaeger is a running Jaeger.
type jaeger struct{ otlp, query string }

// jaegerTrace is a trace in the form of Jaeger's query API.
type jaegerTrace struct {
	Spans []struct {
		SpanID, OperationName string
		References            []struct{ RefType, TraceID, SpanID string }
		Tags                  []struct {
			Key   string
			Value any
		}
		Warnings []string
	}
	Warnings []string
}

// startJaeger starts the program that `make jaeger` builds.
func startJaeger(t *testing.T) jaeger {
	t.Helper()
	program, err := filepath.Abs(filepath.Join("..", ".bin", "jaeger"))
	if err != nil {
		t.Fatal(err)
	}
	var addresses [2]string
	for i := range addresses {
		address, release, err := porttest.Reserve()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = release() })
		addresses[i] = address
	}
	config := filepath.Join(t.TempDir(), "jaeger.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, jaegerConfig, addresses[0], addresses[1]), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "--config", config)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.Env = append(os.Environ(), "OTEL_TRACES_SAMPLER=always_off") // it would trace itself
	if err := cmd.Start(); err != nil {
		t.Fatalf("start Jaeger: %v: run make jaeger", err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // its exit code is its own affair
	j := jaeger{addresses[0], "http://" + addresses[1]}
	eventually(t, "Jaeger", func() bool { var answer struct{}; return j.get(t.Context(), "/api/services", &answer) == nil })
	return j
}

// get reads from the query API.
func (j jaeger) get(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, j.query+path, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(into)
}

// trace reads the trace of a rollout, and the answer as it is.
func (j jaeger) trace(t *testing.T, rollout string) (jaegerTrace, json.RawMessage) {
	t.Helper()
	var answer struct{ Data []json.RawMessage }
	if err := j.get(t.Context(), "/api/traces/"+telemetry.RolloutSpan(rollout, 0).TraceID().String(), &answer); err != nil || len(answer.Data) != 1 {
		t.Fatalf("trace of %s: got %d and %v, want one", rollout, len(answer.Data), err)
	}
	var trace jaegerTrace
	if err := json.Unmarshal(answer.Data[0], &trace); err != nil {
		t.Fatal(err)
	}
	return trace, answer.Data[0]
}

// TestJaeger sends a sweep of scripts and one of a model to Jaeger and reads every trace back: each
// rollout has one, with one root, without orphans and warnings.
func TestJaeger(t *testing.T) {
	j := startJaeger(t)
	services := startCluster(t, cluster.Config{Args: []string{"--otlp-endpoint", j.otlp}})
	provider := startSlowProvider(t)
	out := t.TempDir()
	const trials = 8
	scenarios := []string{"turn_off_wifi", "is_cellular_on", "which_mateo", "wifi_while_saving_battery"}
	toolsandbox(t, slices.Concat([]string{"run", "--agent", "oracle", "--sweep-id", "scripts", "--trials", strconv.Itoa(trials), "--out", filepath.Join(out, "scripts")}, services.ClientArgs(), scenarios)...)
	toolsandbox(t, append([]string{"run", "--agent", "openai:small", "--base-url", provider, "--sweep-id", "model", "--out", filepath.Join(out, "model"), "turn_off_wifi"}, services.ClientArgs()...)...)
	if err := services.Stop(); err != nil {
		t.Fatal(err)
	}
	for n := range trials * len(scenarios) {
		trace, _ := j.trace(t, "scripts."+strconv.Itoa(n))
		trace.check(t, "scripts."+strconv.Itoa(n))
	}
	trace, raw := j.trace(t, "model.0")
	trace.check(t, "model.0")
	if path := os.Getenv("TOOLSANDBOX_TRACE"); path != "" { // for make trace-picture
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var operations []string
	for _, service := range cluster.Services() {
		var answer struct{ Data []string }
		if err := j.get(t.Context(), "/api/services/"+url.PathEscape(service)+"/operations", &answer); err != nil {
			t.Fatal(err)
		}
		operations = append(operations, answer.Data...)
	}
	t.Logf("operations: %v", operations)
	if len(operations) == 0 || len(operations) > maxOperations {
		t.Errorf("got %d operations, want 1 to %d", len(operations), maxOperations)
	}
}

// check checks that a trace has one root, no orphan and no warning.
func (trace jaegerTrace) check(t *testing.T, rollout string) {
	t.Helper()
	known, roots := make(map[string]bool), 0
	for _, span := range trace.Spans {
		known[span.SpanID] = true
	}
	warnings := slices.Clone(trace.Warnings)
	for _, span := range trace.Spans {
		warnings = append(warnings, span.Warnings...)
		parents := 0
		for _, reference := range span.References {
			if reference.RefType == "CHILD_OF" {
				parents++
				if !known[reference.SpanID] {
					t.Errorf("%s: span %s is an orphan", rollout, span.OperationName)
				}
			}
		}
		if parents == 0 {
			roots++
		}
		for _, tag := range span.Tags {
			if tag.Key == "error" && tag.Value == true && span.OperationName != "POST" {
				t.Errorf("%s: span %s is red", rollout, span.OperationName)
			}
		}
	}
	if roots != 1 || len(warnings) > 0 {
		t.Errorf("%s: got %d roots and the warnings %q, want one and none", rollout, roots, warnings)
	}
}

// startSlowProvider serves a model that needs 300 ms for an answer, is overloaded once, switches
// wifi off and says so.
func startSlowProvider(t *testing.T) string {
	t.Helper()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Tools    json.RawMessage
			Messages []struct{ Role string }
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || len(request.Messages) == 0 {
			http.NotFound(w, r) // the check of players asks for the list of models
			return
		}
		timer := time.NewTimer(300 * time.Millisecond)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(string(request.Tools), "set_wifi_status") && asked.Add(1) == 1 { // not the probe
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(`{"error": {"message": "overloaded"}}`))
			return
		}
		message := `"content": "Wifi is off."`
		if last := request.Messages[len(request.Messages)-1].Role; last != "tool" {
			message = `"tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "set_wifi_status", "arguments": "{\"on\": false}"}}]`
		}
		_, _ = fmt.Fprintf(w, `{"model": "small-2026-11", "choices": [{"finish_reason": %q, "message": {"role": "assistant", %s}}], "usage": {"prompt_tokens": 700, "completion_tokens": 21}}`,
			map[bool]string{true: "tool_calls", false: "stop"}[strings.HasPrefix(message, `"tool`)], message)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}
