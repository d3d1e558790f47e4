package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/e2e/internal/browser"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// TestLongViewFiles opens exported pages and a page that is one file from the disk.
func TestLongViewFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, pages, file := filepath.Join(dir, "out"), filepath.Join(dir, "pages"), filepath.Join(dir, "one.html")
	toolsandbox(t, "run", "--agent", "random:7", "--out", out, "--variants", "plain,3_distraction_tools", "wifi*", "which*")
	toolsandbox(t, "view", out, "--export", pages)
	toolsandbox(t, "explain", out, "wifi_while_saving_battery", "--html", file)
	ofPack := filepath.Join(dir, "timer")
	toolsandbox(t, "pack", "docs", "timer", "--html", ofPack)
	r := newReader(t)
	rollout := "file://" + filepath.Join(pages, "A", "wifi_while_saving_battery.html")
	for _, path := range []string{
		"file://" + filepath.Join(ofPack, "index.html"), "file://" + filepath.Join(ofPack, "scenario", "tea_and_rice.html?tools-plain"), "file://" + filepath.Join(pages, "index.html"), rollout, rollout + "?world-13", "file://" + filepath.Join(pages, "rollouts.html"), "file://" + file,
	} {
		r.open(path)
	}
	if info, err := os.Stat(file); err != nil || info.Size() > 150_000 {
		t.Errorf("page of one rollout: got %v and %v, want at most 150 kB", info, err)
	}
	styled, err := browser.Evaluate[bool](r.Browser, `getComputedStyle(document.querySelector(".score")).borderRadius !== "0px"`)
	if err != nil || !styled {
		t.Errorf("page of one rollout: got style %v and %v, want its own", styled, err)
	}
	r.steps(r.Visit(rollout+"#milestone-1"), r.Until(`document.querySelector("#milestone-1:target") !== null && scrollY > 0`))
	r.steps(r.Visit(rollout+"?world-0"), r.Wait(`view-slider input`))
	_, err = browser.Evaluate[int](r.Browser, `{const i = document.querySelector("view-slider input"); i.value = 14; i.dispatchEvent(new Event("input")); 0}`)
	r.steps(err, r.Until(`location.search === "?world-13" && document.querySelector("#world td.add") !== null`))
	r.steps(r.Visit("file://"+filepath.Join(pages, "rollouts.html")+"?state=failed&variant=plain&sort=-turns&q=wifi"), r.Until(`document.getElementById("count").textContent.includes("of")`))
	visible, err := browser.Evaluate[[]string](r.Browser, `[...document.querySelectorAll("#rollouts tbody tr")].filter(r => !r.hidden).map(r => r.cells[0].textContent + " " + r.cells[2].textContent)`)
	if err != nil || len(visible) == 0 {
		t.Errorf("filtered file: got %v and %v, want rows", visible, err)
	}
	for _, row := range visible {
		if !strings.Contains(row, "wifi") || !strings.HasSuffix(row, " plain") {
			t.Errorf("filtered file: got the row %q", row)
		}
	}
	r.calm("files")
}

// TestLongViewMany opens the table of 100,000 rollouts: from the start of the program, and to the
// first paint of a page.
func TestLongViewMany(t *testing.T) {
	t.Parallel()
	const rollouts, scenarios = 100_000, 1250
	dir := t.TempDir()
	tabulate(t, dir, rollouts, scenarios)
	began := time.Now()
	address := startView(t, dir, ".")
	t.Logf("start: %s", time.Since(began).Round(time.Millisecond))
	r := newReader(t)
	began = time.Now()
	r.steps(r.Visit(address), r.Until(`performance.getEntriesByName("first-contentful-paint").length > 0`))
	paint, err := browser.Evaluate[float64](r.Browser, `performance.getEntriesByName("first-contentful-paint")[0].startTime`)
	t.Logf("first page: first paint after %.0f ms, %v", paint, err)
	r.steps(r.Until(`document.querySelector("a.big") !== null`))
	t.Logf("means: after %s", time.Since(began).Round(time.Millisecond))
	r.steps(r.Until(`document.body.textContent.includes("Scores by category") && document.querySelector("view-live") === null`))
	t.Logf("report: after %s", time.Since(began).Round(time.Millisecond))
	for _, path := range []string{"rollouts.html", "rollouts.html?sort=-score&state=failed&category=CATEGORY_3&page=50", "rollouts.html?cause=tool_error&q=valueerror&sort=turns", ""} {
		r.steps(r.Visit(address+path), r.Until(`performance.getEntriesByName("first-contentful-paint").length > 0`))
		paint, err := browser.Evaluate[float64](r.Browser, `performance.getEntriesByName("first-contentful-paint")[0].startTime`)
		size, _ := browser.Evaluate[int](r.Browser, `performance.getEntriesByType("navigation")[0].decodedBodySize`)
		t.Logf("%q: first paint after %.0f ms, %d bytes", path, paint, size)
		if err != nil || size > 150_000 { // the time depends on what else the machine does
			t.Errorf("%q: got %d bytes and %v, want at most 150 kB", path, size, err)
		}
	}
	r.calm("many")
}

