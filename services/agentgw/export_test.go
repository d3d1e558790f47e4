package agentgw

import (
	"context"
	"log/slog"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/attach"
)

// NewServer is newServer without a limiter and other replicas, for tests.
func NewServer(cfg Config, recorder Recorder, relay attach.Relay) (*Server, error) {
	prices, err := cfg.check()
	if err != nil {
		return nil, err
	}
	return newServer(context.Background(), cfg, prices, nil, recorder, relay, nil, slog.New(slog.DiscardHandler))
}
