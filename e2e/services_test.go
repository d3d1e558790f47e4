package e2e_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// serviceKey is the key that the hosted services require.
const serviceKey = "not-to-be-seen-anywhere"

// exchange is a scenario that uses two hosted services, one of them twice.
const exchange = `exchange:
  clock: {now: 2025-01-02T09:00:00, time_zone: Europe/Berlin}
  tables: {setting: [{cellular: true, wifi: true, location_service: true, low_battery_mode: false, latitude: 52.52, longitude: 13.405}]}
  user:
    goal: Know what a share of the company costs in euros.
    says: What is a share of Acme in euros?
  oracle:
    - calls: [{search_stock: {query: Acme}}, {search_stock: {query: Acme}}]
    - convert_currency: {amount: 20, from_currency_code: USD, to_currency_code: EUR}
    - say: A share of Acme is 18.40 euros.
`

// startServices starts servers in place of the hosted services. The n-th answer contains n.
func startServices(t *testing.T) (server *httptest.Server, requests *atomic.Int32) {
	t.Helper()
	requests = &atomic.Int32{}
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := requests.Add(1)
		if got := r.Header.Get("X-RapidAPI-Key"); got != serviceKey {
			t.Errorf("key: got %q, want %q", got, serviceKey)
		}
		if r.Header.Get("X-RapidAPI-Host") == "real-time-finance-data.p.rapidapi.com" {
			_, _ = fmt.Fprintf(w, `{"data": {"stock": [{"symbol": "ACME:NYSE", "price": %d}]}}`, n)
			return
		}
		_, _ = fmt.Fprintf(w, `{"result": {"convertedAmount": %d.4}}`, n)
	}))
	t.Cleanup(server.Close)
	return server, requests
}

// writePack writes a pack with one scenario.
func writePack(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "exchange.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestHostedServices runs a scenario with live services, replays it without them, and runs it from
// its recordings.
func TestHostedServices(t *testing.T) {
	server, requests := startServices(t)
	t.Setenv("RAPID_API_KEY", serviceKey)
	t.Setenv("TOOLSANDBOX_TOOLHOST_SERVICE_URL", server.URL)
	pack, dir := writePack(t, exchange), t.TempDir()
	play := func(name, services, from string) string {
		t.Helper()
		out := filepath.Join(dir, name)
		toolsandbox(t, "run", "--agent", "oracle", "--services", services, "--pack", from, "--out", out)
		return out
	}
	lived := play("live", "live", pack)
	if got := requests.Load(); got != 2 {
		t.Errorf("requests of the live run: got %d, want 2: the batch asks the same thing twice", got)
	}
	server.Close()
	replayed := toolsandbox(t, "session", "replay", "exchange", "--out", lived)
	if !strings.Contains(replayed, " 4 answers ") {
		t.Errorf("replay: got %q, want 4 identical answers", replayed)
	}
	recordings := toolsandbox(t, "session", "recordings", "exchange", "--out", lived)
	for _, want := range []string{"recordings:\n", `"price": 1`, `"convertedAmount": 2.4`} {
		if !strings.Contains(recordings, want) {
			t.Errorf("recordings: got\n%s\nwant %q in it", recordings, want)
		}
	}
	pack = writePack(t, exchange+recordings)
	for _, services := range []string{"recorded", "record"} {
		equalRuns(t, lived, play(services, services, pack))
	}
	if got := requests.Load(); got != 2 {
		t.Errorf("requests: got %d, want none after the live run", got-2)
	}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(raw), serviceKey) {
			t.Errorf("%s holds the key", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
