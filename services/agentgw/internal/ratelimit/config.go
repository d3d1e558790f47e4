package ratelimit

import (
	"errors"
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

// anyProvider is the name of the limit for providers that have none of their own.
const anyProvider = "default"

// maxConcurrency stands for no limit, so that what adapts has somewhere to begin.
const maxConcurrency = 1 << 16

// maxRate bounds limits per minute, so that they can be computed with.
const maxRate = 1 << 50

// Limit bounds the requests under one key. A field of 0 is no limit.
type Limit struct {
	// Requests and Tokens are per minute.
	Requests, Tokens int64
	// Concurrency is the number of requests at once.
	Concurrency int
}

// Config says what budgets there are and how they are shared.
type Config struct {
	// Limits are by provider; that of "default" is for all others.
	Limits map[string]Limit
	// Queue bounds the requests that wait for one budget.
	Queue int
	// BreakerFailures is how many failures in a row, of the provider or of the network, open the
	// breaker.
	BreakerFailures int
	// MaxPause bounds how long a budget rests because the provider asks for it.
	MaxPause time.Duration
	// MaxWait bounds how long a run waits for a budget of which no request is answered.
	MaxWait time.Duration
	// Jitter returns a number from 0 to 1; it is called concurrently.
	Jitter func() float64
}

// DefaultConfig returns a configuration without limits but those that a provider's refusals teach.
func DefaultConfig() Config {
	return Config{
		Limits: map[string]Limit{}, Queue: 1 << 14, BreakerFailures: 20, MaxPause: 10 * time.Minute, MaxWait: 30 * time.Minute,
		Jitter: rand.Float64,
	}
}

// RegisterFlags adds the limiter's flags.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.Var(&limits{of: &c.Limits}, "agentgw-limit",
		"limit of one provider's key over all replicas, as openai=rpm:600,tpm:200000,concurrency:64; \"default\" is for the providers that are not named; repeat it, or part several by ';'")
	fs.IntVar(&c.Queue, "agentgw-limit-queue", c.Queue, "how many requests may wait for one provider's key")
	fs.IntVar(&c.BreakerFailures, "agentgw-breaker-failures", c.BreakerFailures, "failures of a provider in a row after which it is left alone for a while")
	fs.DurationVar(&c.MaxPause, "agentgw-max-pause", c.MaxPause, "longest pause that a provider may ask for")
	fs.DurationVar(&c.MaxWait, "agentgw-max-wait", c.MaxWait, "how long a run waits for a provider that refuses or fails all requests under a key, before its turns fail")
}

// Validate names the first field that is out of range.
func (c Config) Validate() error {
	for _, name := range slices.Sorted(maps.Keys(c.Limits)) {
		if l := c.Limits[name]; l.Requests < 0 || l.Tokens < 0 || l.Concurrency < 0 || l.Concurrency > maxConcurrency {
			return fmt.Errorf("--agentgw-limit: %s given for %s, expected numbers from 1, concurrency up to %d", l, name, maxConcurrency)
		}
	}
	switch {
	case c.Queue < 1:
		return fmt.Errorf("--agentgw-limit-queue: %d given, expected at least 1", c.Queue)
	case c.BreakerFailures < 1:
		return fmt.Errorf("--agentgw-breaker-failures: %d given, expected at least 1", c.BreakerFailures)
	case c.MaxPause < time.Second:
		return fmt.Errorf("--agentgw-max-pause: %s given, expected at least 1s", c.MaxPause)
	case c.MaxWait < time.Second:
		return fmt.Errorf("--agentgw-max-wait: %s given, expected at least 1s", c.MaxWait)
	case c.Jitter == nil:
		return errors.New("no source of jitter")
	}
	return nil
}

// limit returns what holds for a provider.
func (c Config) limit(provider string) Limit {
	limit, ok := c.Limits[provider]
	if !ok {
		limit = c.Limits[anyProvider]
	}
	if limit.Concurrency == 0 {
		limit.Concurrency = maxConcurrency
	}
	return limit
}

// budgetOf returns the name of the budget of a provider's models, by the provider's name.
func budgetOf(name string) (string, error) {
	specs := providers.All(nil)
	if spec, known := providers.Named(specs, name); known {
		return spec.Account(), nil
	}
	if name == anyProvider {
		return name, nil
	}
	known := slices.Sorted(slices.Values(append(providers.Names(specs), anyProvider)))
	return "", fmt.Errorf("no provider is called %q, expected one of %s", name, strings.Join(known, ", "))
}

// ParseLimit reads rpm:600,tpm:200000,concurrency:64; each part may be left out.
func ParseLimit(text string) (Limit, error) {
	var limit Limit
	seen := make(map[string]bool)
	for part := range strings.SplitSeq(text, ",") {
		name, number, _ := strings.Cut(strings.TrimSpace(part), ":")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 1 || n > maxRate {
			return Limit{}, fmt.Errorf("%q given, expected rpm:N, tpm:N or concurrency:N with a number from 1 to %d", part, int64(maxRate))
		}
		if seen[name] {
			return Limit{}, fmt.Errorf("%q given, but %s is given before", part, name)
		}
		seen[name] = true
		switch name {
		case "rpm":
			limit.Requests = n
		case "tpm":
			limit.Tokens = n
		case "concurrency":
			if n > maxConcurrency {
				return Limit{}, fmt.Errorf("%q given, expected at most %d", part, maxConcurrency)
			}
			limit.Concurrency = int(n)
		default:
			return Limit{}, fmt.Errorf("%q given, expected rpm, tpm or concurrency before the number", part)
		}
	}
	return limit, nil
}

// String returns what ParseLimit reads.
func (l Limit) String() string {
	var parts []string
	for _, part := range []struct {
		name string
		n    int64
	}{{"rpm", l.Requests}, {"tpm", l.Tokens}, {"concurrency", int64(l.Concurrency)}} {
		if part.n != 0 {
			parts = append(parts, part.name+":"+strconv.FormatInt(part.n, 10))
		}
	}
	return strings.Join(parts, ",")
}

// limits is the value of a flag that may be given more than once.
type limits struct{ of *map[string]Limit }

// Set implements pflag.Value.
func (l *limits) Set(text string) error {
	merged := maps.Clone(*l.of)
	if merged == nil {
		merged = make(map[string]Limit)
	}
	for one := range strings.SplitSeq(text, ";") {
		name, rest, ok := strings.Cut(strings.TrimSpace(one), "=")
		if !ok || name == "" {
			return fmt.Errorf("%q given, expected PROVIDER=LIMITS as in openai=rpm:600,concurrency:64", one)
		}
		budget, err := budgetOf(name)
		if err != nil {
			return err
		}
		limit, err := ParseLimit(rest)
		if err != nil {
			return fmt.Errorf("limit of %s: %w", name, err)
		}
		merged[budget] = limit
	}
	*l.of = merged
	return nil
}

// String implements pflag.Value.
func (l *limits) String() string {
	if l.of == nil {
		return ""
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(*l.of)) {
		all = append(all, name+"="+(*l.of)[name].String())
	}
	return strings.Join(all, ";")
}

// Type implements pflag.Value.
func (*limits) Type() string { return "limits" }
