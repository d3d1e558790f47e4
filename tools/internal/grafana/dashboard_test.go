// Package grafana_test reads the dashboard as Grafana does.
package grafana_test

import (
	"os"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// TestDashboard reads the dashboard into Grafana's own types, which refuse fields that Grafana does
// not have.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("../../../deploy/observability/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	plugins.RegisterDefaultPlugins()
	var got dashboard.Dashboard //nolint:staticcheck // Grafana before 12 does not have the second version
	// It returns an error without a text when it found nothing.
	if err := got.UnmarshalJSONStrict(text); err != nil && err.Error() != "" {
		t.Fatal(err)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
	if len(got.Panels) == 0 {
		t.Error("the dashboard has no panel")
	}
}
