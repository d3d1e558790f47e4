package probe_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/probe"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/dialect"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/httpclient"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/providers"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// probed probes a model at an address.
func probed(ctx context.Context, t *testing.T, name, address string) *agentgwv1.ProbePlayerResponse {
	t.Helper()
	dialects, err := dialect.Load("")
	if err != nil {
		t.Fatal(err)
	}
	spec, ok := providers.Named(providers.All(dialects), name)
	if !ok {
		t.Fatalf("no provider %s", name)
	}
	client := httpclient.NewClient(1<<20, 4)
	t.Cleanup(client.Close)
	return probe.Target{
		Client: client, Endpoint: provider.Endpoint{BaseURL: address}, Codec: spec.Codec, Model: &agentgwv1.Model{Provider: name, Model: "m"}, Prompted: spec.Prompted,
	}.Probe(ctx)
}

// probedInTime is probed for a server that describes itself. What it takes two seconds to say is
// left out, so a machine that stopped for as long probes it again.
func probedInTime(t *testing.T, name string, s *server, version string) (found *agentgwv1.ProbePlayerResponse) {
	t.Helper()
	address := s.start(t) + version
	for range 10 {
		s.asked.Store(0)
		began := time.Now()
		found = probed(t.Context(), t, name, address)
		if time.Since(began) < 2*time.Second {
			break
		}
	}
	return found
}

// verdicts is what a probe decides, in words.
type verdicts struct{ Tools, Calls, Seed, Temperature string }

func verdictsOf(r *agentgwv1.ProbePlayerResponse) verdicts {
	word := func(prefix, name string) string {
		return strings.ToLower(strings.Replace(strings.TrimPrefix(name, prefix), "UNSPECIFIED", "", 1))
	}
	return verdicts{
		word("TOOLS_", r.GetTools().String()), word("CALLS_", r.GetCalls().String()),
		word("SETTING_", r.GetSeed().String()), word("SETTING_", r.GetTemperature().String()),
	}
}

const (
	takesTools = `{"total_slots":4,"default_generation_settings":{"n_ctx":8192},"chat_template":"{% if tools %}"}`
	takesNone  = `{"total_slots":1,"default_generation_settings":{"n_ctx":512},"chat_template":"{{ messages }}"}`
	// knowsNone is of a server whose template mentions tools that it does not render.
	knowsNone = `{"chat_template":"{# tools #}","chat_template_caps":{"supports_tools":false}}`
)

// TestVerdicts probes servers with one trait each.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		server *server
		want   verdicts
	}{
		"sound":                {&server{}, verdicts{"reach", "call", "kept", "kept"}},
		"answers differ":       {&server{ignoresSeed: true}, verdicts{"reach", "call", "differs", "kept"}},
		"seed refused":         {&server{refuses: "seed", status: 400}, verdicts{"reach", "call", "refused", ""}},
		"temperature refused":  {&server{refuses: "temperature", status: 422}, verdicts{"reach", "call", "kept", "refused"}},
		"tools refused":        {&server{refuses: "tools", status: 500}, verdicts{"refused", "", "kept", ""}},
		"tools dropped":        {&server{dropsTools: true}, verdicts{"dropped", "", "", ""}},
		"calls as text":        {&server{writesCalls: true}, verdicts{"reach", "text", "kept", "kept"}},
		"other calls as text":  {&server{writesCalls: true, callsOther: true}, verdicts{"reach", "text", "kept", ""}},
		"other calls":          {&server{callsOther: true}, verdicts{"reach", "call", "kept", ""}},
		"counts messages":      {&server{callsOther: true, countsMessages: true}, verdicts{"", "call", "kept", ""}},
		"messages, with text":  {&server{callsOther: true, countsMessages: true, writesCalls: true}, verdicts{"", "text", "kept", ""}},
		"no usage":             {&server{dropsTools: true, tokens: -1}, verdicts{"", "", "kept", ""}},
		"constant usage":       {&server{dropsTools: true, tokens: 9}, verdicts{"", "", "", ""}},
		"constant, with calls": {&server{callsOther: true, tokens: 9, pages: map[string]string{"/props": takesNone}}, verdicts{"", "call", "kept", ""}},
		"template takes tools": {&server{dropsTools: true, tokens: 9, pages: map[string]string{"/props": takesTools}}, verdicts{"reach", "", "", ""}},
		"template takes none":  {&server{dropsTools: true, tokens: 9, pages: map[string]string{"/props": takesNone}}, verdicts{"dropped", "", "", ""}},
		"template knows none":  {&server{dropsTools: true, tokens: -1, pages: map[string]string{"/props": knowsNone}}, verdicts{"dropped", "", "kept", ""}},
		"counts before words":  {&server{dropsTools: true, pages: map[string]string{"/props": takesTools}}, verdicts{"dropped", "", "", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := probedInTime(t, "openai", test.server, "/v1")
			if diff := cmp.Diff(test.want, verdictsOf(found)); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s\n%v", diff, found)
			}
			if n := test.server.asked.Load(); n > 4 || n != found.GetRequests() {
				t.Errorf("requests: got %d, and %d reported, want at most 4", n, found.GetRequests())
			}
		})
	}
}

