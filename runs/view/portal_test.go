package view

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/access"
	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// TestPortalKeeps opens more sites than a portal keeps, and lets time pass: it closes those that
// were used longest ago, that nobody uses, that are old, and those of a token that is not valid.
func TestPortalKeeps(t *testing.T) {
	file := filepath.Join(t.TempDir(), "access.yaml")
	text := "tokens:\n"
	for i := range 20 {
		text += fmt.Sprintf("  - {sha256: %x, name: n%d, team: red}\n", sha256.Sum256(fmt.Appendf(nil, "token-%d", i)), i)
	}
	if err := os.WriteFile(file, []byte(text+"teams: {red: {}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	policy, err := access.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p := &portal{policy: policy, scenarios: noScenarios, ctx: ctx, sites: make(map[siteKey]*openSite), streams: make(chan struct{}, 1)}
	defer p.group.Wait()
	defer cancel()
	open := func(token, sweep string) *openSite {
		return p.use(siteKey{sha256.Sum256([]byte(token)), sweep}, func() *openSite { return p.begin(token, newPlayed("1"), noScenarios) })
	}
	first := open("token-0", "0")
	for i := range 10 {
		open("token-0", fmt.Sprint(i))
	}
	if len(p.sites) != mostOfToken || first.ctx.Err() == nil {
		t.Errorf("one token: got %d sites, want %d without the first", len(p.sites), mostOfToken)
	}
	if same := open("token-0", "9"); open("token-0", "9") != same || open("token-1", "9") == same {
		t.Error("a site is that of a token and a sweep: got another one, or that of another token")
	}
	for token := range 20 {
		for sweep := range 5 {
			open(fmt.Sprintf("token-%d", token), fmt.Sprint(sweep))
		}
	}
	if len(p.sites) != mostSites {
		t.Errorf("all tokens: got %d sites, want %d", len(p.sites), mostSites)
	}
	busy := open("token-3", "busy")
	for _, site := range p.sites {
		if site != busy {
			site.requests = 0
		}
	}
	open("unknown", "x")
	now := time.Now()
	p.closeAt(now)
	if p.sites[siteKey{sha256.Sum256([]byte("unknown")), "x"}] != nil {
		t.Error("a site of an invalid token is open")
	}
	p.closeAt(now.Add(siteIdle + time.Second))
	if len(p.sites) != 1 || busy.ctx.Err() != nil {
		t.Errorf("without requests: got %d sites, want the busy one", len(p.sites))
	}
	p.closeAt(now.Add(siteAge + time.Second))
	if len(p.sites) != 0 || busy.ctx.Err() == nil {
		t.Errorf("old: got %d sites, want none", len(p.sites))
	}
}

// TestPortalRefuses asks without a valid token, before anything else is known.
func TestPortalRefuses(t *testing.T) {
	policy := new(access.Policy)
	handler := Handler("127.0.0.1:80", &portal{policy: policy}, "view.example.com")
	for name, value := range map[string]string{"none": "", "empty": "Bearer ", "unknown": "Bearer guess", "other scheme": "Basic guess"} {
		got := get(t, handler, "/sweep/night/index.html", func(r *http.Request) {
			r.Host = "view.example.com"
			r.Header.Set("Origin", "https://view.example.com")
			if value != "" {
				r.Header.Set("Authorization", value)
			}
		})
		if got.Code != http.StatusUnauthorized || got.Body.Len() > 0 || got.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: got %d and %q, want 401 without content", name, got.Code, got.Body)
		}
	}
}

// TestOwnScenarios asks for the scenarios of a sweep: those that scored it, with their variants. A
// neighbour who gives a scenario of its own the name of another one sees nothing of that.
func TestOwnScenarios(t *testing.T) {
	known := catalogued(t)
	name := "wifi_while_saving_battery_all_tools"
	digest, _, err := bus.Digest(known[name].GetEvaluation())
	if err != nil {
		t.Fatal(err)
	}
	s := newSweep(nil, "s", "s", noScenarios)
	own := s.own(onlyScenarios(known))
	for _, test := range []struct{ name, digest string }{{"which_mateo", digest}, {name, "another"}, {"unknown", digest}, {name + "_", digest}, {name, ""}} {
		s.add(&busv1.Result{Rollout: &busv1.Rollout{Id: "s.0", Scenario: test.name, EvaluationDigest: test.digest}})
		if got, err := own(t.Context()); err != nil || len(got) > 0 {
			t.Errorf("%s: got %d scenarios and %v, want none", test.name, len(got), err)
		}
	}
	s = newSweep(nil, "s", "s", noScenarios)
	own = s.own(onlyScenarios(known))
	s.add(&busv1.Result{Rollout: &busv1.Rollout{Id: "s.0", Scenario: name, EvaluationDigest: digest}})
	got, err := own(t.Context())
	if err != nil || got["wifi_while_saving_battery"] == nil || got[name] == nil {
		t.Errorf("got %v, want the scenario with its variants", err)
	}
	for name := range got {
		if !strings.HasPrefix(name, "wifi_while_saving_battery") {
			t.Errorf("got %s, want no other scenario", name)
		}
	}
}
