package cli

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestUnknownPrice checks that a run with a limit in dollars warns of models without a price before
// its first request, and with --require-price asks none.
func TestUnknownPrice(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		http.Error(w, `{"error":{"message":"no"}}`, http.StatusBadRequest)
	}))
	t.Cleanup(server.Close)
	t.Setenv("OPENAI_API_KEY", "k")
	t.Setenv("OPENAI_BASE_URL", server.URL)
	run := func(args ...string) (int, string) {
		var stdout, stderr bytes.Buffer
		args = append([]string{"run", "--out", filepath.Join(t.TempDir(), "out"), "--wait", "0s", "turn_off_wifi"}, args...)
		code := Main(args, &stdout, &stderr)
		return code, stderr.String()
	}
	const neither = "--agent openai:mine and --user openai:yours"
	code, said := run("--agent", "openai:mine", "--user", "openai:yours", "--spend-usd", "1", "--require-price")
	if want := "toolsandbox: --require-price: the price table has no price of " + neither + ": --agentgw-price-file gives one\n"; code != 2 || said != want {
		t.Errorf("refused: got %d and\n%s\nwant 2 and\n%s", code, said, want)
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("refused: the server got %d requests, want 0", n)
	}
	_, said = run("--agent", "openai:mine", "--user", "openai:yours", "--spend-usd", "1")
	if want := "toolsandbox: --spend-usd cannot count " + neither + ", of which the price table has no price: "; !strings.HasPrefix(said, want) {
		t.Errorf("warned: got\n%s\nwant it to begin with\n%s", said, want)
	}
	if asked.Load() == 0 {
		t.Error("warned: the server got no request")
	}
	if code, said = run("--agent", "openai:gpt-4o", "--user", "openai:yours", "--require-price"); code != 2 || !strings.Contains(said, "no price of --user openai:yours: ") {
		t.Errorf("only the user: got %d and\n%s\nwant 2 and the user's name", code, said)
	}
	if _, said = run("--agent", "openai:gpt-4o", "--spend-usd", "1", "--require-price"); strings.Contains(said, "price table") {
		t.Errorf("a known price: got\n%s\nwant no word of prices", said)
	}
	if code, said = run("--agent", "oracle", "--require-price"); code != 2 || !strings.Contains(said, "--require-price: given, but neither --agent nor --user is a model") {
		t.Errorf("no model: got %d and\n%s\nwant 2", code, said)
	}
}
