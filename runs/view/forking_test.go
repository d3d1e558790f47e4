package view

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestForkForm sends forms as a browser does. A text that nobody changed is not given, whatever
// characters it has, and a changed one keeps them.
func TestForkForm(t *testing.T) {
	scenarios := catalogued(t)
	scenario := scenarios["turn_off_wifi"]
	for _, said := range []string{"Done.", "\n one\r\n\ntwo\n", "\u200f\u2067שלום\u2069 Anna \u200e(1)", "a\rb\x1b[31m", "nul \x00.", "end\r", `shown as \u200f`} {
		withViewer(t, scenarios, func(ctx context.Context, v *Viewer) {
			v.runs[0].Record().SpecificationSHA256 = "digest"
			site := NewSite(nil, noScenarios, noEvaluator, "")
			site.AllowForks(nil)
			v.forkToken, site.viewer = site.forking.token, v
			first := strconv.Itoa(len(scenario.GetSetup().GetMessages()))
			page, err := v.html(ctx, subPath("A/turn_off_wifi.html", "fork", first, false), nil)
			if err != nil {
				t.Fatal(err)
			}
			shown := formOf(t, string(page))
			if got := sentText(t, site, shown); got != "" {
				t.Errorf("%q unchanged: got %q, want no text", said, got)
			}
			changed := strings.NewReplacer("\r\n", "\n", "\x00", "\uFFFD").Replace(said) + " More."
			shown.Set("text", shown.Get("text")+" More.")
			if got := sentText(t, site, shown); got != "--text="+changed {
				t.Errorf("%q changed: got %q, want %q", said, got, changed)
			}
		}, writeRun(t, scenario, said, 1, "turn_off_wifi"))
	}
}

// TestForkShown sends a form, and leaves before its run has begun. The site shows the run.
func TestForkShown(t *testing.T) {
	scenarios := catalogued(t)
	dir, forked := writeRun(t, scenarios["turn_off_wifi"], "Done.", 1, "turn_off_wifi"), writeRun(t, scenarios["turn_off_wifi"], "Done.", 1, "turn_off_wifi")
	sources, err := OpenAll(t.Context(), []string{dir}, false, io.Discard, noScenarios, nil)
	if err != nil {
		t.Fatal(err)
	}
	site := NewSite(sources, noScenarios, noEvaluator, "")
	site.AllowForks(func(_ context.Context, args []string) error {
		return os.CopyFS(strings.TrimPrefix(args[len(args)-1], "--out="), os.DirFS(forked))
	})
	address, _ := serveSite(t, site)
	for strings.Contains(fetch(t, address), "being read") {
		if t.Context().Err() != nil {
			t.Fatal("the run is not read")
		}
	}
	form := url.Values{"token": {site.forking.token}, "run": {"A"}, "rollout": {"turn_off_wifi"}, "message": {"6"}}
	gone, leave := context.WithCancel(t.Context())
	leave()
	request := httptest.NewRequestWithContext(gone, http.MethodPost, "/fork", strings.NewReader(form.Encode()))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := httptest.NewRecorder()
	site.ServeHTTP(answer, request)
	if body := fetch(t, address); answer.Code != http.StatusSeeOther || !strings.Contains(body, "2 runs") {
		t.Errorf("got %d %s, and\n%s\nwant the fork on the page", answer.Code, answer.Body, body)
	}
}

// formOf returns the values of the form on a page, as a browser has them.
func formOf(t *testing.T, page string) url.Values {
	t.Helper()
	form := url.Values{}
	for _, input := range regexp.MustCompile(`<input type=hidden name=(\w+) value="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		form.Set(input[1], html.UnescapeString(input[2]))
	}
	text := regexp.MustCompile(`(?s)<textarea [^>]*>\n(.*)</textarea>`).FindStringSubmatch(page)
	if text == nil {
		t.Fatalf("got no text in the form:\n%s", page)
	}
	form.Set("text", strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(html.UnescapeString(text[1])))
	return form
}

// sentText returns the argument with the text of a form that a browser sends, "" without one.
func sentText(t *testing.T, site *Site, form url.Values) string {
	t.Helper()
	sent := url.Values{}
	for name := range form {
		sent.Set(name, strings.ReplaceAll(form.Get(name), "\n", "\r\n"))
	}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/fork", strings.NewReader(sent.Encode()))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if err := request.ParseForm(); err != nil {
		t.Fatal(err)
	}
	_, args, err := site.forkArguments(request)
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--text=") }); i >= 0 {
		return args[i]
	}
	return ""
}
