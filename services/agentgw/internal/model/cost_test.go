package model

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/pricing"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/openai"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/ratelimit"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// newPricedPlayer returns a player with the built-in prices and a limiter.
func newPricedPlayer(t *testing.T) *Player {
	t.Helper()
	prices, err := pricing.Load("")
	if err != nil {
		t.Fatal(err)
	}
	player, err := NewPlayer(Config{Prices: prices, Budget: &ratelimit.Limiter{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(player.Close)
	return player
}

func TestCost(t *testing.T) {
	p := newPricedPlayer(t)
	million := &agentgwv1.Usage{InputTokens: 1e6, OutputTokens: 1e6}
	for _, test := range []struct {
		account, model string
		used           *agentgwv1.Usage
		want           ratelimit.Cost
		priced         bool
	}{
		{"openai", "gpt-4o-2024-05-13", million, ratelimit.Cost{Tokens: 2e6, Micros: 5_000_000 + 15_000_000}, true},
		{"openai", "gpt-4o-2024-08-06", million, ratelimit.Cost{Tokens: 2e6, Micros: 2_500_000 + 10_000_000}, true},
		{"openai", "gpt-4o-mini-2024-07-18", million, ratelimit.Cost{Tokens: 2e6, Micros: 150_000 + 600_000}, true},
		{"anthropic", "claude-3-opus-20240229", million, ratelimit.Cost{Tokens: 2e6, Micros: 15_000_000 + 75_000_000}, true},
		{"openai", "somebody/model", million, ratelimit.Cost{Tokens: 2e6}, false},
		{"nobody", "gpt-4o", million, ratelimit.Cost{Tokens: 2e6}, false},
		{
			"openai", "gpt-4o", &agentgwv1.Usage{InputTokens: 1000, CachedTokens: 400, OutputTokens: 10},
			ratelimit.Cost{Tokens: 1010, Micros: 600*5/2 + 400*5/4 + 10*10}, true,
		},
		{"openai", "m", &agentgwv1.Usage{InputTokens: -5, OutputTokens: 3}, ratelimit.Cost{Tokens: 3}, false},
		{"openai", "m", &agentgwv1.Usage{InputTokens: math.MaxInt64, OutputTokens: math.MaxInt64}, ratelimit.Cost{Tokens: 2 * maxTokens}, false},
	} {
		if got, known := p.cost(test.account, test.model, test.used); got != test.want || known != test.priced {
			t.Errorf("%s:%s: got %v, %t, want %v, %t", test.account, test.model, got, known, test.want, test.priced)
		}
	}
	huge, _ := p.cost("openai", "gpt-4o", &agentgwv1.Usage{InputTokens: math.MaxInt64, OutputTokens: math.MaxInt64})
	sum := ratelimit.Cost{}
	for range 1_000_000 {
		sum = sum.Plus(huge)
	}
	if sum.Tokens <= 0 || sum.Micros <= 0 {
		t.Errorf("sum of a million huge requests: got %v, want no overflow", sum)
	}
}

// TestUnknownPrice sets a limit in money for a model with unknown price.
func TestUnknownPrice(t *testing.T) {
	p, spec := newPricedPlayer(t), openai.Spec()
	for name, test := range map[string]struct {
		own   bool
		model string
		limit *agentgwv1.SpendLimit
		held  bool
	}{
		"money only":      {true, "unknown", &agentgwv1.SpendLimit{CostMicros: 5_000_000}, true},
		"tokens, too":     {true, "unknown", &agentgwv1.SpendLimit{CostMicros: 5_000_000, Tokens: 5000}, false},
		"another address": {false, "unknown", &agentgwv1.SpendLimit{CostMicros: 5_000_000}, false},
		"known price":     {true, "gpt-4o", &agentgwv1.SpendLimit{CostMicros: 5_000_000}, false},
		"no limit":        {true, "unknown", nil, false},
	} {
		request := &agentgwv1.RespondRequest{SpendLimit: test.limit, Player: &agentgwv1.Player{
			Kind: &agentgwv1.Player_Model{Model: &agentgwv1.Model{Model: test.model}},
		}}
		_, err := p.budgetRequest(request, &spec, provider.Endpoint{Official: test.own}, &provider.Request{})
		hold, held := errors.AsType[*Throttled](err)
		if held != test.held || held && (!hold.SpendLimitReached || !strings.HasPrefix(hold.Error(), "spend limit cannot be kept: the price of unknown is not known: ")) {
			t.Errorf("%s: got %v, want it held: %t", name, err, test.held)
		}
	}
}

func TestClassOfStatus(t *testing.T) {
	for status, want := range map[int]ratelimit.Class{
		200: ratelimit.Succeeded, 302: ratelimit.Rejected, 400: ratelimit.Rejected, 401: ratelimit.Rejected, 408: ratelimit.Failed,
		429: ratelimit.Throttled, 500: ratelimit.Failed, 502: ratelimit.Failed, 503: ratelimit.Overloaded, 529: ratelimit.Overloaded, 0: ratelimit.Failed,
	} {
		if got := classOfStatus(status); got != want {
			t.Errorf("status %d: got %s, want %s", status, got, want)
		}
	}
}

func TestKeyHidesTheSecret(t *testing.T) {
	spec := openai.Spec()
	one := keyOf(&spec, provider.Endpoint{BaseURL: "https://a", Secret: "sk-secret"}).Fingerprint
	two := keyOf(&spec, provider.Endpoint{BaseURL: "https://b", Secret: "sk-secret"}).Fingerprint
	if one == two || len(one) != 16 || strings.Contains(one, "secret") {
		t.Errorf("fingerprints: got %s and %s, want two hashes of 16 digits", one, two)
	}
}
