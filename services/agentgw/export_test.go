package agentgw

import (
	"context"
	"log/slog"
)

// NewServer is newServer without a limiter and other replicas, for tests.
func NewServer(cfg Config, recorder Recorder, relay Relay) (*Server, error) {
	prices, err := cfg.check()
	if err != nil {
		return nil, err
	}
	return newServer(context.Background(), cfg, prices, nil, recorder, relay, nil, slog.New(slog.DiscardHandler))
}
