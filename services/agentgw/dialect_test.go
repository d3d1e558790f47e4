package agentgw_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/services/agentgw"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// promptedModels maps each prompted provider to an invalid call and the exception that the original
// raises for it.
func promptedModels() map[string][2]string {
	return map[string][2]string{
		"hermes":          {"<tool_call>{", "ValueError"},
		"gorilla":         {"<<function>>fly_away()", "KeyError"},
		"mistral":         {"[TOOL_CALLS] [{]", "JSONDecodeError"},
		"cohere-prompted": {"Action: ```json{```", "RuntimeError"},
	}
}

func completion(text string) string {
	return fmt.Sprintf(`{"choices":[{"text":%q,"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`, text)
}

// TestDialectMistakes checks that a model reads about its mistakes, that four in a row are allowed,
// and that compat ends the rollout.
func TestDialectMistakes(t *testing.T) {
	client := serve(t, withKeys(nil), natstest.Start(t))
	for p, wrong := range promptedModels() {
		f := startProvider(t, always(http.StatusOK, completion(wrong[0])))
		for _, compat := range []bool{false, true} {
			request := askModel(p, f.URL)
			request.Compat = compat
			request.RolloutId = fmt.Sprintf("dialect.%s.%t", p, compat)
			for turn := 1; ; turn++ {
				got, err := client.Respond(t.Context(), request)
				if err != nil {
					t.Fatalf("%s: %v", p, err)
				}
				if failure := got.GetFailure(); failure != nil {
					want := wrong[1]
					if !compat && turn == 5 {
						want = "KeyError" // no tool has the name that says what is wrong
					}
					if failure.GetClass() != agentgwv1.FailureClass_FAILURE_CLASS_MODEL || failure.GetExceptionType() != want || !compat && turn != 5 || compat && turn != 1 {
						t.Errorf("%s, compat %t, turn %d: got %v, want a failure of the model, %s", p, compat, turn, failure, want)
					}
					break
				}
				if turn == 5 || len(got.GetMessages()) != 1 || got.GetMessages()[0].GetRecipient() != environment {
					t.Fatalf("%s, turn %d: got %v, want a call that the environment refuses", p, turn, got)
				}
				request.View = append(request.View, got.GetMessages()...)
				request.View = append(request.View, message(int32(len(request.GetView())), environment, agent, "NameError"))
				request.Index = int32(len(request.GetView()))
			}
		}
	}
}

// TestDialectFaults checks failures of a server, and that it gets no key if none is set.
func TestDialectFaults(t *testing.T) {
	cfg := withKeys(nil)
	cfg.ModelTurnBytes = 16 << 10
	client := serve(t, cfg, natstest.Start(t))
	tests := []struct {
		name, body string
		status     int
		code       codes.Code
		class      agentgwv1.FailureClass
		requests   int
	}{
		{"429", "", 429, codes.Aborted, 0, 2},
		{"500", "", 500, codes.Aborted, 0, 2},
		{"malformed", "not json", 200, codes.OK, agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER, 2},
		{"empty", "{}", 200, codes.OK, agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER, 2},
		{"incomplete", `{"choices": [`, 200, codes.Aborted, 0, 2},
		{"404", "", 404, codes.OK, agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER, 1},
		{"huge", completion(strings.Repeat("x", cfg.ModelTurnBytes)), 200, codes.OK, agentgwv1.FailureClass_FAILURE_CLASS_MODEL, 1},
		{"said", completion("hello"), 200, codes.OK, 0, 1},
	}
	for p := range promptedModels() {
		for _, test := range tests {
			f := startProvider(t, always(test.status, test.body))
			request := askModel(p, f.URL+"/v1")
			request.RolloutId = fmt.Sprintf("dialect.%s.%s", p, test.name)
			got, err := client.Respond(t.Context(), request)
			if status.Code(err) != test.code || got.GetFailure().GetClass() != test.class || f.count() != test.requests {
				t.Errorf("%s, %s: got %v and %v after %d requests, want %s and %s after %d", p, test.name, got, err, f.count(), test.code, test.class, test.requests)
			}
			if r := f.requests[0]; r.URL.Path != "/v1/completions" || r.Header.Get("Authorization") != "Bearer EMPTY" {
				t.Errorf("%s: got %s with %q, want /v1/completions without a key", p, r.URL.Path, r.Header.Get("Authorization"))
			}
		}
		got, err := client.Respond(t.Context(), askModel(p, ""))
		if err != nil || !strings.Contains(got.GetFailure().GetDetail(), "give --base-url or set OPENAI_BASE_URL") {
			t.Errorf("%s without a server: got %v and %v, want a failure that says what to give", p, got, err)
		}
	}
	f := startProvider(t, always(http.StatusOK, completion("hello")))
	keyed := serve(t, withKeys(map[string]string{"OPENAI_API_KEY": modelKey, "OPENAI_BASE_URL": f.URL}), natstest.Start(t))
	if _, err := keyed.Respond(t.Context(), askModel("hermes", "")); err != nil || f.requests[0].Header.Get("Authorization") != "Bearer "+modelKey {
		t.Errorf("with a key: got %v and %v, want the key", err, f.requests)
	}
}

// TestDialectSimulator plays the user, who has one tool, with prompts.
func TestDialectSimulator(t *testing.T) {
	f := startProvider(t, always(http.StatusOK, completion("It is me.")))
	request := askModel("hermes", f.URL)
	request.Role = user
	request.View = []*worldv1.Message{message(0, system, user, "s"), message(1, user, agent, "u"), message(2, agent, user, "a")}
	got, err := serve(t, withKeys(nil), natstest.Start(t)).Respond(t.Context(), request)
	if err != nil || len(got.GetMessages()) != 1 || messagetext.Content(got.GetMessages()[0]) != "It is me." {
		t.Errorf("got %v and %v, want the text", got, err)
	}
	if want := `\u003c|im_start|\u003eassistant\nu\u003c|im_end|\u003e\n\u003c|im_start|\u003euser\na\u003c|im_end|\u003e`; !strings.Contains(f.bodies[0], want) {
		t.Errorf("got %s, want %s in it", f.bodies[0], want)
	}
}

// TestBrokenTemplate checks that a gateway does not start with an invalid template.
func TestBrokenTemplate(t *testing.T) {
	cfg := agentgw.DefaultConfig()
	cfg.TemplateDir = t.TempDir()
	file := filepath.Join(cfg.TemplateDir, "mistral.tmpl")
	if err := os.WriteFile(file, []byte("{{.Turns}}\n{{end}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	record := natstest.Start(t)
	if _, err := agentgw.NewServer(cfg, record, record); err == nil || !strings.Contains(err.Error(), file+":2:") {
		t.Errorf("got %v, want an error that names %s, line 2", err, file)
	}
}
