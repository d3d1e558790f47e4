package e2e_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/e2e/internal/browser"
)

// TestLongViewLive follows a run while a process plays it: its progress and each rollout as it
// ends, and after the end the same pages from its files. Two pages look.
func TestLongViewLive(t *testing.T) {
	t.Parallel()
	first, others := make(chan struct{}), make(chan struct{}) // free the model's first answer, and all
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-first:
		case <-others:
		case <-r.Context().Done():
			return
		}
		_, _ = io.WriteString(w, choice(`{"content": "Done."}`, "stop"))
	}))
	t.Cleanup(model.Close)
	out := filepath.Join(t.TempDir(), "out")
	run := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), "run", "--probe=false", "--agent", "openai:m", "--base-url", model.URL, "-p", "1", "--trials", "2", "--out", out, "turn_off_wifi")
	var printed strings.Builder
	run.Stdout, run.Stderr = &printed, &printed
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	select {
	case first <- struct{}{}: // it plays
	case err := <-ended:
		t.Fatalf("run: %v\n%s", err, printed.String())
	case <-time.After(2 * time.Minute):
		t.Fatal("the run asks no model")
	}
	address := startView(t, "", out)
	r, table := newReader(t), newReader(t)
	table.steps(table.Visit(address + "rollouts.html"))
	r.steps(r.Visit(address), r.Until(`document.body.textContent.includes("of 2 rollouts are done") && document.body.textContent.includes("spent")`))
	r.open(address)
	close(others)
	table.steps(table.Until(`document.getElementById("count")?.textContent.startsWith("2 of 2")`))
	if err := <-ended; err != nil {
		t.Fatalf("run: %v\n%s", err, printed.String())
	}
	r.steps(r.Until(`document.querySelector("view-live") === null && document.body.textContent.includes("Scores by category")`))
	r.open(address + "A/turn_off_wifi_trial_0.html")
	r.wants(".talk", "Done.")
	live, err := browser.Evaluate[bool](r.Browser, `document.querySelector("view-live") !== null`)
	if err != nil || live {
		t.Errorf("after the end: got a page that follows, %v", err)
	}
}