// TestRefusals probes a server that refuses several things, one at a time.
func TestRefusals(t *testing.T) {
	t.Parallel()
	sound := &server{}
	s := &server{answer: func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for _, field := range []string{"seed", "tools"} {
			if strings.Contains(string(body), `"`+field+`"`) {
				http.Error(w, "no "+field, http.StatusBadRequest)
				return
			}
		}
		sound.reply(w, r.URL.Path, body)
	}}
	found := probed(t.Context(), t, "openai", s.start(t))
	if diff := cmp.Diff(verdicts{"refused", "", "refused", ""}, verdictsOf(found)); diff != "" || !strings.HasPrefix(found.GetToolsReason(), "HTTP 400: no tools") {
		t.Errorf("verdicts (-want +got):\n%s\n%v", diff, found)
	}
}

// TestFormats probes a server in each wire format.
func TestFormats(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]verdicts{
		"anthropic":        {"reach", "call", "unsent", "kept"},
		"google":           {"reach", "call", "kept", "kept"},
		"cohere":           {"reach", "call", "kept", "kept"},
		"openai-responses": {"reach", "call", "unsent", "kept"},
		"hermes":           {"prompted", "call", "kept", "kept"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{writesCalls: name == "hermes"}
			found := probed(t.Context(), t, name, s.start(t))
			if diff := cmp.Diff(want, verdictsOf(found)); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s\n%v", diff, found)
			}
			dropped := probed(t.Context(), t, name, (&server{dropsTools: true}).start(t))
			if got := verdictsOf(dropped).Tools; got != "dropped" && name != "hermes" {
				t.Errorf("without tools: got %q, want dropped: %v", got, dropped)
			}
		})
	}
}

// TestDescriptions reads what servers say about themselves.
func TestDescriptions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		provider string
		pages    map[string]string
		slots    int32
		context  int64
	}{
		"llama.cpp":   {"openai", map[string]string{"/props": takesTools}, 4, 8192},
		"anthropic":   {"anthropic", map[string]string{"/props": takesTools}, 4, 8192},
		"vLLM":        {"openai", map[string]string{"/v1/models": `{"data":[{"id":"n","max_model_len":1},{"id":"m","max_model_len":32768}]}`}, 0, 32768},
		"Ollama":      {"openai", map[string]string{"/v1/models": `{"data":[{"id":"m"}]}`, "/api/ps": `{"models":[{"name":"m:latest","context_length":4096}]}`}, 0, 4096},
		"other model": {"openai", map[string]string{"/v1/models": `{"data":[{"id":"n","max_model_len":7}]}`, "/api/ps": `{"models":[{"name":"n","context_length":7}]}`}, 0, 0},
		"nonsense":    {"openai", map[string]string{"/props": `{"total_slots":-4,"default_generation_settings":{"n_ctx":1e99}}`, "/v1/models": `[]`, "/api/ps": `"x"`}, 0, 0},
		"too long":    {"openai", map[string]string{"/props": strings.Repeat(" ", 1<<20) + takesTools}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			version := ""
			if test.provider == "openai" {
				version = "/v1"
			}
			found := probedInTime(t, test.provider, &server{pages: test.pages}, version)
			if found.GetSlots() != test.slots || found.GetContextTokens() != test.context {
				t.Errorf("got %d slots and a context of %d, want %d and %d", found.GetSlots(), found.GetContextTokens(), test.slots, test.context)
			}
			if speed := found.GetTokensPerSecond(); test.provider == "openai" && speed != 35.5 {
				t.Errorf("got %g tokens a second, want 35.5", speed)
			}
		})
	}
}

// TestProblems probes servers that do not answer. Each is one problem and nothing else.
func TestProblems(t *testing.T) {
	t.Parallel()
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	endless := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat(" ", 1<<10)); err != nil {
				return
			}
		}
	}
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"refused":      {status(401, `{"error":{"message":"bad key, and no tool, seed or temperature"}}`), "HTTP 401: bad key"},
		"lost":         {status(404, "no page"), "did you mean --base-url"},
		"busy":         {status(429, `{"error":{"message":"slow down"}}`), "HTTP 429: slow down"},
		"broken":       {status(500, "oops"), "HTTP 500: oops"},
		"page":         {status(200, "<html>hello</html>"), "a page of HTML"},
		"empty":        {status(200, ""), "it is empty"},
		"endless":      {endless, "an answer of more than"},
		"not UTF-8":    {status(500, "\xff\xfe"), "HTTP 500: ?"},
		"alternation":  {status(400, `{"error":{"message":"roles must alternate user, assistant and tool"}}`), "HTTP 400: roles"},
		"never stable": {status(400, `{"error":{"message":"no seed, no temperature, no tools"}}`), "HTTP 400: no seed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{answer: test.answer, pages: map[string]string{"/props": takesNone}}
			found := probed(t.Context(), t, "openai", s.start(t))
			if !strings.Contains(found.GetProblem(), test.want) || verdictsOf(found) != (verdicts{}) || s.asked.Load() > 4 {
				t.Errorf("got %v, want nothing known and the problem %q", found, test.want)
			}
		})
	}
}

// TestSlow ends the probes of servers that take longer than its time.
func TestSlow(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &server{answer: func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}}
	if found := probed(ctx, t, "openai", s.start(t)); found.GetProblem() != "no answer within 10s" || s.asked.Load() != 1 {
		t.Errorf("got %v after %d requests, want no answer to one", found, s.asked.Load())
	}
}

// TestLongSlow checks the bound of a probe.
func TestLongSlow(t *testing.T) {
	t.Parallel()
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	start := time.Now()
	found := probed(t.Context(), t, "openai", (&server{answer: hang}).start(t))
	if took := time.Since(start); took < probe.Timeout || took > time.Minute || found.GetProblem() != "no answer within 10s" {
		t.Errorf("got %v after %s, want no answer within %s", found, took, probe.Timeout)
	}
}
