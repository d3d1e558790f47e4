package view

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

// playedSource is a source that a test plays.
type playedSource struct {
	mu      sync.Mutex
	scores  []string
	changed chan struct{}
	end     chan struct{}
}

func newPlayed(scores ...string) *playedSource {
	return &playedSource{scores: scores, changed: make(chan struct{}, 1), end: make(chan struct{})}
}

func (p *playedSource) add(score string) {
	p.mu.Lock()
	p.scores = append(p.scores, score)
	p.mu.Unlock()
	p.changed <- struct{}{}
}

func (p *playedSource) Run(context.Context) (*analysis.Run, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	summary := &resultfile.Summary{}
	for i, score := range p.scores {
		summary.Scenarios = append(summary.Scenarios, resultfile.ScenarioResult{Name: fmt.Sprintf("rollout_%d", i), Similarity: resultfile.Similarity(score)})
	}
	return analysis.NewRun("played", summary, nil), nil
}

func (p *playedSource) Trajectory(context.Context, string, *world.Schema) (*Trajectory, error) {
	return nil, os.ErrNotExist
}

func (p *playedSource) Follow(ctx context.Context, changed func(report.SweepDetail)) error {
	for {
		p.mu.Lock()
		done := int64(len(p.scores))
		p.mu.Unlock()
		changed(report.SweepDetail{Sweep: report.Sweep{State: report.SweepRunning, Done: done, Total: 9}, Parked: 4, Providers: []report.ProviderWait{{Provider: "openai <b>", Asked: 3, Limited: 2}}})
		select {
		case <-p.changed:
		case <-p.end:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// serveSite serves a site and returns its address. stop ends it and returns its error.
func serveSite(t *testing.T, site *Site) (address string, stop func() error) {
	t.Helper()
	listener, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- site.Serve(ctx, listener) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = stop() })
	return "http://" + listener.Addr().String() + "/", stop
}

// client keeps no connection, and each request has an end.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}

// fetch returns the body of a page.
func fetch(t *testing.T, address string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: got %s, %v\n%s", address, response.Status, err, body)
	}
	return string(body)
}

// noScenarios and noEvaluator are for sites of which no rollout is opened.
func noScenarios(context.Context) (map[string]*scenariov1.Scenario, error) {
	return map[string]*scenariov1.Scenario{}, nil
}

func onlyScenarios(scenarios map[string]*scenariov1.Scenario) Scenarios {
	return func(ctx context.Context) (map[string]*scenariov1.Scenario, error) { return scenarios, ctx.Err() }
}

func noEvaluator(ctx context.Context, do func(context.Context, evaluatorv1.EvaluatorServiceClient) error) error {
	return do(ctx, nil)
}

// TestSiteFollows shows the progress of a source and each rollout as it ends, and tells a stream of
// events of it.
func TestSiteFollows(t *testing.T) {
	source := newPlayed("0.5")
	address, stop := serveSite(t, NewSite([]Source{source}, noScenarios, noEvaluator, ""))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"events", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	events := bufio.NewScanner(response.Body)
	until := func(path string, parts ...string) {
		t.Helper()
		for events.Scan() {
			if events.Text() == "" {
				continue
			}
			body, missing := fetch(t, address+path), ""
			for _, part := range parts {
				if !strings.Contains(body, part) {
					missing = part
				}
			}
			if missing == "" {
				return
			}
		}
		t.Fatalf("%s: the events ended, %v, want %q in the page:\n%s", path, events.Err(), parts, fetch(t, address+path))
	}
	until("", "1 of 9 rollouts are done", "<dt>parked<dd>4", "openai &lt;b&gt; 3 (2 for its limits)", "<view-live")
	until("rollouts.html", "1 of 1 rollouts", "rollout_0")
	source.add("1")
	until("rollouts.html", "2 of 2 rollouts", "rollout_1", "<view-live")
	close(source.end)
	until("", "0.750", "2 of 9")
	for strings.Contains(fetch(t, address), "<view-live") { // until the report is complete
		if !events.Scan() {
			t.Fatal("the page still waits for events")
		}
	}
	cancel()
	if err := stop(); err != nil {
		t.Errorf("got %v, want no error", err)
	}
}

// TestSiteAnswersEarly asks for pages while the runs are read, which the end of the site ends.
func TestSiteAnswersEarly(t *testing.T) {
	source := &slowSource{newPlayed("1"), make(chan struct{})}
	address, stop := serveSite(t, NewSite([]Source{source}, noScenarios, noEvaluator, ""))
	for _, path := range []string{"", "rollouts.html", "A/rollout_0.html"} {
		if body := fetch(t, address+path); !strings.Contains(body, "being read") || !strings.Contains(body, "<view-live") {
			t.Errorf("%s: got\n%s\nwant that the runs are being read", path, body)
		}
	}
	if err := stop(); err != nil {
		t.Errorf("got %v, want no error", err)
	}
}

// slowSource is a source that is read until its channel is closed.
type slowSource struct {
	*playedSource
	read chan struct{}
}

