package play

import (
	"errors"
	"fmt"
	"net/url"
)

// checkTraceUI rejects an address that cannot be opened, and one for traces that nobody records.
func (o *Options) checkTraceUI() error {
	if o.traceUI == "" {
		return nil
	}
	if at, err := url.Parse(o.traceUI); err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return fmt.Errorf("--trace-ui: %q given, expected an address such as http://localhost:16686", o.traceUI)
	}
	if o.telemetry.Endpoint == "" && !o.installation.Network.Remote {
		return errors.New("--trace-ui: this run records no traces: give --otlp-endpoint too")
	}
	return nil
}
