package view

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/catalogue"
	"github.com/toolsandbox/toolsandbox/runs/explain"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// evil is what an agent says that wants to be a part of the page.
const evil = "<script>alert(1)</script>\u202e<b title='\">x"

// speak returns a message of the agent.
func speak(index int, text string) *worldv1.Message {
	return &worldv1.Message{Index: int32(index), Sender: worldv1.Role_ROLE_AGENT, Recipient: worldv1.Role_ROLE_USER, Body: &worldv1.Message_Text{Text: text}}
}

// writeRun writes a run whose rollouts are scenarios in which the agent says a text a few times.
func writeRun(t *testing.T, scenario *scenariov1.Scenario, text string, times int, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	var rollouts []results.Rollout
	for i, name := range names {
		messages := slices.Clone(scenario.GetSetup().GetMessages())
		for range times {
			messages = append(messages, speak(len(messages), text))
		}
		rollout := results.Rollout{Rollout: resultfile.Rollout{
			Scenario: scenario, Messages: messages, Tables: scenario.GetSetup().GetTables(), Directory: name,
			Result: &busv1.Result{Similarity: float64(i) / 4, MessageCount: int32(len(messages)), Causes: []*busv1.Cause{{Kind: busv1.CauseKind_CAUSE_KIND_TOOL_ERROR, Count: 1, Index: 3, Detail: evil}}},
		}}
		var err error
		if rollout.Digest, err = results.WriteTrajectory(dir, rollout); err != nil {
			t.Fatal(err)
		}
		rollouts = append(rollouts, rollout)
	}
	run := &results.Run{SweepID: "s", SpecDigest: "d", Agent: results.Player{Name: "agent " + evil}, User: results.Player{Name: "scripted"}, Trials: 1}
	run.End(time.Unix(0, 0).UTC(), len(rollouts), rollouts)
	summary, err := results.SummaryFiles(rollouts)
	if err != nil {
		t.Fatal(err)
	}
	if err := results.WriteResults(dir, run, summary, nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

// catalogued returns the built-in scenarios.
func catalogued(t *testing.T) map[string]*scenariov1.Scenario {
	t.Helper()
	scenarios, err := new(catalogue.Selection).ExpandedByName(t.Context(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return scenarios
}

// withViewer calls do with a viewer of runs and a real evaluator.
func withViewer(t *testing.T, scenarios map[string]*scenariov1.Scenario, do func(context.Context, *Viewer), dirs ...string) {
	t.Helper()
	var runs []*analysis.Run
	for _, dir := range dirs {
		run, err := analysis.Load(t.Context(), dir, false, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
	}
	cfg := standalone.DefaultConfig()
	if err := standalone.WithTemporary(t.Context(), cfg, "error", io.Discard, func(ctx context.Context, node *rpc.Node) error {
		do(ctx, New(runs, scenarios, evaluatorv1.NewEvaluatorServiceClient(node.Conn(rpc.Evaluator))))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestUnknownEffort shows no calls and no time of a rollout whose source has none.
func TestUnknownEffort(t *testing.T) {
	summary := &resultfile.Summary{Scenarios: []resultfile.ScenarioResult{{Name: "a", Similarity: "1.0"}}}
	record := &results.Run{Trials: 1, Rollouts: []results.Outcome{{Name: "a"}}}
	for _, c := range []struct {
		run         *analysis.Run
		calls, time string
		facts       []string
	}{
		{analysis.NewRun("sweep", summary, record), "–", "–", nil},
		{analysis.OpenRun("file", summary, results.NewReader("file", record, summary, nil)), "0", "–", []string{"calls"}},
	} {
		v := New([]*analysis.Run{c.run}, nil, nil)
		row := newTableRow(v.selected(nil)[0], "", false, nil)
		var shown []string
		for _, f := range facts(v.runs[0], v.runs[0].rollouts[0]) {
			if f.Name == "calls" || f.Name == "time" {
				shown = append(shown, f.Name)
			}
		}
		if row.Calls != c.calls || row.Time != c.time || !slices.Equal(shown, c.facts) {
			t.Errorf("%s: got calls %s, time %s and facts %v, want %s, %s and %v", c.run.Directory, row.Calls, row.Time, shown, c.calls, c.time, c.facts)
		}
	}
}

// get asks a handler for a path.
func get(t *testing.T, handler http.Handler, path string, change func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:80"+path, nil)
	if change != nil {
		change(request)
	}
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, request)
	return response
}

// TestPages asks for every kind of page of two runs. None has what the agent said as markup, and
// each has what it is for.
func TestPages(t *testing.T) {
	scenarios := catalogued(t)
	scenario := scenarios["turn_off_wifi"]
	first, second := writeRun(t, scenario, evil, 2, "turn_off_wifi", "other"), writeRun(t, scenario, "Done.", 1, "turn_off_wifi", "other", "third")
	withViewer(t, scenarios, func(_ context.Context, v *Viewer) {
		handler := Handler("127.0.0.1:80", v)
		for path, want := range map[string][]string{
			"/":                                        {"2 runs", "a tool answered with an error", "rollouts.html?cause=tool_error"},
			"/index.html":                              {"0.125", "Scores by category"},
			"/rollouts.html?state=zero&sort=-score":    {"2 of 5 rollouts", `href="A/turn_off_wifi.html?sort=-score&amp;state=zero"`},
			"/rollouts.html?q=third":                   {"1 of 5 rollouts"},
			"/A/turn_off_wifi.html":                    {`id="milestone-0"`, `href="#milestone-0"`, `\u202e`, "&lt;script&gt;", "similarity "},
			"/A/turn_off_wifi.html?state=zero":         {`data-key="n"`, `B/turn_off_wifi.html?state=zero`},
			"/A/other.html":                            {"The catalogue has no scenario", "give the run&#39;s --pack"},
			"/A/turn_off_wifi/world-3.html":            {"message 3 of ", "SETTING", "wifi"},
			"/scenario/turn_off_wifi.html":             {"What the user wants", `id="milestone-0"`, "World", "scenario/turn_off_wifi/tools-3_distraction_tools_tool_name_scrambled"},
			"/scenario/turn_off_wifi/tools-plain.html": {"set_wifi_status", "<td>boolean"},
			"/scenario/turn_off_wifi/tools-3_distraction_tools_tool_name_scrambled.html": {"setting_8", "set_wifi_status in the world"},
			"/compare.html":               {"0.125 → 0.125", "Scenarios that moved"},
			"/compare/turn_off_wifi.html": {"Common beginning", `id=parting`, "Done."},
			"/style.css":                  {"--ground"},
			"/view.js":                    {"view-keys"},
		} {
			got := get(t, handler, path, nil)
			body := got.Body.String()
			if got.Code != http.StatusOK {
				t.Errorf("%s: got %d %s", path, got.Code, body)
			}
			for _, part := range want {
				if !strings.Contains(body, part) {
					t.Errorf("%s: got\n%s\nwant %q in it", path, body, part)
				}
			}
			if strings.Contains(body, "<script>") || strings.Contains(body, "\u202e") || strings.Contains(body, "ZgotmplZ") {
				t.Errorf("%s: what the agent said is a part of the page:\n%s", path, body)
			}
		}
	}, first, second)
}

// TestScoresByVariant gives the table of variants the whole width, as that of categories: beside
// another card its last column is cut.
func TestScoresByVariant(t *testing.T) {
	summary := &resultfile.Summary{}
	for _, name := range []string{"a", "a_all_tools"} {
		summary.Scenarios = append(summary.Scenarios, resultfile.ScenarioResult{Name: name, Categories: []string{"COREFERENCE"}, Similarity: "1.0"})
	}
	run := analysis.NewRun("of a", summary, &results.Run{Trials: 1})
	body := get(t, Handler("127.0.0.1:80", New([]*analysis.Run{run}, nil, nil)), "/index.html", nil).Body.String()
	before, _, found := strings.Cut(body, "<div class=pair>")
	if !found || !strings.Contains(before, "<h2>Scores by variant</h2>") {
		t.Errorf("got\n%s\nwant the scores by variant before the cards side by side", body)
	}
}

// TestSomeToCompare shows the runs that can be compared, each under its letter, and names the
// other.
func TestSomeToCompare(t *testing.T) {
	var runs []*analysis.Run
	for _, names := range [][]string{{"a"}, {"b"}, {"a", "b"}} {
		summary := &resultfile.Summary{}
		for _, name := range names {
			summary.Scenarios = append(summary.Scenarios, resultfile.ScenarioResult{Name: name, Similarity: resultfile.Similarity(strconv.Itoa(len(names) - 1))})
		}
		runs = append(runs, analysis.NewRun("of "+strings.Join(names, ""), summary, &results.Run{Trials: 1}))
	}
	body := get(t, Handler("127.0.0.1:80", New(runs, nil, nil)), "/compare.html", nil).Body.String()
	for _, want := range []string{"of a and of b have no scenario with a score in common", "<span class=letter>C</span> of ab", "&#43;1.000"} {
		if !strings.Contains(body, want) {
			t.Errorf("got\n%s\nwant %q", body, want)
		}
	}
	if strings.Contains(body, "<span class=letter>B</span>") {
		t.Errorf("got\n%s\nwant no changes to B", body)
	}
}

// TestNothingToCompare says of runs without a common scenario that they have none, and not that no
// score differs.
func TestNothingToCompare(t *testing.T) {
	var runs []*analysis.Run
	for _, name := range []string{"a", "b"} {
		summary := &resultfile.Summary{Scenarios: []resultfile.ScenarioResult{{Name: name, Similarity: "1.0"}}}
		runs = append(runs, analysis.NewRun("of "+name, summary, &results.Run{Trials: 1}))
	}
	body := get(t, Handler("127.0.0.1:80", New(runs, nil, nil)), "/compare.html", nil).Body.String()
	if !strings.Contains(body, "no scenario with a score in common") || strings.Contains(body, "No score differs") {
		t.Errorf("got\n%s\nwant that the runs have no scenario in common", body)
	}
}

// TestNoPages asks for what is no page.
func TestNoPages(t *testing.T) {
	scenarios := catalogued(t)
	withViewer(t, scenarios, func(_ context.Context, v *Viewer) {
		handler := Handler("127.0.0.1:80", v)
		for _, path := range []string{
			"/A", "/A/", "/A/no.html", "/B/turn_off_wifi.html", "/A/turn_off_wifi", "/A/turn_off_wifi/page-2.html", "/A/turn_off_wifi/page-0.html", "/A/turn_off_wifi/world-99.html",
			"/A/turn_off_wifi/world--1.html", "/compare.html", "/compare/turn_off_wifi.html", "/scenario/no.html", "/rollouts.html?page=0", "/rollouts.html?page=99",
			"/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/A/..%2f..%2fetc%2fpasswd.html", "/page/layout.html", "/.html",
		} {
			if got := get(t, handler, path, nil); got.Code != http.StatusNotFound {
				t.Errorf("%s: got %d, want 404", path, got.Code)
			}
		}
	}, writeRun(t, scenarios["turn_off_wifi"], "Done.", 1, "turn_off_wifi"))
}

// TestAdmission sends requests that come from elsewhere.
func TestAdmission(t *testing.T) {
	handler := Handler("127.0.0.1:80", New([]*analysis.Run{analysis.NewRun("dir", &resultfile.Summary{}, nil)}, nil, nil))
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for name, test := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"typed":               {nil, http.StatusOK},
		"typed, by name":      {func(r *http.Request) { r.Host = "localhost:80" }, http.StatusOK},
		"own page":            {header("Sec-Fetch-Site", "same-origin"), http.StatusOK},
		"own origin":          {header("Origin", "http://127.0.0.1:80"), http.StatusOK},
		"another name":        {func(r *http.Request) { r.Host = "evil.example:80" }, http.StatusMisdirectedRequest},
		"another port":        {func(r *http.Request) { r.Host = "127.0.0.1:81" }, http.StatusMisdirectedRequest},
		"no name":             {func(r *http.Request) { r.Host = "" }, http.StatusMisdirectedRequest},
		"another site":        {header("Sec-Fetch-Site", "cross-site"), http.StatusForbidden},
		"another port's page": {header("Sec-Fetch-Site", "same-site"), http.StatusForbidden},
		"another origin":      {header("Origin", "http://127.0.0.1:81"), http.StatusForbidden},
		"a file":              {header("Origin", "null"), http.StatusForbidden},
		"a change":            {func(r *http.Request) { r.Method = http.MethodPost }, http.StatusMethodNotAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			got := get(t, handler, "/", test.change)
			if got.Code != test.want {
				t.Errorf("got %d %s, want %d", got.Code, got.Body, test.want)
			}
			if policy := got.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
				t.Errorf("policy: got %q", policy)
			}
		})
	}
}

// TestListen takes addresses of this machine alone.
func TestListen(t *testing.T) {
	for address, want := range map[string]bool{"127.0.0.1:0": true, "[::1]:0": true, "localhost:0": true, "0.0.0.0:0": false, ":0": false, "192.0.2.1:0": false, "example.org:0": false, "127.0.0.1": false} {
		listener, err := Listen(t.Context(), address)
		if err == nil {
			err = listener.Close()
		} else if address == "[::1]:0" && strings.Contains(err.Error(), "cannot assign") {
			continue // a machine without IPv6
		}
		if (err == nil) != want {
			t.Errorf("%s: got %v, want accepted %v", address, err, want)
		}
	}
}

// TestReasoning shows what a model reasoned, folded and escaped, with the tokens of the turn. A
// damaged file of exchanges is told, and the transcript stays.
func TestReasoning(t *testing.T) {
	scenarios := catalogued(t)
	dir := writeRun(t, scenarios["turn_off_wifi"], "Done.", 1, "turn_off_wifi")
	answer, err := json.Marshal(map[string]any{"content": []any{map[string]any{"type": "thinking", "thinking": evil}}})
	if err != nil {
		t.Fatal(err)
	}
	index := len(scenarios["turn_off_wifi"].GetSetup().GetMessages())
	if err := results.WriteExchanges(dir, "turn_off_wifi", []results.Exchange{{Index: index, Data: &agentgwv1.Exchange{
		Provider: "anthropic",
		Attempts: []*agentgwv1.Attempt{{Status: 200, Answer: answer, AnswerBytes: int64(len(answer))}},
		Usage:    &agentgwv1.Usage{InputTokens: 40, CachedTokens: 30, OutputTokens: 20, ReasoningTokens: 10},
	}}}); err != nil {
		t.Fatal(err)
	}
	withViewer(t, scenarios, func(ctx context.Context, v *Viewer) {
		content, err := v.html(ctx, "A/turn_off_wifi.html", nil)
		want := `<small>40 tokens in (30 cached), 20 out (10 for reasoning)</small></div><details class=thought><summary>reasoning</summary><div class=said dir=auto>&lt;script&gt;`
		if page := strings.ReplaceAll(string(content), "\n", ""); err != nil || !strings.Contains(page, want) {
			t.Errorf("got %v and\n%s\nwant %s", err, page, want)
		}
		if err := os.WriteFile(filepath.Join(dir, "trajectories", "turn_off_wifi", "exchanges.jsonl"), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		content, err = v.html(ctx, "A/turn_off_wifi.html", nil)
		if page := string(content); err != nil || !strings.Contains(page, "read exchanges of turn_off_wifi") || !strings.Contains(page, "similarity ") || !strings.Contains(page, "Done.") {
			t.Errorf("damaged exchanges: got %v and\n%s\nwant the problem and the rest", err, page)
		}
	}, dir)
}

// TestFile looks for what a page that is all by itself may not have: links and loads.
func TestFile(t *testing.T) {
	scenarios := catalogued(t)
	withViewer(t, scenarios, func(ctx context.Context, v *Viewer) {
		content, err := v.File(ctx, "turn_off_wifi")
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(string(content), -1) {
			if !strings.HasPrefix(found[1], "#") && found[1] != "data:," {
				t.Errorf("link to %q, want none out of the file", found[1])
			}
		}
		if _, err := v.File(ctx, "missing"); err == nil {
			t.Error("missing rollout: got no error")
		}
	}, writeRun(t, scenarios["turn_off_wifi"], evil, 1, "turn_off_wifi"))
}

// TestDraw lays graphs out: a node is below all that come before it, and no two boxes overlap.
func TestDraw(t *testing.T) {
	for name, edges := range map[string][][2]int32{
		"chain": {{0, 1}, {1, 2}, {2, 3}}, "diamond": {{0, 1}, {0, 2}, {1, 3}, {2, 3}}, "long edge": {{0, 1}, {1, 2}, {0, 3}, {2, 3}},
		"no edges": nil, "backwards": {{3, 2}, {2, 1}, {1, 0}}, "circle": {{0, 1}, {1, 0}}, "wrong": {{0, 9}, {-1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			g := &evaluationv1.Graph{Nodes: []*evaluationv1.Node{{Name: "a"}, {}, {Name: strings.Repeat("long", 20)}, {}}}
			for _, e := range edges {
				g.Edges = append(g.Edges, &evaluationv1.Edge{Before: e[0], After: e[1]})
			}
			drawn := draw("Milestones", g, nil)
			at := make(map[string]box)
			for i, b := range drawn.Boxes {
				at[strings.Fields(b.Title)[0]] = b
				if b.X < 0 || b.X+boxWidth > drawn.Width || b.Y+boxHeight > drawn.Height {
					t.Errorf("box %+v leaves %d × %d", b, drawn.Width, drawn.Height)
				}
				for _, other := range drawn.Boxes[:i] {
					if b.Y == other.Y && b.X < other.X+boxWidth+gapAcross && other.X < b.X+boxWidth+gapAcross {
						t.Errorf("boxes %+v and %+v overlap", b, other)
					}
				}
			}
			if len(at) != 4 {
				t.Errorf("got boxes %+v, want four", drawn.Boxes)
			}
			for _, e := range edges {
				if before, after := at[fmt.Sprint(e[0])], at[fmt.Sprint(e[1])]; name != "circle" && name != "wrong" && before.Y >= after.Y {
					t.Errorf("edge %v leads from %d to %d, want down", e, before.Y, after.Y)
				}
			}
		})
	}
	if draw("Milestones", nil, nil) != nil {
		t.Error("a graph without nodes is drawn")
	}
}

// TestReadArguments keeps the order of arguments and the spelling of numbers.
func TestReadArguments(t *testing.T) {
	got, err := readArguments(`{"b": 1.50, "a": {"z": [1, 2]}, "": null}`)
	if diff := cmp.Diff([]argument{{"b", "1.50"}, {"a", `{"z":[1,2]}`}, {"", "null"}}, got); err != nil || diff != "" {
		t.Errorf("got %v, (-want +got):\n%s", err, diff)
	}
	for _, source := range []string{"", "[1]", "{", `{"a": }`, `"x"`, "null"} {
		if got, err := readArguments(source); err == nil {
			t.Errorf("%s: got %v, want an error", source, got)
		}
	}
}

// FuzzReadArguments reads any text as arguments: they are an object or an error.
func FuzzReadArguments(f *testing.F) {
	f.Add(`{"a": 1}`)
	f.Add(`{"a": "\ud800", "a": [{}]}`)
	f.Fuzz(func(t *testing.T, source string) {
		if _, err := readArguments(source); err == nil && !strings.HasPrefix(strings.TrimSpace(source), "{") {
			t.Errorf("%q: got no error", source)
		}
	})
}

// TestNewText folds long texts and cuts very long ones between characters.
func TestNewText(t *testing.T) {
	huge := strings.Repeat("ä", 4*cutAt)
	if got := newWords([]explain.Part{{Text: "ä"}, {Text: "und", Common: true}, {Text: huge}}); got.Fold == "" || len(got.Parts) != 3 || got.Cut != len("äund"+huge)-cutAt+1 {
		t.Errorf("huge words: got %d parts and %d bytes left out, want 3 and all but %d", len(got.Parts), got.Cut, cutAt)
	}
	object := `{"` + huge + `": 1`
	for i := range 1000 {
		object += fmt.Sprintf(`, "a%d": 1`, i)
	}
	if got := newCall(&worldv1.ToolCall{Tool: huge, ArgumentsJson: object + "}"}); len(got.Tool) > cellAt+50 || len(got.Arguments) != 1 || got.Left != 1000 || len(got.Arguments[0].Name) > cellAt+50 {
		t.Errorf("huge call: got %d arguments and %d left out, want the beginning of 1", len(got.Arguments), got.Left)
	}
	if got := (change{Added: make([]row, 1000), Removed: make([]row, 3)}).bounded(); len(got.Added) != mostRows || len(got.Removed) != 3 || got.Left != 1000-mostRows {
		t.Errorf("huge change: got %d rows and %d left out, want %d", len(got.Added), got.Left, mostRows)
	}
	if got := newText("short", foldAt); got.Fold != "" || got.Cut != 0 {
		t.Errorf("short: got %+v", got)
	}
	if got := newText(strings.Repeat("ä ", 1000), foldAt); got.Fold == "" || got.Cut != 0 || len(got.Fold) > 130 {
		t.Errorf("long: got %+v", got)
	}
	if got := newText(strings.Repeat("ä", cutAt), foldAt); got.Cut != cutAt || got.All != strings.Repeat("ä", cutAt/2) {
		t.Errorf("very long: got %d and %d bytes", len(got.All), got.Cut)
	}
}
