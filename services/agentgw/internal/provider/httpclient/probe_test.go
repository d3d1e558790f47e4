package httpclient

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
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
					t.Errorf("Reach: got %v, want nil", err)
				}
			}
		})
	}
	callers.Wait()
	gone := httptest.NewServer(nil)
	gone.Close()
	if err := new(Client).Probe(t.Context(), gone.URL, time.Second); err == nil {
		t.Error("Reach of a server that is gone: got nil, want an error")
	}
}
