package e2e_test

import (
	"bufio"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/e2e/internal/browser"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

var pictures = flag.String("pictures", "", "directory for the pictures of the documentation, which TestLongView takes")

// startView starts the viewer of runs in a directory and returns its address. It ends with the
// test, by SIGINT.
func startView(t *testing.T, dir string, runs ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, "toolsandbox"), append([]string{"view"}, runs...)...) //nolint:noctx // it ends with the test
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Error(err)
		}
		kill := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("view after SIGINT: got %v\n%s\nwant no error", err, stderr.String())
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "view: ")
	if err != nil || !ok {
		t.Fatalf("view: got %q and %v, want its address", line, err)
	}
	return address
}

// reader walks pages as a person does, and fails the test for what goes wrong in them.
type reader struct {
	*browser.Browser
	t   *testing.T
	axe string
}

func newReader(t *testing.T) *reader {
	t.Helper()
	axe, err := os.ReadFile(filepath.Join("..", ".bin", "axe", "axe.min.js"))
	if err != nil {
		t.Fatalf("%v: make test-long gets it", err)
	}
	b, err := browser.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return &reader{b, t, string(axe)}
}

// open loads a page and checks it: no problem, no serious finding of axe, and at no width is it
// wider than the window.
func (r *reader) open(address string) {
	r.t.Helper()
	for _, dark := range []bool{true, false} {
		if err := r.Resize(1280, 900, dark); err != nil {
			r.t.Fatal(err)
		}
		if err := r.Visit(address); err != nil {
			r.t.Fatal(err)
		}
		found, err := r.Audit(r.axe)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, finding := range found {
			r.t.Errorf("%s, dark %v: axe: %s", address, dark, finding)
		}
	}
	for _, width := range []int64{360, 768, 1600} {
		if err := r.Resize(width, 900, false); err != nil {
			r.t.Fatal(err)
		}
		if over, err := r.Overflow(); err != nil || over > 0 {
			r.t.Errorf("%s at %d pixels: got %d pixels more and %v, want none", address, width, over, err)
		}
	}
	r.calm(address)
}

// calm fails the test for problems of the pages since the last call.
func (r *reader) calm(where string) {
	r.t.Helper()
	for _, problem := range r.Problems() {
		r.t.Errorf("%s: %s", where, problem)
	}
}

// steps fails the test at the first step that failed.
func (r *reader) steps(errs ...error) {
	r.t.Helper()
	for _, err := range errs {
		if err != nil {
			r.t.Fatal(err)
		}
	}
}

// wants fails the test unless the text of the elements that a selector finds has a part.
func (r *reader) wants(selector string, parts ...string) {
	r.t.Helper()
	text, err := r.Text(selector)
	for _, part := range parts {
		if err != nil || !strings.Contains(text, part) {
			r.t.Errorf("%s: got %v and\n%s\nwant %q in it", selector, err, text, part)
		}
	}
}

