package play

import (
	"io"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/process"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

// prepareRun returns the sweep and options for flags, with a pack that loads faster than the
// built-in one.
func prepareRun(t *testing.T, args ...string) (sweep.Spec, *Options) {
	t.Helper()
	options := New(results.Program{})
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	options.RegisterFlags(flags)
	if err := flags.Parse(append(args, "--pack", filepath.Join("..", "..", "packs", "ride"))); err != nil {
		t.Fatal(err)
	}
	spec, err := options.prepare(t.Context(), io.Discard, []string{"be_ready"})
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return spec, options
}

// TestModelTimeout checks that players contain the timeout of an answer, and that the timeout of a
// turn follows from it.
func TestModelTimeout(t *testing.T) {
	for _, test := range []struct {
		args              []string
		agent, user, turn time.Duration
	}{
		{[]string{"--agent", "openai:m"}, 0, 0, 2 * time.Minute},
		{[]string{"--agent", "oracle", "--user", "openai:m", "--model-timeout", "10m"}, 0, 10 * time.Minute, 2 * time.Minute},
		{[]string{"--agent", "openai:m", "--user", "openai:m", "--model-timeout", "1h"}, time.Hour, time.Hour, 2 * time.Minute},
		{[]string{"--agent", "openai:m", "--model-timeout", "5m", "--orchestrator-respond-timeout", "9m"}, 5 * time.Minute, 0, 9 * time.Minute},
		{[]string{"--agent", "cli", "--user", "openai:m", "--model-timeout", "1h"}, 0, time.Hour, 2 * time.Minute},
	} {
		spec, options := prepareRun(t, test.args...)
		agent, user, turn := spec.Agents[0].GetModel().GetTimeoutMs(), spec.Users[0].GetModel().GetTimeoutMs(), options.installation.Orchestrator.RespondTimeout
		if agent != test.agent.Milliseconds() || user != test.user.Milliseconds() || turn != test.turn {
			t.Errorf("%v: got %d ms for the agent, %d ms for the user, %s for a turn, want %s, %s and %s", test.args, agent, user, turn, test.agent, test.user, test.turn)
		}
	}
}

// TestParallelReachesSweep checks that the sweep contains the number of concurrent rollouts, local
// or remote.
func TestParallelReachesSweep(t *testing.T) {
	for _, test := range []struct {
		args []string
		want int
	}{
		{[]string{"--agent", "oracle", "--parallel", "7"}, 7},
		{[]string{"--agent", "oracle", "--parallel", "7", "--remote"}, 7},
		{[]string{"--agent", "oracle"}, 64},
		{[]string{"--agent", "oracle", "--remote"}, 0}, // the orchestrator's, or the team's
		{[]string{"--agent", "cli", "--parallel", "7"}, 1},
	} {
		if spec, _ := prepareRun(t, test.args...); spec.Parallel != test.want {
			t.Errorf("%v: got %d concurrent rollouts, want %d", test.args, spec.Parallel, test.want)
		}
	}
}

// TestSpendInEnvironment sets a spend limit in the environment. Without a model it is ignored.
func TestSpendInEnvironment(t *testing.T) {
	environment := func(name string) (string, bool) { return "500", name == "TOOLSANDBOX_SPEND_TOKENS" }
	model := &agentgwv1.Player{Kind: &agentgwv1.Player_Model{Model: &agentgwv1.Model{}}}
	for name, test := range map[string]struct {
		agent *agentgwv1.Player
		want  *agentgwv1.SpendLimit
	}{"model": {model, &agentgwv1.SpendLimit{Tokens: 500}}, "no model": {&agentgwv1.Player{}, nil}} {
		options, flags := &spendOptions{}, pflag.NewFlagSet("run", pflag.ContinueOnError)
		options.register(flags)
		if err := process.SetFromEnvironment(flags, environment); err != nil {
			t.Fatal(err)
		}
		got, err := options.limit(sweep.Spec{Agents: []*agentgwv1.Player{test.agent}})
		if err != nil || !proto.Equal(got, test.want) {
			t.Errorf("%s: got a limit of %v, %v, want %v", name, got, err, test.want)
		}
	}
}

func TestRedact(t *testing.T) {
	secrets := Secrets([]string{"OPENAI_API_KEY=sk-longer-than-this", "MY_TOKEN=sk-longer", "DB_PASSWORD=short", "TOOLSANDBOX_TLS_KEY=certificate/key.pem", "TOOLSANDBOX_ATTACH_TOKEN=of-attached-agents", "HOME=/home/somebody"})
	for text, want := range map[string]string{
		"":                                      "",
		"http://localhost:8000/v1":              "http://localhost:8000/v1",
		"https://u:p@h/v1":                      "https://[redacted]@h/v1",
		"https://u:p@ss/w@h/v1":                 "https://[redacted]@h/v1",
		"https://u@h":                           "https://[redacted]@h",
		"http://h/v1?key=abc&x=1#f":             "http://h/v1?[redacted]#f",
		"nats://a:b@h:4222":                     "nats://[redacted]@h:4222",
		"vertex:claude@20240620":                "vertex:claude@20240620",
		"http://h/sk-longer-than-this/v1":       "http://h/[redacted]/v1",
		"sk-longer":                             "[redacted]",
		"x=of-attached-agents":                  "x=[redacted]",
		"short certificate/key.pem":             "short certificate/key.pem",
		"see http://u:p@h and http://v:q@i?k=1": "see http://[redacted]@h and http://[redacted]@i?[redacted]",
	} {
		if got := Redact(text, secrets); got != want {
			t.Errorf("redact(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestFlagsAreClassified checks that every flag of run is listed as changing results or not.
func TestFlagsAreClassified(t *testing.T) {
	free := []string{
		"out", "data-dir", "parallel", "resume", "sweep-id", "json", "remote", "orchestrator-addr", "evaluator-addr", "spend-tokens", "spend-usd", "require-price",
		"agent-ca", "attach-cert", "attach-client-ca", "attach-key", "attach-listen", "attach-token-file", "token-file", "tls-ca", "tls-cert", "tls-key", "max-message-bytes", "log-format", "log-level",
		"otlp-endpoint", "otlp-tls", "trace-content", "trace-ratio", "trace-ui", "otlp-metrics", "otlp-metrics-interval", "metrics-listen", "orchestrator-respond-timeout", "toolhost-service-timeout", "toolhost-tool-server", "toolhost-tool-server-timeout", "agentgw-breaker-failures",
		"agentgw-limit", "agentgw-limit-queue", "agentgw-max-pause", "agentgw-max-wait", "agentgw-price-file", "wait", "remote-wait",
		"sync", "iterations", "compat-order", "probe", "allow-no-tools", "floors", "results", "against", "until-decided", "until-width",
	}
	var got []string
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	New(results.Program{}).RegisterFlags(flags)
	flags.VisitAll(func(flag *pflag.Flag) { got = append(got, flag.Name) })
	want := slices.Sorted(slices.Values(slices.Concat(free, resultFlags(), installationFlags())))
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags that are free or change results, and flags of run (-want +got):\n%s", diff)
	}
}