func (s *slowSource) Run(ctx context.Context) (*analysis.Run, error) {
	select {
	case <-s.read:
		return s.playedSource.Run(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestSiteEndsWithinReport ends a site whose report takes long.
func TestSiteEndsWithinReport(t *testing.T) {
	var scores []string
	for i := range 40_000 {
		scores = append(scores, fmt.Sprint(i%2))
	}
	source := newPlayed(scores...)
	close(source.end)
	address, stop := serveSite(t, NewSite([]Source{source}, noScenarios, noEvaluator, ""))
	for !strings.Contains(fetch(t, address), "0.500") {
		if t.Context().Err() != nil {
			t.Fatal("no mean")
		}
	}
	if err := stop(); err != nil {
		t.Errorf("got %v, want no error", err)
	}
}

// shortSource is a source without rollouts until it has ended, soon after it was first read.
type shortSource struct {
	*playedSource
	read func()
	over chan struct{}
}

func (s *shortSource) Run(ctx context.Context) (*analysis.Run, error) {
	s.read()
	select {
	case <-s.over:
		return s.playedSource.Run(ctx)
	default:
		return analysis.NewRun("short", &resultfile.Summary{}, nil), nil
	}
}

func (s *shortSource) Follow(ctx context.Context, _ func(report.SweepDetail)) error {
	<-s.end
	close(s.over)
	return ctx.Err()
}

// TestSiteOfShortRun shows the rollouts of a run that ended while another one is played.
func TestSiteOfShortRun(t *testing.T) {
	short := &shortSource{playedSource: newPlayed("0.25"), over: make(chan struct{})}
	short.read = sync.OnceFunc(func() { close(short.end) })
	address, _ := serveSite(t, NewSite([]Source{newPlayed(), short}, noScenarios, noEvaluator, ""))
	for began := time.Now(); !strings.Contains(fetch(t, address+"rollouts.html?run=B"), "0.250"); {
		if time.Since(began) > 10*time.Second {
			t.Fatal("the run that has ended has no rollouts")
		}
	}
}

// TestManyStreams opens more streams of events than the site has, some of which never read, and
// still gets pages.
func TestManyStreams(t *testing.T) {
	source := newPlayed("1")
	address, _ := serveSite(t, NewSite([]Source{source}, noScenarios, noEvaluator, ""))
	host := strings.TrimSuffix(strings.TrimPrefix(address, "http://"), "/")
	accepted, refused := 0, 0
	for range mostStreams + 100 {
		conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(t.Context(), "tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := fmt.Fprintf(conn, "GET /events HTTP/1.1\r\nHost: %s\r\n\r\n", host); err != nil {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		line, err := bufio.NewReaderSize(conn, 16).ReadString('\n')
		switch {
		case err != nil:
			t.Fatal(err)
		case strings.Contains(line, "200"):
			accepted++
		case strings.Contains(line, "503"):
			refused++
		}
	}
	if accepted != mostStreams || refused != 100 {
		t.Errorf("got %d streams and %d refused, want %d and 100", accepted, refused, mostStreams)
	}
	if body := fetch(t, address); !strings.Contains(body, "rollout") {
		t.Errorf("page beside streams: got\n%s", body)
	}
}

// TestSiteProves plays the proof of a scenario while its page says so, and anew after it could not
// be played. A variant and an unknown scenario have none.
func TestSiteProves(t *testing.T) {
	scenarios := catalogued(t)
	source := newPlayed("1")
	close(source.end)
	address, stop := serveSite(t, NewSite([]Source{source}, onlyScenarios(scenarios), noEvaluator, ""))
	for strings.Contains(fetch(t, address), "being read") {
		if t.Context().Err() != nil {
			t.Fatal("the run is not read")
		}
	}
	if body := fetch(t, address+"scenario/wifi_while_saving_battery.html"); !strings.Contains(body, `href="../scenario/wifi_while_saving_battery/proof.html"`) {
		t.Errorf("scenario: got\n%s\nwant a link to its proof", body)
	}
	proof := address + "scenario/wifi_while_saving_battery/proof.html"
	proven := func() (body string) {
		t.Helper()
		for began := time.Now(); ; {
			if body = fetch(t, proof); !strings.Contains(body, "is being played") {
				return body
			}
			if time.Since(began) > time.Minute {
				t.Fatal("no proof after a minute")
			}
		}
	}
	existing := os.TempDir()
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	if body := proven(); !strings.Contains(body, "no such file or directory") || strings.Contains(body, "<view-live") {
		t.Errorf("without a directory: got\n%s\nwant the reason, on a page that stays", body)
	}
	t.Setenv("TMPDIR", existing)
	body := fetch(t, proof)
	if !strings.Contains(body, "is being played") || !strings.Contains(body, "<view-live") {
		t.Errorf("at first: got\n%s\nwant that it is being played", body)
	}
	body = proven()
	for _, want := range []string{">proven<", "oracle_all_tools", "unhelpful agent", "at most 0.35", "without &#34;wifi_on&#34;", "on: flipped"} {
		if !strings.Contains(body, want) {
			t.Errorf("got\n%s\nwant %q in it", body, want)
		}
	}
	for _, none := range []string{"scenario/wifi_while_saving_battery_all_tools/proof.html", "scenario/no/proof.html"} {
		response, err := client.Get(address + none) //nolint:noctx // the client has a timeout
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusNotFound {
			t.Errorf("%s: got %s and %v, want 404", none, response.Status, err)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestSiteOfDeletedDirectory deletes a run while it is served: the table stays, and a rollout says
// what is missing.
func TestSiteOfDeletedDirectory(t *testing.T) {
	scenarios := catalogued(t)
	dir := writeRun(t, scenarios["turn_off_wifi"], "Done.", 1, "turn_off_wifi")
	known := onlyScenarios(scenarios)
	sources, err := OpenAll(t.Context(), []string{dir}, false, io.Discard, known, nil)
	if err != nil {
		t.Fatal(err)
	}
	evaluator := func(ctx context.Context, do func(context.Context, evaluatorv1.EvaluatorServiceClient) error) error {
		return standalone.WithTemporary(ctx, standalone.DefaultConfig(), "error", io.Discard, func(ctx context.Context, node *rpc.Node) error {
			return do(ctx, evaluatorv1.NewEvaluatorServiceClient(node.Conn(rpc.Evaluator)))
		})
	}
	address, stop := serveSite(t, NewSite(sources, known, evaluator, "http://traces.example"))
	for strings.Contains(fetch(t, address+"rollouts.html"), "being read") {
		if t.Context().Err() != nil {
			t.Fatal("the run is not read")
		}
	}
	if body := fetch(t, address+"A/turn_off_wifi.html"); !strings.Contains(body, "similarity ") || !strings.Contains(body, `href="http://traces.example/trace/`) {
		t.Errorf("before: got\n%s\nwant an explanation and a link to the trace", body)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if body := fetch(t, address+"A/turn_off_wifi.html"); !strings.Contains(body, "execution_context.json is damaged: file does not exist") {
		t.Errorf("after: got\n%s\nwant what is missing", body)
	}
	if body := fetch(t, address+"rollouts.html"); !strings.Contains(body, "1 of 1 rollouts") {
		t.Errorf("table after: got\n%s", body)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := OpenAll(t.Context(), []string{filepath.Join(dir, "gone")}, false, io.Discard, known, nil); err == nil {
		t.Error("missing directory: got no error")
	}
}

// TestSweepSource plays a sweep on services and shows it by their interface: its rollouts, a
// transcript with its explanation, and that it has ended.
func TestSweepSource(t *testing.T) {
	scenarios := catalogued(t)
	known := onlyScenarios(scenarios)
	oracle, err := player.Parse(worldv1.Role_ROLE_AGENT, "oracle")
	scripted, userErr := player.Parse(worldv1.Role_ROLE_USER, "scripted")
	if err := errors.Join(err, userErr); err != nil {
		t.Fatal(err)
	}
	err = standalone.WithTemporary(t.Context(), standalone.DefaultConfig(), "error", io.Discard, func(ctx context.Context, node *rpc.Node) error {
		orchestrator, evaluator := node.Conn(rpc.Orchestrator), node.Conn(rpc.Evaluator)
		planned, err := sweep.Prepare(ctx, orchestrator, evaluator, sweep.Spec{
			ID: "nightly", Scenarios: []*scenariov1.Scenario{scenarios["turn_off_wifi"], scenarios["which_mateo"]}, Trials: 2,
			Agents: []*agentgwv1.Player{oracle}, Users: []*agentgwv1.Player{scripted},
		})
		if err != nil {
			return err
		}
		if _, err := planned.Create(ctx); err != nil {
			return err
		}
		client := orchestratorv1.NewOrchestratorServiceClient(orchestrator)
		sources, err := OpenAll(ctx, nil, false, io.Discard, known, client)
		if err != nil {
			return err
		}
		use := func(ctx context.Context, do func(context.Context, evaluatorv1.EvaluatorServiceClient) error) error {
			return do(ctx, evaluatorv1.NewEvaluatorServiceClient(evaluator))
		}
		address, stop := serveSite(t, NewSite(sources, known, use, ""))
		for body := ""; !strings.Contains(body, "4 of 4 rollouts") || strings.Contains(body, "<view-live"); body = fetch(t, address+"rollouts.html") {
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		for path, part := range map[string]string{"": "sweep nightly", "A/which_mateo_trial_1.html": "similarity 1 ", "rollouts.html?state=passed": "4 of 4", "scenario/which_mateo.html": "which_mateo_trial_0"} {
			if body := fetch(t, address+path); !strings.Contains(body, part) {
				t.Errorf("%s: got\n%s\nwant %q in it", path, body, part)
			}
		}
		if _, err := OpenAll(ctx, []string{"nightli"}, false, io.Discard, known, client); err == nil || !strings.Contains(err.Error(), `did you mean "nightly"?`) {
			t.Errorf("unknown sweep: got %v", err)
		}
		return stop()
	})
	if err != nil {
		t.Fatal(err)
	}
}