// picture writes a picture for the documentation, if they are asked for.
func (r *reader) picture(name string, width, height int64, dark bool) {
	r.t.Helper()
	if *pictures == "" {
		return
	}
	if err := r.Resize(width, height, dark); err != nil {
		r.t.Fatal(err)
	}
	r.steps(r.Until(`document.readyState === "complete"`))
	picture, err := r.Screenshot()
	if err == nil {
		err = os.WriteFile(filepath.Join(*pictures, name), picture, 0o644)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// TestLongView walks every view of two runs, the first of which has every cause there is, and comes
// from a mean to the cell that made it in three clicks.
func TestLongView(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := filepath.Join(dir, "random"), filepath.Join(dir, "oracle")
	toolsandbox(t, "run", "--agent", "random:7", "--out", first, "--variants", "plain,3_distraction_tools", "wifi*", "which*", "address*", "turn*")
	toolsandbox(t, "run", "--agent", "oracle", "--out", second, "--variants", "plain,3_distraction_tools", "wifi*", "which*", "address*", "turn*")
	kinds := everyCause(t, first, "wifi_while_saving_battery")
	address := startView(t, dir, "random", "oracle")
	r := newReader(t)
	for _, path := range []string{
		"", "rollouts.html", "rollouts.html?run=A&state=failed&sort=-turns&q=wifi", "A/wifi_while_saving_battery.html", "B/wifi_while_saving_battery.html",
		"A/wifi_while_saving_battery/world-13.html", "scenario/wifi_while_saving_battery.html", "compare.html", "compare/wifi_while_saving_battery.html",
	} {
		r.open(address + path)
	}
	r.steps(r.Visit(address + "A/wifi_while_saving_battery.html"))
	r.wants(".causes-list", kinds...)

	const rollout = `#rollouts a[href="A/wifi_while_saving_battery.html?run=A&sort=score"]`
	r.steps(r.Resize(1400, 900, false), r.Visit(address), r.Click(`a.big`), r.Wait(rollout)) // the mean
	r.steps(r.Click(rollout), r.Wait(`.graph`))                                              // the rollout
	r.steps(r.Click(`.graph a[aria-label^="1 wifi_on"]`), r.Wait(`#milestone-1`))            // the milestone
	r.wants(".m:has(#milestone-1) .cmp", "wifi", "true", "false")
	r.wants(".m:has(#milestone-1) .chg", "low_battery_mode")
	r.picture("view-rollout.png", 1120, 640, false)
	r.calm("three clicks")

	r.steps(r.Visit(address), r.Wait(`a.big`))
	r.picture("view-runs.png", 1120, 640, true)
	r.steps(r.Visit(address+"compare.html"), r.Wait(`h1`))
	r.picture("view-compare.png", 1120, 640, false)
	r.calm("pictures")

	r.steps(r.Visit(address+"scenario/wifi_while_saving_battery/proof.html"), r.Wait(`.score.s1`)) // it renews itself
	r.open(address + "scenario/wifi_while_saving_battery/proof.html")
	r.wants("main", "proven", "unhelpful agent")
}

// TestLongViewGrades shows records of EuroEval with the verdicts of both graders: served, and as
// one file.
func TestLongViewGrades(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	toolsandbox(t, "run", "--pack", "euroeval", "--agent", "random:7", "--out", filepath.Join(dir, "random"), "simple_de_1", "irrelevance_de_1")
	toolsandbox(t, "run", "--pack", "euroeval", "--agent", "oracle", "--out", filepath.Join(dir, "oracle"), "simple_de_1", "irrelevance_de_1")
	file := filepath.Join(dir, "one.html")
	toolsandbox(t, "explain", "--pack", "euroeval", filepath.Join(dir, "random"), "simple_de_1", "--html", file)
	address := startView(t, dir, "random", "oracle", "--pack", "euroeval")
	r := newReader(t)
	for _, path := range []string{"", "rollouts.html", "A/simple_de_1.html", "B/simple_de_1.html", "B/irrelevance_de_1.html", "scenario/simple_de_1.html", "compare.html", "compare/simple_de_1.html"} {
		r.open(address + path)
	}
	r.open("file://" + file)
	for _, page := range []string{address + "A/simple_de_1.html", "file://" + file} {
		r.steps(r.Visit(page), r.Wait(".verdict"))
		r.wants(".verdict", "euroeval", "bfcl-strict", "wrong by", "answer", "expected")
	}
	r.steps(r.Visit(address+"B/simple_de_1.html"), r.Wait(".verdict"))
	r.wants(".verdict", "euroeval", "bfcl-strict", "correct")
}

// TestLongViewKeys walks rollouts by keys and the world by its slider.
func TestLongViewKeys(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	toolsandbox(t, "run", "--agent", "random:7", "--out", out, "wifi*")
	address := startView(t, "", out)
	r := newReader(t)
	r.steps(r.Visit(address+"rollouts.html?sort=score"), r.Click(`#rollouts tbody a`), r.Wait(`.talk`))
	before, err := r.Location()
	r.steps(err, r.Press("n"), r.Until(fmt.Sprintf("location.href !== %q && document.querySelector('[data-key=p]') && customElements.get('view-keys')", before)), r.Press("p"), r.Until(fmt.Sprintf("location.href === %q", before)))
	r.steps(r.Visit(address+"A/wifi_while_saving_battery/world-0.html"), r.Wait(`view-slider input`))
	_, err = browser.Evaluate[int](r.Browser, `{const i = document.querySelector("view-slider input"); i.value = 13; i.dispatchEvent(new Event("input")); 0}`)
	r.steps(err, r.Until(`location.pathname.endsWith("world-13.html") && document.querySelector("#world td.add") !== null`))
	r.wants("#steps", "message 13 of ")
	r.calm("keys")
}

// TestLongViewHostile shows what an agent said that tries to be a part of the page: script, markup,
// text in the other direction, and very much of it.
func TestLongViewHostile(t *testing.T) {
	t.Parallel()
	evil := `<script>window.owned=1</script><img src=x onerror=window.owned=1></div></li></main><style>*{display:none}</style>\u202egnp.exe\u0000\u001b[31m שלום עולם ` + strings.Repeat("A", 300_000)
	agent := answering(t, http.StatusOK,
		choice(`{"content": "", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "set_wifi_status", "arguments": "{\"on\": \"<img src=x onerror=window.owned=1>\", \"</script><script>window.owned=1</script>\": \"\\u202e\"}"}}]}`, "tool_calls"),
		choice(`{"content": "`+strings.ReplaceAll(evil, `"`, `\"`)+`"}`, "stop"))
	out := filepath.Join(t.TempDir(), "<b onmouseover=x>&amp;'\"")
	toolsandbox(t, "run", "--probe=false", "--agent", "openai:m", "--base-url", agent, "--out", out, "turn_off_wifi")
	address := startView(t, "", out)
	r := newReader(t)
	for _, path := range []string{"", "rollouts.html?q=%22%3E%3Cscript%3Ewindow.owned=1%3C/script%3E", "rollouts.html", "A/turn_off_wifi.html", "scenario/turn_off_wifi.html"} {
		r.open(address + path)
		owned, err := browser.Evaluate[bool](r.Browser, `window.owned !== undefined || document.querySelector("main img, main style, main script") !== null`)
		if err != nil || owned {
			t.Errorf("%s: what the agent said is a part of the page", path)
		}
	}
	r.steps(r.Visit(address + "A/turn_off_wifi.html"))
	_, err := browser.Evaluate[int](r.Browser, `document.querySelectorAll("details").forEach(d => d.open = true), 0`)
	r.steps(err)
	r.wants(".talk", `<script>window.owned=1</script>`, `\u202egnp.exe`, "more bytes are in the run's files")
	r.calm("hostile")
}

// everyCause gives a rollout of a run every cause that the program knows, and returns their
// sentences.
func everyCause(t *testing.T, dir, rollout string) []string {
	t.Helper()
	run, err := results.ReadRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	var sentences []string
	for i := range run.Rollouts {
		if run.Rollouts[i].Name != rollout {
			continue
		}
		causes := everyKind()
		run.Rollouts[i].Causes = causes
		for _, c := range causes {
			sentences = append(sentences, c.Sentence())
		}
	}
	if err := results.WriteRun(dir, run); err != nil {
		t.Fatal(err)
	}
	return sentences
}

// everyKind returns a cause of each kind.
func everyKind() []results.Cause {
	var causes []results.Cause
	for number := range busv1.CauseKind_name {
		kind := busv1.CauseKind(number)
		if kind != busv1.CauseKind_CAUSE_KIND_UNSPECIFIED {
			causes = append(causes, results.Cause{Kind: results.CauseName(kind), Count: 2, Index: 5, Detail: "detail"})
		}
	}
	return causes
}
