package toolhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/service"
)

const (
	offline  = toolhostv1.HostedServices_HOSTED_SERVICES_OFFLINE
	recorded = toolhostv1.HostedServices_HOSTED_SERVICES_RECORDED
	live     = toolhostv1.HostedServices_HOSTED_SERVICES_LIVE
	record   = toolhostv1.HostedServices_HOSTED_SERVICES_RECORD
)

// hosted is a server for all hosted services. The n-th request of a run gets an answer with n, so
// that repeated requests are visible.
type hosted struct {
	url string

	mu   sync.Mutex
	asks []string // the requests in order
	down bool
}

func startHosted(tb testing.TB) *hosted {
	tb.Helper()
	h := &hosted{}
	server := httptest.NewServer(h)
	tb.Cleanup(server.Close)
	h.url = server.URL
	return h
}

func (h *hosted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asks = append(h.asks, r.RequestURI)
	if h.down {
		http.Error(w, "down", http.StatusNotFound)
		return
	}
	n := len(h.asks)
	switch r.URL.Path {
	case "/ReverseGeocode":
		_, _ = fmt.Fprintf(w, `{"results": [{"address": "%d Rue de Rivoli"}]}`, n)
	case "/searchmaps.php":
		_, _ = fmt.Fprintf(w, `{"status": "ok", "data": [{"name": "Bakery %d", "place_id": "x"}]}`, n)
	case "/forecast.json":
		day := `{"day": {"maxtemp_c": 20.5, "maxtemp_f": 1}, "astro": {"sunrise": "06:00 AM"}}`
		_, _ = fmt.Fprintf(w, `{"location": {"name": "Paris %d"}, "current": {"temp_c": 18}, "forecast": {"forecastday": [%s, %s]}}`, n, day, day)
	case "/search":
		_, _ = fmt.Fprintf(w, `{"data": {"stock": [{"symbol": "S%d:NYSE", "price": 1.5}]}}`, n)
	case "/api/v1/convert":
		_, _ = fmt.Fprintf(w, `{"result": {"convertedAmount": %d.5}}`, n)
	default:
		http.NotFound(w, r)
	}
}

// taken returns the requests since the last call.
func (h *hosted) taken() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	asks := h.asks
	h.asks = nil
	return asks
}

func (h *hosted) setDown(down bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down = down
}

// serve starts a tool host on a file with the given services.
func (h *hosted) serve(tb testing.TB, file string) fixture {
	tb.Helper()
	return serveWith(tb, file, natstest.Start(tb), ownsAll, newServices(tb, service.ClientConfig{Key: service.NewKey("some-key"), BaseURL: h.url}))
}

func createWith(tb testing.TB, client toolhostv1.ToolHostServiceClient, id string, services toolhostv1.HostedServices, recordings ...*setupv1.RecordedAnswer) {
	tb.Helper()
	setup := smallSetup("small")
	setup.Recordings = recordings
	if _, err := client.CreateSession(tb.Context(), &toolhostv1.CreateSessionRequest{SessionId: id, Setup: setup, HostedServices: services}); err != nil {
		tb.Fatalf("create %s: %v", id, err)
	}
}

// say executes source at an index and returns the result of each call.
func say(tb testing.TB, client toolhostv1.ToolHostServiceClient, id string, index int32, sources ...string) []string {
	tb.Helper()
	calls := make([]*worldv1.Message, len(sources))
	for i, source := range sources {
		calls[i] = call(index-int32(len(sources)-i), worldv1.Role_ROLE_AGENT, source)
	}
	var contents []string
	for _, answer := range run(tb, client, id, index, calls...).GetAnswers() {
		contents = append(contents, messagetext.Content(answer))
	}
	return contents
}

func answers(tb testing.TB, client toolhostv1.ToolHostServiceClient, id string) []*toolhostv1.ServiceAnswer {
	tb.Helper()
	stream, err := client.ListAnswers(tb.Context(), &toolhostv1.ListAnswersRequest{SessionId: id})
	if err != nil {
		tb.Fatalf("list answers of %s: %v", id, err)
	}
	var all []*toolhostv1.ServiceAnswer
	for {
		response, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			tb.Fatalf("list answers of %s: %v", id, err)
		}
		all = append(all, response.GetAnswer())
	}
}

