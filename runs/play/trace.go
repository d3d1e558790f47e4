package play

import (
	"errors"

	"github.com/toolsandbox/toolsandbox/internal/telemetry"
)

// checkTraceUI rejects an address that cannot be opened, and one for traces that nobody records.
func (o *Options) checkTraceUI() error {
	if o.traceUI == "" {
		return nil
	}
	if err := telemetry.CheckTraceUI(o.traceUI); err != nil {
		return err
	}
	if o.telemetry.Endpoint == "" && !o.installation.Network.Remote {
		return errors.New("--trace-ui: this run records no traces: give --otlp-endpoint too")
	}
	return nil
}
