package httpclient

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
)

// TestProbeRepeatedly probes a server many times. It succeeds whichever side closes first, and
// sends no request.
func TestProbeRepeatedly(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("got a request, want none") }))
	defer server.Close()
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			for range 200 {
				if err := new(Client).Probe(t.Context(), server.URL+"/v1", 10*time.Second); err != nil {
					t.Errorf("Probe: got %v, want nil", err)
				}
			}
		})
	}
	callers.Wait()
	if err := new(Client).Probe(t.Context(), "http://"+porttest.Address(t), time.Second); err == nil {
		t.Error("Probe where nobody listens: got nil, want an error")
	}
}
