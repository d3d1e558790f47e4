package play

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// remoteValues returns a value for each flag without effect with --remote.
func remoteValues() map[string]string {
	return map[string]string{
		"agent-ca": "ca.pem", "attach-cert": "cert.pem", "attach-client-ca": "ca.pem", "attach-key": "key.pem", "attach-listen": "localhost:9", "agentgw-breaker-failures": "5",
		"agentgw-limit": "openai=rpm:5", "agentgw-limit-queue": "5", "agentgw-max-pause": "5s", "agentgw-max-wait": "5s",
		"agentgw-price-file": "price.yaml", "agentgw-template-dir": "templates", "toolhost-service-timeout": "5s", "toolhost-tool-server-timeout": "5s",
		"toolhost-service-url": "http://localhost:1", "orchestrator-respond-timeout": "5s", "data-dir": "data", "sync": "always", "trace-content": "true", "trace-ratio": "0.5",
	}
}

// givenOptions returns the options of a run with flags from command line, environment and file.
func givenOptions(t *testing.T, args []string, environment map[string]string, file string) *Options {
	t.Helper()
	options, flags := New(results.Program{}), pflag.NewFlagSet("run", pflag.ContinueOnError)
	options.RegisterFlags(flags)
	path := filepath.Join(t.TempDir(), "mine.yaml")
	err := errors.Join(os.WriteFile(path, []byte(file), 0o600), flags.Parse(args),
		process.SetFromEnvironment(flags, func(name string) (string, bool) { value, ok := environment[name]; return value, ok }))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := process.SetFromFile(flags, pflag.NewFlagSet("", pflag.ContinueOnError), path); err != nil {
		t.Fatal(err)
	}
	return options
}

// TestRemoteFlags checks that --remote rejects each flag without effect, from command line,
// environment and file. The error names the flag and the remedy.
func TestRemoteFlags(t *testing.T) {
	values, wantFlags := remoteValues(), remoteFlags()
	if diff := cmp.Diff(slices.Sorted(maps.Keys(wantFlags)), slices.Sorted(maps.Keys(values))); diff != "" {
		t.Fatalf("flags (-refused +tested):\n%s", diff)
	}
	for name, value := range values {
		for how, options := range map[string]func(remote string) *Options{
			"--" + name: func(remote string) *Options {
				return givenOptions(t, []string{"--remote=" + remote, "--" + name, value}, nil, "")
			},
			"environment variable " + process.FlagVariable(name) + ": --" + name: func(remote string) *Options {
				return givenOptions(t, []string{"--remote=" + remote}, map[string]string{process.FlagVariable(name): value}, "")
			},
			"mine.yaml:1:1: --" + name: func(remote string) *Options {
				return givenOptions(t, []string{"--remote=" + remote}, nil, fmt.Sprintf("%s: %s\n", name, value))
			},
		} {
			want := fmt.Sprintf("%s: given, but --remote ignores it here: %s", how, wantFlags[name])
			err := options("true").rejectUnused()
			if got := fmt.Sprint(err); !errors.Is(err, process.ErrUsage) || !hasEnd(got, want) {
				t.Errorf("got %v, want %s", err, want)
			}
			if err := options("false").rejectUnused(); err != nil {
				t.Errorf("%s without --remote: got %v, want nil", how, err)
			}
		}
	}
}

// hasEnd reports whether an error ends with a text. A file's directory may precede it.
func hasEnd(got, want string) bool {
	return len(got) >= len(want) && got[len(got)-len(want):] == want
}

// TestRemoteFlagsAreComplete checks that every flag of run is listed as with or without effect with
// --remote.
func TestRemoteFlagsAreComplete(t *testing.T) {
	useful := []string{
		"agent", "user", "attach-token-file", "base-url", "user-base-url", "temperature", "max-tokens", "user-temperature", "user-max-tokens", "model-timeout", "reasoning-effort", "user-reasoning-effort", "thinking-budget",
		"user-thinking-budget", "stop", "model-seed", "user-stop", "user-model-seed", "spend-tokens", "spend-usd", "require-price", "pack", "builtin", "scenarios", "category", "exclude", "limit", "limit-seed", "agent-prompt", "agent-prompt-after", "user-prompt", "user-sees", "variants", "language", "split", "iterations", "compat-order", "test-mode", "out", "results", "parallel", "trials", "seed", "compat",
		"max-rollout-bytes", "repeat-limit", "probe", "allow-no-tools", "floors", "against", "until-decided", "until-width", "services", "resume", "replay", "fork", "text", "preferred-tool-backend", "wait", "sweep-id", "json", "remote", "orchestrator-addr", "evaluator-addr",
		"toolhost-tool-server", "tls-cert", "tls-key", "tls-ca", "token-file", "max-message-bytes", "remote-wait", "log-format", "log-level", "otlp-endpoint", "otlp-tls", "trace-ui", "otlp-metrics", "otlp-metrics-interval", "metrics-listen",
	}
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	New(results.Program{}).RegisterFlags(flags)
	var got []string
	flags.VisitAll(func(flag *pflag.Flag) { got = append(got, flag.Name) })
	want := slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(remoteFlags())), useful...)))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags that do nothing or something, and flags of run (-want +got):\n%s", diff)
	}
}
