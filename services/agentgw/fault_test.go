package agentgw_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

const (
	faultBytes   = 8 << 10         // largest answer
	faultTurn    = 1 << 10         // largest turn
	faultTimeout = 2 * time.Second // long enough for a busy machine to get as far as the request
	leak         = `{"error": {"message": "key ` + modelKey + ` is bad"}, "message": "key ` + modelKey + ` is bad"}`
)

// fault is a misbehaving provider and the expected result.
type fault struct {
	name   string
	answer func(p string, w http.ResponseWriter, r *http.Request)
	// code is the error's code, class the failure's class. One of them is 0.
	code     codes.Code
	class    agentgwv1.FailureClass
	requests int64
	within   time.Duration // at least
}

// answerWith returns a fault that answers with a body and headers.
func answerWith(code int, body string, headers ...string) func(string, http.ResponseWriter, *http.Request) {
	return func(_ string, w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func faults() []fault {
	const provider, model = agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER, agentgwv1.FailureClass_FAILURE_CLASS_MODEL
	return []fault{
		{"429 storm", answerWith(429, leak, "Retry-After", "1"), codes.Aborted, 0, 2, time.Second},
		{"429 for an hour", answerWith(429, leak, "Retry-After", "3600"), codes.Aborted, 0, 1, 0},
		{"500", answerWith(500, leak), codes.Aborted, 0, 2, 0},
		{"529 without a body", answerWith(529, ""), codes.Aborted, 0, 2, 0},
		{"malformed", answerWith(200, `{"a":`), codes.Aborted, 0, 2, 0},
		{"empty object", answerWith(200, "{}"), 0, provider, 2, 0},
		{"another content type", answerWith(200, "<html>"+modelKey+"</html>", "Content-Type", "text/html"), 0, provider, 1, 0},
		{"an event stream", answerWith(200, "data: {", "Content-Type", "text/event-stream"), codes.Aborted, 0, 2, 0},
		{"a rate limit in an answer", answerWith(200, `{"error": {"code": 429, "message": "key `+modelKey+` asks too often"}}`), codes.Aborted, 0, 2, 0},
		{"a rate limit in a choice", answerWith(200, `{"choices": [{"text": "Tur", "finish_reason": "error", "error": {"code": 429, "message": "m"}}], "output": 5}`), codes.Aborted, 0, 2, 0},
		{"a broken gateway in a choice", answerWith(200, `{"choices": [{"error": {"code": 502, "message": "m"}}]}`), codes.Aborted, 0, 2, 0},
		{"cut stream", answerWith(200, `{"choices":`, "Content-Length", "4000"), codes.Aborted, 0, 2, 0},
		{"closed connection", func(string, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, codes.Aborted, 0, 2, 0},
		{"slow", func(_ string, w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // or the server does not notice that the client is gone
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, 0, provider, 2, 2 * faultTimeout},
		{"429 without credit", answerWith(429, `{"error": {"message": "key `+modelKey+` has no credit", "code": "insufficient_quota"}}`), 0, provider, 1, 0},
		{"401 in an answer", answerWith(200, `{"error": {"code": 401, "message": "key `+modelKey+` is bad"}}`), 0, provider, 1, 0},
		{"no credit in an answer", answerWith(200, `{"error": {"code": 402, "message": "key `+modelKey+` has no credit"}}`), 0, provider, 1, 0},
		{"no credit in a choice", answerWith(200, `{"choices": [{"text": "Tur", "error": {"code": 402, "message": "key `+modelKey+` has no credit"}}]}`), 0, provider, 1, 0},
		{"flagged in a choice", answerWith(200, `{"choices": [{"error": {"code": 403, "message": "m"}}]}`), 0, provider, 1, 0},
		{"Anthropic's error in an answer", answerWith(200, `{"type": "error", "error": {"type": "authentication_error", "message": "m"}}`), 0, provider, 1, 0},
		{"402", answerWith(402, leak), 0, provider, 1, 0},
		{"401", answerWith(401, leak), 0, provider, 1, 0},
		{"400", answerWith(400, leak), 0, provider, 1, 0},
		{"redirect", answerWith(302, leak, "Location", "http://elsewhere.invalid/"), 0, provider, 1, 0},
		{"huge answer", answerWith(200, strings.Repeat("x", faultBytes+1)), 0, provider, 1, 0},
		{"huge turn", func(p string, w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, textAnswer(p, strings.Repeat("x", 2*faultTurn)))
		}, 0, model, 1, 0},
	}
}

// TestLongModelFaults plays a rollout against each fault of each provider, all at once, each beside
// one with a healthy provider. Every fault is classified, affects its own rollout only, and does
// not leak the key.
func TestLongModelFaults(t *testing.T) {
	t.Parallel()
	cfg := allKeys()
	cfg.ModelAnswerBytes, cfg.ModelTurnBytes = faultBytes, faultTurn
	client := serve(t, cfg, natstest.Start(t))
	var group sync.WaitGroup
	for i, test := range faults() {
		for p := range models() {
			group.Go(func() { test.check(t, client, p, fmt.Sprintf("%d-%s", i, p)) })
		}
	}
	group.Wait()
}

// check plays the two rollouts.
func (f fault) check(t *testing.T, client agentgwv1.AgentGatewayServiceClient, p string, id string) {
	t.Helper()
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		f.answer(p, w, r)
	}))
	t.Cleanup(server.Close)
	well := startProvider(t, always(http.StatusOK, textAnswer(p, "hello")))
	request, beside := askModel(p, server.URL), askModel(p, well.URL)
	request.RolloutId, beside.RolloutId = "fault."+id, "beside."+id
	request.Player.GetModel().TimeoutMs = 120_000
	if f.within > faultTimeout {
		request.Player.GetModel().TimeoutMs = faultTimeout.Milliseconds()
	}
	begun := time.Now()
	got, err := client.Respond(t.Context(), request)
	if status.Code(err) != f.code || got.GetFailure().GetClass() != f.class {
		t.Errorf("%s of %s: got %v and %v, want code %s, class %s", f.name, p, got, err, f.code, f.class)
	}
	if took := time.Since(begun); took < f.within {
		t.Errorf("%s of %s: got an answer after %s, want it after %s", f.name, p, took, f.within)
	}
	if text := fmt.Sprint(got, err); models()[p] != "" && strings.Contains(text, modelKey) {
		t.Errorf("%s of %s: got %s, want no key in it", f.name, p, text)
	}
	stopped := f.within > 0 && time.Since(begun) > f.within+faultTimeout/2 // a request of that time may not arrive
	if n := requests.Load(); n > f.requests || n < f.requests && !stopped {
		t.Errorf("%s of %s: got %d requests, want %d", f.name, p, n, f.requests)
	}
	if got, err := client.Respond(t.Context(), beside); err != nil || messagetext.Content(got.GetMessages()[0]) != "hello" {
		t.Errorf("beside %s of %s: got %v and %v, want its answer", f.name, p, got, err)
	}
}

// TestModelKeyFaults rejects keys that do not fit into a header, without a request and without
// leaking them.
func TestModelKeyFaults(t *testing.T) {
	const bad = "sk-a\nb"
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(bad+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := startProvider(t, always(http.StatusOK, textAnswer("openai", "hello")))
	for name, test := range map[string]struct {
		environment map[string]string
		want        string
	}{
		"variable": {map[string]string{"OPENAI_API_KEY": bad}, "OPENAI_API_KEY"},
		"file":     {map[string]string{"OPENAI_API_KEY_FILE": file}, file},
	} {
		got, err := serve(t, withKeys(test.environment), natstest.Start(t)).Respond(t.Context(), askModel("openai", f.URL))
		if err != nil || got.GetFailure().GetClass() != agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER {
			t.Errorf("%s: got %v and %v, want a failure of the provider", name, got, err)
		}
		if detail := got.GetFailure().GetDetail(); !strings.Contains(detail, test.want) || strings.Contains(detail, "sk-a") {
			t.Errorf("%s: got %q, want %s in it and no key", name, detail, test.want)
		}
	}
	if n := f.count(); n != 0 {
		t.Errorf("got %d requests, want none", n)
	}
}
