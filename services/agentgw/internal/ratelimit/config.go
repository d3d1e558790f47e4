package ratelimit

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/providers"
)

const (
	// anyProvider is the name of the default limit.
	anyProvider = "default"
	// maxLimit bounds limits so that sums do not overflow. It also stands for no limit.
	maxLimit = 1 << 50
)

// Limit bounds the requests under one key. 0 is no limit.
type Limit struct {
	// Requests and Tokens are per minute.
	Requests, Tokens int64
	// Concurrency is the number of concurrent requests.
	Concurrency int64
}

// Config configures the limiter.
type Config struct {
	// Limits maps a provider to its limit. The key "default" applies to all others.
	Limits Limits
	// Queue bounds the queued requests of one sweep for one key.
	Queue int
	// BreakerFailures is the number of consecutive failures, of the provider or the network, that
	// opens the circuit breaker.
	BreakerFailures int
	// OpenFor is how long the breaker stays open.
	OpenFor time.Duration
	// FirstPause is the pause after the first refusal without a retry time. It doubles with each
	// further one.
	FirstPause time.Duration
	// MaxPause bounds a pause that the provider asks for.
	MaxPause time.Duration
	// MaxWait bounds how long a run waits while the provider answers no request under its key.
	MaxWait time.Duration
	// Jitter returns a number from 0 to 1. It is called concurrently.
	Jitter func() float64
}

// DefaultConfig returns a configuration without limits. The limiter still adapts to a provider's
// refusals.
func DefaultConfig() Config {
	return Config{
		Limits: Limits{}, Queue: 1 << 14, BreakerFailures: 20, OpenFor: 10 * time.Second, FirstPause: time.Second / 2, MaxPause: 10 * time.Minute, MaxWait: 30 * time.Minute,
		Jitter: rand.Float64,
	}
}

// RegisterFlags adds the limiter's flags.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.Var(&c.Limits, "agentgw-limit",
		"limit of one provider's key over all replicas, as openai=rpm:600,tpm:200000,concurrency:64; \"default\" applies to all other providers; repeatable, or several separated by ';'")
	fs.IntVar(&c.Queue, "agentgw-limit-queue", c.Queue, "most waiting requests of one sweep per provider's key")
	fs.IntVar(&c.BreakerFailures, "agentgw-breaker-failures", c.BreakerFailures, "consecutive failures that open a provider's circuit breaker")
	fs.DurationVar(&c.MaxPause, "agentgw-max-pause", c.MaxPause, "longest pause that the gateway grants a provider")
	fs.DurationVar(&c.MaxWait, "agentgw-max-wait", c.MaxWait, "longest time that a run waits for a provider that throttles or fails all requests under a key")
}

// Validate names the first field that is out of range.
func (c Config) Validate() error {
	switch {
	case c.Queue < 1:
		return fmt.Errorf("--agentgw-limit-queue: %d given, expected at least 1", c.Queue)
	case c.BreakerFailures < 1:
		return fmt.Errorf("--agentgw-breaker-failures: %d given, expected at least 1", c.BreakerFailures)
	case c.MaxPause < time.Second:
		return fmt.Errorf("--agentgw-max-pause: %s given, expected at least 1s", c.MaxPause)
	case c.MaxWait < time.Second:
		return fmt.Errorf("--agentgw-max-wait: %s given, expected at least 1s", c.MaxWait)
	}
	return nil
}

// limit returns the limit of a provider.
func (c Config) limit(provider string) Limit {
	limit, ok := c.Limits[provider]
	if !ok {
		limit = c.Limits[anyProvider]
	}
	return Limit{cmp.Or(limit.Requests, maxLimit), cmp.Or(limit.Tokens, maxLimit), cmp.Or(limit.Concurrency, maxLimit)}
}

// Limits maps an account name, under which a provider's models count, to its limit. It is the value
// of a repeatable flag.
type Limits map[string]Limit

// Set implements pflag.Value. It parses limits such as openai=rpm:600,tpm:200000,concurrency:64,
// separated by ';'. Each part of a limit is optional.
func (l *Limits) Set(text string) error {
	merged, specs := Limits{}, providers.All(nil)
	maps.Copy(merged, *l)
	for entry := range strings.SplitSeq(text, ";") {
		name, rest, ok := strings.Cut(strings.TrimSpace(entry), "=")
		if !ok || name == "" {
			return fmt.Errorf("%q given, expected PROVIDER=LIMITS as in openai=rpm:600,concurrency:64", entry)
		}
		if spec, ok := providers.Named(specs, name); ok {
			name = spec.Account()
		} else if name != anyProvider {
			names := slices.Sorted(slices.Values(append(providers.Names(specs), anyProvider)))
			return fmt.Errorf("no provider is called %q, expected one of %s", name, strings.Join(names, ", "))
		}
		limit, err := parseLimit(rest)
		if err != nil {
			return fmt.Errorf("limit of %s: %w", name, err)
		}
		merged[name] = limit
	}
	*l = merged
	return nil
}

func parseLimit(text string) (limit Limit, err error) {
	for part := range strings.SplitSeq(text, ",") {
		name, number, _ := strings.Cut(strings.TrimSpace(part), ":")
		n, err := strconv.ParseInt(number, 10, 64)
		at := map[string]*int64{"rpm": &limit.Requests, "tpm": &limit.Tokens, "concurrency": &limit.Concurrency}[name]
		switch {
		case err != nil || at == nil || n < 1 || n > maxLimit:
			return Limit{}, fmt.Errorf("%q given, expected rpm:N, tpm:N or concurrency:N with a number from 1 to %d", part, int64(maxLimit))
		case *at != 0:
			return Limit{}, fmt.Errorf("%q given, but %s is given before", part, name)
		}
		*at = n
	}
	return limit, nil
}

// String implements pflag.Value. Set parses its result.
func (l *Limits) String() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(*l)) {
		all = append(all, name+"="+(*l)[name].String())
	}
	return strings.Join(all, ";")
}

// Type implements pflag.Value.
func (*Limits) Type() string { return "limits" }

// String returns a limit in the form that Set parses.
func (l Limit) String() string {
	var parts []string
	for i, n := range []int64{l.Requests, l.Tokens, l.Concurrency} {
		if n != 0 {
			parts = append(parts, fmt.Sprintf("%s:%d", [...]string{"rpm", "tpm", "concurrency"}[i], n))
		}
	}
	return strings.Join(parts, ",")
}
