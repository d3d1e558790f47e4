package telemetry

import (
	"fmt"
	"net/url"
	"strings"
)

// CheckTraceUI rejects an address of --trace-ui that a browser cannot open; empty is none.
func CheckTraceUI(ui string) error {
	if ui == "" {
		return nil
	}
	if at, err := url.Parse(ui); err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return fmt.Errorf("--trace-ui: %q given, expected an address such as http://localhost:16686", ui)
	}
	return nil
}

// TraceAddress returns the address of a rollout's trace in Jaeger's user interface at ui, or in
// another one with the same paths.
func TraceAddress(ui, rolloutID string, round int32) string {
	return fmt.Sprintf("%s/trace/%s", strings.TrimRight(ui, "/"), RolloutSpan(rolloutID, round).TraceID())
}