// TestLongViewLong opens a rollout of 20,000 messages. It bounds the work rather than the time,
// which depends on what else the machine does: bytes and elements of the page, and requests.
func TestLongViewLong(t *testing.T) {
	t.Parallel()
	const messages = 20_000
	dir := t.TempDir()
	out, file := filepath.Join(dir, "out"), filepath.Join(dir, "one.html")
	talk(t, out, messages)
	toolsandbox(t, "explain", out, "turn_off_wifi", "--html", file)
	address := startView(t, dir, out)
	r := newReader(t)
	r.steps(r.Visit(address), r.Wait(`a.big`))
	for _, test := range []struct {
		path            string
		bytes, elements int
	}{{address + "A/turn_off_wifi.html", 150_000, 5_000}, {address + "A/turn_off_wifi/page-40.html", 150_000, 5_000}, {"file://" + file, 6_000_000, 10 * messages}} {
		r.steps(r.Visit(test.path), r.Wait(".talk"), r.Until(`document.readyState === "complete" && performance.getEntriesByName("first-contentful-paint").length > 0`))
		type cost struct {
			Paint, Interactive, Loaded float64
			Bytes, Elements, Requests  int
			Messages                   int
			Lazy                       bool
		}
		got, err := browser.Evaluate[cost](r.Browser, `(() => { const n = performance.getEntriesByType("navigation")[0]; return {
			Paint: performance.getEntriesByName("first-contentful-paint")[0].startTime, Interactive: n.domInteractive, Loaded: n.loadEventEnd,
			Bytes: n.decodedBodySize, Elements: document.querySelectorAll("*").length, Requests: performance.getEntriesByType("resource").length + 1,
			Messages: document.querySelectorAll(".talk > .m").length,
			Lazy: getComputedStyle(document.querySelector(".talk > .m")).contentVisibility === "auto" }; })()`)
		t.Logf("%s: %+v", filepath.Base(test.path), got)
		if err != nil || got.Bytes > test.bytes || got.Elements > test.elements || got.Requests > 4 || got.Messages == 0 || !got.Lazy {
			t.Errorf("%s: got %+v and %v, want at most %d bytes and %d elements, 4 requests, and messages that are laid out when they are seen", test.path, got, err, test.bytes, test.elements)
		}
	}
	r.calm("long")
}

// talk writes a run with one rollout, in which the agent speaks until there is a number of
// messages.
func talk(t *testing.T, dir string, messages int) {
	t.Helper()
	scenario := &scenariov1.Scenario{Setup: &setupv1.Setup{Name: "turn_off_wifi"}}
	rollout := results.Rollout{Rollout: resultfile.Rollout{Scenario: scenario, Directory: "turn_off_wifi", Result: &busv1.Result{Similarity: 0.5, MessageCount: int32(messages)}}}
	for i := range messages {
		rollout.Messages = append(rollout.Messages, &worldv1.Message{
			Index: int32(i), Sender: worldv1.Role_ROLE_AGENT, Recipient: worldv1.Role_ROLE_USER,
			Body: &worldv1.Message_Text{Text: fmt.Sprintf("Message %d says a little about the wifi, which is off now.", i)},
		})
	}
	var err error
	if rollout.Digest, err = results.WriteTrajectory(dir, rollout); err != nil {
		t.Fatal(err)
	}
	run := &results.Run{SweepID: "s", SpecDigest: "d", Trials: 1}
	run.End(time.Unix(0, 0).UTC(), 1, []results.Rollout{rollout})
	summary, err := results.SummaryFiles([]results.Rollout{rollout})
	if err == nil {
		err = results.WriteResults(dir, run, summary, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// tabulate writes a run whose results are tables, with rollouts of scenarios that nobody has.
func tabulate(t *testing.T, dir string, rollouts, scenarios int) {
	t.Helper()
	tables, _, _, err := results.OpenTables(dir, "d", nil)
	if err != nil {
		t.Fatal(err)
	}
	played := make([]results.Rollout, rollouts)
	for i := range rollouts {
		name := fmt.Sprintf("scenario_%d", i%scenarios)
		rollout := results.Rollout{Calls: i % 20, Work: []results.Work{{Started: time.Unix(0, 0), Ended: time.Unix(1, 0)}}, Digest: strings.Repeat("0", 64)}
		rollout.Rollout = resultfile.Rollout{
			Scenario:  &scenariov1.Scenario{Setup: &setupv1.Setup{Name: name, Categories: []string{fmt.Sprintf("CATEGORY_%d", i%9)}}},
			Directory: fmt.Sprintf("%s_trial_%d", name, i/scenarios),
			Result: &busv1.Result{
				Rollout: &busv1.Rollout{Id: fmt.Sprintf("s.%d", i), Scenario: name, Trial: int32(i / scenarios)}, End: &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED},
				Similarity: float64(i%5) / 4, TurnCount: int32(i % 30), MessageCount: 1,
			},
		}
		if i%3 == 0 {
			rollout.Result.Causes = []*busv1.Cause{{Kind: busv1.CauseKind_CAUSE_KIND_TOOL_ERROR, Count: 1, Index: 3, Detail: "ValueError"}}
		}
		if err := tables.Add(rollout, nil); err != nil {
			t.Fatal(err)
		}
		played[i] = rollout
	}
	digests, err := tables.Close()
	if err != nil {
		t.Fatal(err)
	}
	run := &results.Run{
		SweepID: "s", SpecDigest: "d", Agent: results.Player{Name: "random"}, User: results.Player{Name: "scripted"}, Trials: rollouts / scenarios,
		Results: []string{results.FormatParquet},
	}
	run.End(time.Unix(1, 0).UTC(), rollouts, played)
	if err := results.WriteResults(dir, run, nil, digests); err != nil {
		t.Fatal(err)
	}
}
