package e2e_test

import (
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/e2e/internal/browser"
	"github.com/toolsandbox/toolsandbox/internal/testkit/s3test"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// TestLongViewFork continues a rollout from a message of its page with another agent and text, and
// sees the new run and the tree of forks. Nobody else can send the form.
func TestLongViewFork(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	toolsandbox(t, "run", "--agent", "oracle", "--out", out, "which_mateo")
	address := startView(t, "", out, "--allow-fork")
	r := newReader(t)
	r.steps(r.Visit(address+"A/which_mateo.html"), r.Click(`#m6 .fork summary`))
	r.wants("#m6 .fork code", "toolsandbox run --fork "+out+"/which_mateo@6 --out "+out+"-fork")
	r.steps(r.Click(`#m6 .fork a`), r.Wait(`.forkform`))
	form, err := r.Location()
	r.steps(err)
	r.open(form)
	refusesForms(t, address, form)

	const text = "Do you mean the friend,\nor \"the neighbour\" & <b>?"
	_, err = browser.Evaluate[int](r.Browser, `{const f = document.querySelector(".forkform"); f.agent.value = "random:3"; f.text.value = "`+
		strings.NewReplacer("\n", `\n`, `"`, `\"`).Replace(text)+`"; 0}`)
	r.steps(err, r.Click(`.forkform button`), r.Until(`location.search === "?run=B" && document.querySelector('#rollouts a[href^="B/which_mateo.html"]') !== null`))
	r.steps(r.Click(`#rollouts a[href^="B/which_mateo.html"]`), r.Until(`document.querySelector(".forks [aria-current]")?.textContent === "B which_mateo"`))
	r.wants(".forks", "A which_mateo", "from message 6, agent random:3", `or "the neighbour" & <b>?`)
	r.wants("#m6", `or "the neighbour" & <b>?`)
	page, err := r.Location()
	r.steps(err)
	r.open(page)
	run, err := results.ReadRun(out + "-fork")
	if err != nil || run.Fork == nil || run.Fork.Text == nil || *run.Fork.Text != text || run.Fork.Agent != "random:3" || run.Fork.Message != 6 {
		t.Errorf("record of the fork: got %+v and %v, want message 6, random:3 and the text", run, err)
	}
}

// refusesForms sends the form without its origin, its token or its rollout.
func refusesForms(t *testing.T, address, form string) {
	t.Helper()
	body := fetchPage(t, http.MethodGet, form, "", nil, http.StatusOK)
	_, after, _ := strings.Cut(body, `name=token value="`)
	token, _, _ := strings.Cut(after, `"`)
	own := strings.TrimSuffix(address, "/")
	for name, test := range map[string]struct {
		origin, token, rollout string
		status                 int
	}{
		"no origin":          {"", token, "which_mateo", http.StatusMethodNotAllowed},
		"another origin":     {"http://example.com", token, "which_mateo", http.StatusForbidden},
		"an opaque origin":   {"null", token, "which_mateo", http.StatusForbidden},
		"another token":      {own, "x", "which_mateo", http.StatusForbidden},
		"no token":           {own, "", "which_mateo", http.StatusForbidden},
		"unknown rollout":    {own, token, "../out/which_mateo", http.StatusNotFound},
		"unanswered message": {own, token, "which_mateo", http.StatusBadRequest},
	} {
		values := url.Values{"token": {test.token}, "run": {"A"}, "rollout": {test.rollout}, "message": {"5"}}
		if got := fetchPage(t, http.MethodPost, address+"fork", test.origin, values, test.status); test.status == http.StatusBadRequest && !strings.Contains(got, "expected e.g. 4 or 6") {
			t.Errorf("%s: got %q, want the messages that can be forked", name, got)
		}
	}
}

// fetchPage sends a request and returns the body of the answer, which has to have a status.
func fetchPage(t *testing.T, method, address, origin string, values url.Values, status int) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(values.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if origin != "" {
		request.Header.Set("Origin", origin)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != status {
		t.Errorf("%s %s from %q with %v: got %s, %v and %s, want status %d", method, address, origin, values, answer.Status, err, content, status)
	}
	return string(content)
}

// TestViewForkBucket continues a rollout of a run in a bucket, beside it.
func TestViewForkBucket(t *testing.T) {
	s3test.Start(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // the services' data
	const out = "s3://bucket/runs/mine"
	toolsandbox(t, "run", "--agent", "oracle", "--out", out, "which_mateo")
	address := startView(t, "", out, "--allow-fork")
	form := address + "A/which_mateo/fork-6.html"
	for strings.Contains(fetchPage(t, http.MethodGet, address, "", nil, http.StatusOK), "being read") {
		if t.Context().Err() != nil {
			t.Fatal("the run is not read")
		}
	}
	_, after, _ := strings.Cut(fetchPage(t, http.MethodGet, form, "", nil, http.StatusOK), `name=token value="`)
	token, _, _ := strings.Cut(after, `"`)
	values := url.Values{"token": {token}, "run": {"A"}, "rollout": {"which_mateo"}, "message": {"6"}, "agent": {"random:3"}}
	fetchPage(t, http.MethodPost, address+"fork", strings.TrimSuffix(address, "/"), values, http.StatusOK)
	for began := time.Now(); ; {
		if page := fetchPage(t, http.MethodGet, address+"rollouts.html?run=B", "", nil, http.StatusOK); strings.Contains(page, `href="B/which_mateo.html`) {
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatal("no rollout of the fork after a minute")
		}
	}
	run, err := results.ReadRunFile(out + "-fork")
	if err != nil || run.Fork == nil || run.Fork.Agent != "random:3" || run.Fork.Message != 6 {
		t.Errorf("record of the fork: got %+v and %v, want message 6 and random:3", run, err)
	}
}
