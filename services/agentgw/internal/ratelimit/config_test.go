package ratelimit

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func TestLimitFlag(t *testing.T) {
	for _, test := range []struct {
		args []string
		want Limits
		err  string
	}{
		{nil, Limits{}, ""},
		{
			[]string{"--agentgw-limit", "openai=rpm:600,tpm:200000,concurrency:64", "--agentgw-limit", "default=concurrency:8"},
			Limits{"openai": {600, 200000, 64}, "default": {Concurrency: 8}}, "",
		},
		{[]string{"--agentgw-limit", "openai=rpm:6; google=tpm:5"}, Limits{"openai": {Requests: 6}, "google": {Tokens: 5}}, ""},
		{[]string{"--agentgw-limit", "openai-responses=rpm:6;cohere-prompted=rpm:1"}, Limits{"openai": {Requests: 6}, "cohere-prompted": {Requests: 1}}, ""},
		{
			[]string{"--agentgw-limit", "opnai=rpm:5"}, nil, `no provider is called "opnai", expected one of ` +
				"anthropic, cohere, cohere-prompted, default, google, gorilla, hermes, mistral, openai, openai-responses, plain, vertex",
		},
		{[]string{"--agentgw-limit", "unspecified=rpm:5"}, nil, `no provider is called "unspecified"`},
		{[]string{"--agentgw-limit", "openai"}, nil, `"openai" given, expected PROVIDER=LIMITS as in openai=rpm:600,concurrency:64`},
		{[]string{"--agentgw-limit", "=rpm:1"}, nil, "expected PROVIDER=LIMITS"},
		{[]string{"--agentgw-limit", "openai="}, nil, `limit of openai: "" given, expected rpm:N, tpm:N or concurrency:N with a number from 1`},
		{[]string{"--agentgw-limit", "openai=rpm:0"}, nil, `"rpm:0" given, expected rpm:N`},
		{[]string{"--agentgw-limit", "openai=rps:1"}, nil, `"rps:1" given, expected rpm:N, tpm:N or concurrency:N`},
		{[]string{"--agentgw-limit", "openai=rpm:1,rpm:2"}, nil, `"rpm:2" given, but rpm is given before`},
		{[]string{"--agentgw-limit", "openai=tpm:9223372036854775807"}, nil, "expected rpm:N, tpm:N or concurrency:N with a number from 1 to 1125899906842624"},
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
	if err := cfg.Limits.Set("openai=tpm:2;google=rpm:1,concurrency:3"); err != nil {
		t.Fatal(err)
	}
	if got, want := cfg.Limits.String(), "google=rpm:1,concurrency:3;openai=tpm:2"; got != want {
		t.Errorf("String: got %s, want %s", got, want)
	}
}

func TestConfigIsValidated(t *testing.T) {
	for name, change := range map[string]func(c *Config){
		"--agentgw-limit-queue:":      func(c *Config) { c.Queue = 0 },
		"--agentgw-breaker-failures:": func(c *Config) { c.BreakerFailures = 0 },
		"--agentgw-max-pause:":        func(c *Config) { c.MaxPause = 0 },
		"--agentgw-max-wait:":         func(c *Config) { c.MaxWait = 0 },
	} {
		cfg := DefaultConfig()
		change(&cfg)
		if _, err := New(cfg, newMemory(), "r0", nil); err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%s got %v, want an error that names it", name, err)
		}
	}
}
