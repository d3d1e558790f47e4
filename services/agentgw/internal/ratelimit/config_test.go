package ratelimit

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

func TestLimitFlag(t *testing.T) {
	for _, test := range []struct {
		args []string
		want map[string]Limit
		err  string
	}{
		{nil, map[string]Limit{}, ""},
		{
			[]string{"--agentgw-limit", "openai=rpm:600,tpm:200000,concurrency:64", "--agentgw-limit", "default=concurrency:8"},
			map[string]Limit{"openai": {600, 200000, 64}, "default": {Concurrency: 8}}, "",
		},
		{[]string{"--agentgw-limit", "openai=rpm:6; google=tpm:5"}, map[string]Limit{"openai": {Requests: 6}, "google": {Tokens: 5}}, ""},
		{[]string{"--agentgw-limit", "openai-responses=rpm:6;cohere-prompted=rpm:1"}, map[string]Limit{"openai": {Requests: 6}, "cohere-prompted": {Requests: 1}}, ""},
		{
			[]string{"--agentgw-limit", "opnai=rpm:5"}, nil, `no provider is called "opnai", expected one of ` +
				"anthropic, cohere, cohere-prompted, default, google, gorilla, hermes, mistral, openai, openai-responses, plain, vertex",
		},
		{[]string{"--agentgw-limit", "unspecified=rpm:5"}, nil, `no provider is called "unspecified"`},
		{[]string{"--agentgw-limit", "openai"}, nil, `"openai" given, expected PROVIDER=LIMITS as in openai=rpm:600,concurrency:64`},
		{[]string{"--agentgw-limit", "=rpm:1"}, nil, "expected PROVIDER=LIMITS"},
		{[]string{"--agentgw-limit", "openai="}, nil, `limit of openai: "" given, expected rpm:N, tpm:N or concurrency:N with a number from 1`},
		{[]string{"--agentgw-limit", "openai=rpm:0"}, nil, `"rpm:0" given, expected rpm:N`},
		{[]string{"--agentgw-limit", "openai=rps:1"}, nil, `"rps:1" given, expected rpm, tpm or concurrency before the number`},
		{[]string{"--agentgw-limit", "openai=rpm:1,rpm:2"}, nil, `"rpm:2" given, but rpm is given before`},
		{[]string{"--agentgw-limit", "openai=tpm:9223372036854775807"}, nil, "expected rpm:N, tpm:N or concurrency:N with a number from 1 to 1125899906842624"},
		{[]string{"--agentgw-limit", "openai=concurrency:65537"}, nil, "expected at most 65536"},
	} {
		cfg := DefaultConfig()
		fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
		cfg.RegisterFlags(fs)
		err := fs.Parse(test.args)
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%q: got %v, want %s", test.args, err, test.err)
			}
			continue
		}
		if diff := cmp.Diff(test.want, cfg.Limits); err != nil || diff != "" {
			t.Errorf("%q: got %v (-want +got):\n%s", test.args, err, diff)
		}
		if err := cfg.Validate(); err != nil {
			t.Errorf("%q: Validate: %v", test.args, err)
		}
	}
	cfg := DefaultConfig()
	if err := (&limits{of: &cfg.Limits}).Set("openai=tpm:2;google=rpm:1,concurrency:3"); err != nil {
		t.Fatal(err)
	}
	if got, want := (&limits{of: &cfg.Limits}).String(), "google=rpm:1,concurrency:3;openai=tpm:2"; got != want {
		t.Errorf("String: got %s, want %s", got, want)
	}
}

func TestConfigIsValidated(t *testing.T) {
	for name, change := range map[string]func(c *Config){
		"--agentgw-limit:":            func(c *Config) { c.Limits = map[string]Limit{"openai": {Requests: -1}} },
		"--agentgw-limit-queue:":      func(c *Config) { c.Queue = 0 },
		"--agentgw-breaker-failures:": func(c *Config) { c.BreakerFailures = 0 },
		"--agentgw-max-pause:":        func(c *Config) { c.MaxPause = 0 },
		"--agentgw-max-wait:":         func(c *Config) { c.MaxWait = 0 },
		"no source of jitter":         func(c *Config) { c.Jitter = nil },
	} {
		cfg := DefaultConfig()
		change(&cfg)
		if _, err := New(cfg, listPrices(t), newMemory(), "r0", nil); err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%s got %v, want an error that names it", name, err)
		}
	}
}

func TestPrices(t *testing.T) {
	g := replica(t, newMemory(), "r0", nil)
	for _, test := range []struct {
		provider, model string
		micros          int64
	}{
		{"openai", "gpt-4o-2024-05-13", 5_000_000 + 15_000_000},
		{"openai", "gpt-4o-2024-08-06", 2_500_000 + 10_000_000},
		{"openai", "gpt-4o-mini-2024-07-18", 150_000 + 600_000},
		{"OpenAI", "gpt-4o", 2_500_000 + 10_000_000},
		{"anthropic", "claude-3-opus-20240229", 15_000_000 + 75_000_000},
		{"openai", "somebody/model", 0},
		{"nobody", "gpt-4o", 0},
	} {
		got := estimate(g.prices, Request{Key: Key{Provider: test.provider}, Model: test.model, InputTokens: 1e6, OutputTokens: 1e6})
		if got.Micros != test.micros || got.Tokens != 2e6 {
			t.Errorf("estimate of %s:%s: got %v, want %d micros", test.provider, test.model, got, test.micros)
		}
	}
	e := estimate(g.prices, Request{Key: Key{Provider: "openai"}, Model: "gpt-4o", InputTokens: 10})
	got := actual(e, e.Spend, Outcome{Usage: &agentgwv1.Usage{InputTokens: 1000, CachedTokens: 400, OutputTokens: 10}})
	if want := (Spend{Tokens: 1010, Micros: 600*5/2 + 400*5/4 + 10*10}); got != want {
		t.Errorf("actual: got %v, want %v", got, want)
	}
}

func TestClassOf(t *testing.T) {
	for status, want := range map[int]Class{200: Succeeded, 302: Rejected, 400: Rejected, 401: Rejected, 408: Failed, 429: Throttled, 500: Failed, 502: Failed, 503: Overloaded, 529: Overloaded, 0: Failed} {
		if got := ClassOf(status); got != want {
			t.Errorf("ClassOf(%d): got %s, want %s", status, got, want)
		}
	}
}

func TestFingerprintHidesTheKey(t *testing.T) {
	one, two := Fingerprint("https://a", "sk-secret"), Fingerprint("https://b", "sk-secret")
	if one == two || len(one) != 16 || strings.Contains(one, "secret") {
		t.Errorf("Fingerprint: got %s and %s, want two hashes of 16 digits", one, two)
	}
}
