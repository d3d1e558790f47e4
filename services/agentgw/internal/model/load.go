package model

import (
	"sync"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// load counts requests by sweep and provider. Safe for concurrent use. The zero value is ready to
// use.
type load struct {
	mu     sync.Mutex
	counts map[loadKey]int32
}

type loadKey struct{ sweep, provider string }

// begin counts a request until end is called.
func (l *load) begin(sweep, provider string) (end func()) {
	key := loadKey{sweep, provider}
	l.add(key, 1)
	return func() { l.add(key, -1) }
}

func (l *load) add(key loadKey, n int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts == nil {
		l.counts = make(map[loadKey]int32)
	}
	if l.counts[key] += n; l.counts[key] == 0 {
		delete(l.counts, key)
	}
}

// visit calls visit with the number of requests of a sweep, or of all if sweep is empty. It may
// visit a provider more than once.
func (l *load) visit(sweep string, visit func(provider string, n int32)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, n := range l.counts {
		if sweep == "" || sweep == key.sweep {
			visit(key.provider, n)
		}
	}
}

// Load returns the number of requests of a sweep, or of all if sweep is empty, by provider.
func (p *Player) Load(sweep string) map[string]*busv1.ProviderLoad {
	loads := make(map[string]*busv1.ProviderLoad)
	of := func(provider string) *busv1.ProviderLoad {
		if loads[provider] == nil {
			loads[provider] = &busv1.ProviderLoad{}
		}
		return loads[provider]
	}
	p.asked.visit(sweep, func(provider string, n int32) { of(provider).Asked += n })
	p.limited.visit(sweep, func(provider string, n int32) { of(provider).Limited += n })
	return loads
}