func wantEqual(tb testing.TB, what string, got, want any) {
	tb.Helper()
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		tb.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func storePath(tb testing.TB) string { tb.Helper(); return filepath.Join(tb.TempDir(), storeFile) }

func TestLiveTools(t *testing.T) {
	services := startHosted(t)
	client := services.serve(t, storePath(t)).client
	createWith(t, client, "s", live)
	tests := []struct{ source, want, ask string }{
		{"print(repr(search_lat_lon(48.85, 2.35)))", "'1 Rue de Rivoli'", "/ReverseGeocode?location=48.85%2C2.35&language=en"},
		{"print(repr(search_location_around_lat_lon('bakery')))", "[{'name': 'Bakery 1'}]", "/searchmaps.php?query=bakery&lat=1.0&lng=2.0&limit=4&country=us&lang=en"},
		{
			"print(repr(search_weather_around_lat_lon(1)))",
			"{'sunrise': '06:00 AM', 'name': 'Paris 1', 'temperature_unit': 'Celsius', 'distance_unit': 'Kilometer', 'max_temperature': 20.5}",
			"/forecast.json?q=1.0%2C+2.0&days=2",
		},
		{"print(repr(search_stock('Café & Co')))", "{'symbol': 'S1', 'price': 1.5}", "/search?query=Caf%C3%A9+%26+Co"},
		{"print(repr(convert_currency(100, 'usd', 'EUR')))", "1.5", "/api/v1/convert?from=USD&to=EUR&amount=100"},
	}
	for i, test := range tests {
		wantEqual(t, test.source, say(t, client, "s", int32(3+2*i), test.source), []string{test.want})
		wantEqual(t, "requests of "+test.source, services.taken(), []string{test.ask})
	}
	if got := len(answers(t, client, "s")); got != len(tests) {
		t.Errorf("got %d stored answers, want %d", got, len(tests))
	}
	say(t, client, "s", 21, "set_wifi_status(False)")
	wantEqual(t, "without wifi", say(t, client, "s", 23, "print(search_stock('A'))"), []string{"ConnectionError: Wifi is not enabled"})
	wantEqual(t, "requests without wifi", services.taken(), []string(nil))
}

func TestLiveWithoutKey(t *testing.T) {
	client := start(t)
	createWith(t, client, "s", live)
	want := "PermissionError: Please provide 'RAPID_API_KEY' in environment variable. You can find your API key by following https://docs.rapidapi.com/v1.0/docs/keys"
	wantEqual(t, "answer", say(t, client, "s", 3, "print(search_stock('A'))"), []string{want})
}

// TestLiveFailure checks that a tool raises the failure of a service, and that the result is
// stored.
func TestLiveFailure(t *testing.T) {
	services := startHosted(t)
	services.setDown(true)
	client := services.serve(t, storePath(t)).client
	createWith(t, client, "s", record)
	want := "requests.exceptions.HTTPError: 404 Client Error: Not Found for url: https://real-time-finance-data.p.rapidapi.com/search?query=A"
	wantEqual(t, "answer", say(t, client, "s", 3, "print(search_stock('A'))"), []string{want})
	services.setDown(false)
	wantEqual(t, "the same execution", say(t, client, "s", 3, "print(search_stock('A'))"), []string{want})
	wantEqual(t, "requests", len(services.taken()), 1)
	wantEqual(t, "another execution", say(t, client, "s", 5, "print(repr(search_stock('A')))"), []string{"{'symbol': 'S1', 'price': 1.5}"})
	stored := answers(t, client, "s")
	if len(stored) != 2 || stored[0].GetExceptionType() != "requests.exceptions.HTTPError" || stored[0].GetIndex() != 3 || stored[1].GetExceptionType() != "" {
		t.Errorf("stored answers: got %v, want a failure at 3 and an answer", stored)
	}
}

// TestLiveRequestsOnce executes batches and programs that send an equal request in many orders.
func TestLiveRequestsOnce(t *testing.T) {
	services := startHosted(t)
	client := services.serve(t, storePath(t)).client
	createWith(t, client, "s", live)
	got := say(t, client, "s", 10, "print(search_stock('A')['symbol'])", "print(search_stock('B')['symbol'])", "print(search_stock(query='A')['symbol'])",
		"set_low_battery_mode_status(True)", "set_wifi_status(True)", "set_wifi_status(False)", "print(search_lat_lon(1, 2))")
	if !slices.ContainsFunc(got, func(text string) bool { return strings.Contains(text, "Error") }) {
		t.Errorf("got answers %q, want an order in which a call fails", got)
	}
	asks := services.taken()
	slices.Sort(asks)
	if repeated := len(slices.Compact(slices.Clone(asks))); repeated != len(asks) {
		t.Errorf("requests: got %q, want each once", asks)
	}
	createWith(t, client, "p", live)
	wantEqual(t, "a program", say(t, client, "p", 21, "for i in range(3):\n    print(search_stock('C')['symbol'])"), []string{"S1\nS1\nS1"})
	wantEqual(t, "requests of the program", len(services.taken()), 1)
	_, err := client.Execute(t.Context(), &toolhostv1.ExecuteRequest{SessionId: "p", Index: 30, Calls: []*worldv1.Message{
		call(29, worldv1.Role_ROLE_AGENT, "for i in range(100):\n    search_stock(str(i))"),
	}})
	wantCode(t, "a hundred requests at once", err, codes.ResourceExhausted)
	wantEqual(t, "requests up to the quota", len(services.taken()), 64)
}

// TestLiveAndRecord compares the requests of the two modes in later executions, before and after a
// restart.
func TestLiveAndRecord(t *testing.T) {
	services := startHosted(t)
	file := storePath(t)
	server := services.serve(t, file)
	given := &setupv1.RecordedAnswer{Url: service.StocksURL, ParamsJson: `{"query": "Given"}`, ResponseJson: `{"data": {"stock": [{"symbol": "GIVEN"}]}}`}
	for id, mode := range map[string]toolhostv1.HostedServices{"l": live, "r": record} {
		createWith(t, server.client, id, mode, given)
	}
	symbol := func(id string, index int32, name string) string {
		t.Helper()
		return say(t, server.client, id, index, "print(search_stock('"+name+"')['symbol'])")[0]
	}
	steps := []struct {
		id    string
		index int32
		name  string
		want  string
		asks  int
	}{
		{"l", 3, "Given", "S1", 1}, {"l", 5, "A", "S1", 1}, {"l", 7, "A", "S1", 1}, {"l", 7, "A", "S1", 0},
		{"r", 3, "Given", "GIVEN", 0}, {"r", 5, "A", "S1", 1}, {"r", 7, "A", "S1", 0}, {"r", 9, "B", "S1", 1},
	}
	for _, step := range steps {
		what := fmt.Sprintf("%s at %d: %s", step.id, step.index, step.name)
		wantEqual(t, what, symbol(step.id, step.index, step.name), step.want)
		wantEqual(t, what+": requests", len(services.taken()), step.asks)
	}
	server.close()
	server = services.serve(t, file)
	wantEqual(t, "recorded, after a restart", symbol("r", 11, "B"), "S1")
	wantEqual(t, "requests", len(services.taken()), 0)
	wantEqual(t, "live, after a restart", symbol("l", 11, "A"), "S1")
	wantEqual(t, "requests", len(services.taken()), 1)
	for id, want := range map[string]toolhostv1.HostedServices{"l": live, "r": record} {
		response, err := server.client.GetSession(t.Context(), &toolhostv1.GetSessionRequest{SessionId: id})
		if got := response.GetSession().GetHostedServices(); err != nil || got != want {
			t.Errorf("session %s: got %v, error %v, want %v", id, got, err, want)
		}
		setup := smallSetup("small")
		setup.Recordings = []*setupv1.RecordedAnswer{given}
		_, err = server.client.CreateSession(t.Context(), &toolhostv1.CreateSessionRequest{SessionId: id, Setup: setup})
		wantCode(t, "create with other services", err, codes.AlreadyExists)
	}
	stream, err := server.client.ListAnswers(t.Context(), &toolhostv1.ListAnswersRequest{SessionId: "none"})
	if err != nil {
		t.Fatalf("list answers: %v", err)
	}
	_, err = stream.Recv()
	wantCode(t, "list answers of nothing", err, codes.NotFound)
}

// TestRecordedOrOffline checks the two modes without requests, and the default.
func TestRecordedOrOffline(t *testing.T) {
	client := start(t)
	given := &setupv1.RecordedAnswer{Url: service.StocksURL, ParamsJson: `{"query": "Apple"}`, ResponseJson: `{"data": {"stock": [{"symbol": "GIVEN"}]}}`}
	unset := toolhostv1.HostedServices_HOSTED_SERVICES_UNSPECIFIED
	none := "ConnectionError: No recorded answer of https://real-time-finance-data.p.rapidapi.com/search for {'query': 'Apple'}"
	tests := []struct {
		name       string
		services   toolhostv1.HostedServices
		recordings []*setupv1.RecordedAnswer
		want       string
	}{
		{"unset", unset, nil, "AAPL"},
		{"unset-given", unset, []*setupv1.RecordedAnswer{given}, "GIVEN"},
		{"offline", offline, nil, "AAPL"},
		{"offline-given", offline, []*setupv1.RecordedAnswer{given}, "AAPL"},
		{"recorded", recorded, nil, none},
		{"recorded-given", recorded, []*setupv1.RecordedAnswer{given}, "GIVEN"},
	}
	for _, test := range tests {
		createWith(t, client, test.name, test.services, test.recordings...)
		wantEqual(t, test.name, say(t, client, test.name, 3, "print(search_stock('Apple')['symbol'])"), []string{test.want})
	}
}

// TestKillAfterAnswer removes everything from a store except answers, as after a kill between
// answer and outcome.
func TestKillAfterAnswer(t *testing.T) {
	for name, mode := range map[string]toolhostv1.HostedServices{"live": live, "record": record} {
		t.Run(name, func(t *testing.T) {
			services := startHosted(t)
			file := storePath(t)
			server := services.serve(t, file)
			createWith(t, server.client, "s", mode)
			before := copyFile(t, file)
			sources := []string{"print(search_stock('A'))", "add_contact('Bob', '+14085551111')", "print(search_lat_lon(1, 2))"}
			want := say(t, server.client, "s", 5, sources...)
			wantEqual(t, "requests", len(services.taken()), 2)
			server.close()
			moveAnswers(t, file, before)
			after := services.serve(t, before)
			wantEqual(t, "answers after the kill", say(t, after.client, "s", 5, sources...), want)
			wantEqual(t, "requests after the kill", len(services.taken()), 0)
		})
	}
}

// moveAnswers copies the answers of one store to another. In the key of an answer, 4 follows the
// NUL after the session's id.
func moveAnswers(t *testing.T, from, to string) {
	t.Helper()
	open := func(file string) *bbolt.DB {
		db, err := bbolt.Open(file, 0o600, &bbolt.Options{Timeout: time.Second})
		if err != nil {
			t.Fatalf("open %s: %v", file, err)
		}
		return db
	}
	source, target := open(from), open(to)
	bucket, moved := []byte("session"), 0
	err := source.View(func(tx *bbolt.Tx) error {
		return target.Update(func(into *bbolt.Tx) error {
			return tx.Bucket(bucket).ForEach(func(k, v []byte) error {
				if _, rest, _ := strings.Cut(string(k), "\x00"); !strings.HasPrefix(rest, "\x04") {
					return nil
				}
				moved++
				return into.Bucket(bucket).Put(k, v)
			})
		})
	})
	if err = errors.Join(err, source.Close(), target.Close()); err != nil || moved != 2 {
		t.Fatalf("move answers: %d moved, error %v", moved, err)
	}
}

// TestForkAndReplayOffline repeats a session without the network. In a fork for replays, every
// answer is the original one.
func TestForkAndReplayOffline(t *testing.T) {
	for name, mode := range map[string]toolhostv1.HostedServices{"live": live, "record": record} {
		t.Run(name, func(t *testing.T) {
			services := startHosted(t)
			file := storePath(t)
			server := services.serve(t, file)
			createWith(t, server.client, "s", mode, &setupv1.RecordedAnswer{Url: service.StocksURL, ParamsJson: `{"query": "Z"}`, ResponseJson: `{"data": {"stock": [{"symbol": "Z"}]}}`})
			steps := []string{"print(search_stock('A'))", "print(search_stock('Z'))", "print(search_stock('A'))", "print(search_lat_lon(1, 2))", "add_contact('Bob', '+14085551111')"}
			var want []*toolhostv1.ExecuteResponse
			for i, source := range steps {
				services.setDown(i == 3)
				want = append(want, run(t, server.client, "s", int32(3+2*i), call(int32(2+2*i), worldv1.Role_ROLE_AGENT, source)))
			}
			services.setDown(false)
			services.taken()
			fork := func(client toolhostv1.ToolHostServiceClient, id string, index int32, newID string, replay bool) {
				t.Helper()
				request := &toolhostv1.ForkSessionRequest{SessionId: id, Index: index, NewSessionId: newID, Replay: replay}
				for range 2 {
					if _, err := client.ForkSession(t.Context(), request); err != nil {
						t.Fatalf("fork: %v", err)
					}
				}
				request.Replay = !replay
				_, err := client.ForkSession(t.Context(), request)
				wantCode(t, "fork in another way", err, codes.AlreadyExists)
			}
			fork(server.client, "s", 1, "again", true)
			fork(server.client, "s", 4, "later", false)
			server.close()
			server = services.serve(t, file)
			for i, source := range steps {
				got := run(t, server.client, "again", int32(3+2*i), call(int32(2+2*i), worldv1.Role_ROLE_AGENT, source))
				wantEqual(t, "replayed "+source, got, want[i])
				if i > 0 {
					got = run(t, server.client, "later", int32(3+2*i), call(int32(2+2*i), worldv1.Role_ROLE_AGENT, source))
					wantSameAnswers(t, "forked "+source, got, want[i])
				}
			}
			wantEqual(t, "requests of the replay and the fork", services.taken(), []string(nil))
			other := "ConnectionError: No recorded answer of https://real-time-finance-data.p.rapidapi.com/search for {'query': 'other'}"
			wantEqual(t, "another request in the replay", say(t, server.client, "again", 21, "print(search_stock('other'))"), []string{other})
			wantEqual(t, "requests", services.taken(), []string(nil))
			say(t, server.client, "later", 21, "print(search_stock('other'))")
			wantEqual(t, "requests of the fork", len(services.taken()), 1)
			for _, id := range []string{"s", "again"} {
				if _, err := server.client.DeleteSession(t.Context(), &toolhostv1.DeleteSessionRequest{SessionId: id}); err != nil {
					t.Errorf("delete %s: %v", id, err)
				}
			}
			wantEqual(t, "a fork of a deleted session", run(t, server.client, "later", 5, call(4, worldv1.Role_ROLE_AGENT, steps[1])), want[1])
			if got := answers(t, server.client, "later"); len(got) < 3 || got[0].GetIndex() != 3 {
				t.Errorf("answers of the fork: got %v, want those shared and its own", got)
			}
		})
	}
}

// TestLiveCancelled checks that a canceled call leaves no outcome, and that the next one continues.
func TestLiveCancelled(t *testing.T) {
	asked := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/search" {
			_, _ = io.WriteString(w, `{"data": {"stock": [{"symbol": "S"}]}}`)
			return
		}
		select {
		case asked <- struct{}{}:
			<-r.Context().Done()
		default:
			_, _ = io.WriteString(w, `{"results": [{"address": "here"}]}`)
		}
	}))
	t.Cleanup(server.Close)
	client := (&hosted{url: server.URL}).serve(t, storePath(t)).client
	createWith(t, client, "s", live)
	request := &toolhostv1.ExecuteRequest{SessionId: "s", Index: 4, Calls: []*worldv1.Message{
		call(2, worldv1.Role_ROLE_AGENT, "print(search_stock('A')['symbol'])"), call(3, worldv1.Role_ROLE_AGENT, "print(search_lat_lon(1, 2))"),
	}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := client.Execute(ctx, request)
		ended <- err
	}()
	<-asked
	asked <- struct{}{}
	cancel()
	wantCode(t, "cancelled", <-ended, codes.Canceled)
	response, err := client.Execute(t.Context(), request)
	if err != nil || len(response.GetAnswers()) != 2 || messagetext.Content(response.GetAnswers()[1]) != "here" {
		t.Errorf("the same again: got %v, error %v, want two answers", response.GetAnswers(), err)
	}
	if got := answers(t, client, "s"); len(got) != 2 {
		t.Errorf("stored answers: got %v, want two", got)
	}
}

// TestKeyFromEnvironment checks the source of Run's key, and the error for an unreadable file.
func TestKeyFromEnvironment(t *testing.T) {
	t.Setenv(service.KeyVariable, "")
	t.Setenv(service.KeyFileVariable, filepath.Join(t.TempDir(), "none"))
	if _, err := newClient(DefaultConfig(), slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), service.KeyFileVariable) {
		t.Errorf("without the file: got error %v, want one about %s", err, service.KeyFileVariable)
	}
	t.Setenv(service.KeyVariable, "k")
	client, err := newClient(DefaultConfig(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("with a key: %v", err)
	}
	client.Close()
}

// wantSameAnswers compares outcomes of sessions with other histories. A fork stores answers of
// hosted services that its parent already had.
func wantSameAnswers(t *testing.T, what string, got, want *toolhostv1.ExecuteResponse) {
	t.Helper()
	if diff := cmp.Diff(want, got, protocmp.Transform(), protocmp.IgnoreFields(want, "session_digest", "service_answers")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
