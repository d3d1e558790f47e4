package e2e_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// summary is the part of a run's summary that the budget tests read.
type summary struct {
	Scenarios []summaryScenario `json:"per_scenario_results"`
}

type summaryScenario struct {
	Name          string      `json:"name"`
	Similarity    json.Number `json:"similarity"`
	ExceptionType *string     `json:"exception_type"`
}

func readSummary(t *testing.T, out string) (s summary) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(out, "result_summary.json"))
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// infrastructure counts the rollouts without a score.
func (s summary) infrastructure() (n int) {
	for _, rollout := range s.Scenarios {
		if rollout.ExceptionType != nil {
			n++
		}
	}
	return n
}

// attempt runs the program and returns exit code and stderr.
func attempt(t *testing.T, args ...string) (code int, stderr string) {
	t.Helper()
	var output strings.Builder
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), args...)
	cmd.Stderr = &output
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	} else if ok {
		code = exit.ExitCode()
	}
	return code, output.String()
}

// TestRateLimitedServer runs 200 concurrent rollouts with a server that answers 8 concurrent
// requests and rejects the rest. The limiter adapts, and every rollout gets its score.
func TestRateLimitedServer(t *testing.T) {
	t.Parallel()
	const concurrency, rollouts = 8, 200
	server := startChatServer(t)
	var running, refused atomic.Int32
	full := make(chan struct{})
	crowded := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer running.Add(-1)
		if running.Add(1) > concurrency {
			if refused.Add(1) == 1 {
				close(full)
			}
			w.Header().Set("Retry-After-Ms", "100")
			http.Error(w, `{"error":{"message":"too many"}}`, http.StatusTooManyRequests)
			return
		}
		select {
		case <-full: // reached even with slow requests
		case <-r.Context().Done():
			return
		}
		<-time.After(2 * time.Millisecond) // duration of an answer
		server.serve(t, w, r)
	}))
	t.Cleanup(crowded.Close)
	out := filepath.Join(t.TempDir(), "out")
	toolsandbox(t, "run", "--probe=false", "--agent", "openai:m", "--base-url", crowded.URL, "--trials", "200", "--parallel", "200", "--out", out, "turn_off_wifi")
	got := readSummary(t, out)
	if len(got.Scenarios) != rollouts || got.infrastructure() != 0 {
		t.Errorf("rollouts: got %d, %d of them without a score, want %d with one", len(got.Scenarios), got.infrastructure(), rollouts)
	}
	t.Logf("%d requests answered, %d refused", server.asked.Load(), refused.Load())
	if n := refused.Load(); n < 1 || n > 3*rollouts {
		t.Errorf("refused requests: got %d, want some, but no more than %d", n, 3*rollouts)
	}
}

// TestSpendLimit exceeds the spend limit, in one process and with four. The run stops and reports
// it. --resume with a higher limit runs exactly the missing rollouts and repeats no request.
func TestSpendLimit(t *testing.T) {
	t.Parallel()
	services := start(t)
	for name, place := range map[string][]string{"one": nil, "four": services.ClientArgs()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const rollouts = 12
			server := startChatServer(t)
			dear := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answer := httptest.NewRecorder()
				server.serve(t, answer, r)
				_, _ = io.WriteString(w, strings.Replace(answer.Body.String(), `"prompt_tokens":`, `"prompt_tokens":50`, 1)) // from 500 on
			}))
			t.Cleanup(dear.Close)
			out := filepath.Join(t.TempDir(), "out")
			args := append([]string{
				"run", "--probe=false", "--agent", "openai:m", "--base-url", dear.URL, "--trials", "12", "--parallel", "4", "--out", out, "turn_off_wifi",
			}, place...)
			code, output := attempt(t, append(args, "--spend-tokens", "20000")...)
			first, requests := readSummary(t, out), server.asked.Load()
			if n := len(first.Scenarios); code != 1 || n == 0 || n >= rollouts || first.infrastructure() != 0 {
				t.Errorf("exit code %d with %d rollouts, %d of them without a score, want 1 with some of %d:\n%s", code, n, first.infrastructure(), rollouts, output)
			}
			if !strings.Contains(output, "spend limit reached: ") || !strings.Contains(output, ": raise --spend-tokens; ") || !strings.Contains(output, ": then continue with --out "+out+" --resume") {
				t.Errorf("stderr: got %q, want that the limit is reached and how to go on", output)
			}
			if code, output = attempt(t, append(args, "--resume", "--spend-tokens", "20000")...); code != 1 || server.asked.Load() != requests {
				t.Errorf("with the same limit: got exit code %d and %d more requests, want 1 and none:\n%s", code, server.asked.Load()-requests, output)
			}
			if code, output = attempt(t, append(args, "--resume", "--spend-tokens", "2000000")...); code != 0 {
				t.Errorf("with a higher limit: got exit code %d, want 0:\n%s", code, output)
			}
			if got := readSummary(t, out); len(got.Scenarios) != rollouts || got.infrastructure() != 0 {
				t.Errorf("rollouts at last: got %d, %d of them without a score, want %d with one", len(got.Scenarios), got.infrastructure(), rollouts)
			}
			if got := exchanges(t, out); got != int(server.asked.Load()) {
				t.Errorf("requests: got %d for %d turns, want one each", server.asked.Load(), got)
			}
		})
	}
}

// TestSpendUnknownPrice limits the money for a model with unknown price. No request is sent, and
// the run prints a remedy.
func TestSpendUnknownPrice(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "none")
	t.Setenv("OPENAI_BASE_URL", "")
	redirectTLS(t, "api.openai.com")
	out := filepath.Join(t.TempDir(), "out")
	code, output := attempt(t, "run", "--probe=false", "--agent", "openai:unheard-of", "--spend-usd", "1", "--out", out, "turn_off_wifi")
	want := "spend limit cannot be kept: the price of unheard-of is not known: give a table of prices that has it (--agentgw-price-file), " +
		"or limit tokens too (--spend-tokens); 0 of 1 rollouts are done: then continue with --out " + out + " --resume\n"
	if code != 1 || !strings.HasSuffix(output, want) {
		t.Errorf("got exit code %d and %q, want 1 and %q at its end", code, output, want)
	}
}
