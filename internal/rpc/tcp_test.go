package rpc

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
)

// lines receives the lines of a log.
type lines chan string

func (l lines) Write(p []byte) (int, error) { l <- string(p); return len(p), nil }

// TestNATSErrorsAreLogged checks that an asynchronous error, here of a slow subscriber, is logged.
func TestNATSErrorsAreLogged(t *testing.T) {
	url, _ := natstest.Listen(t)
	cfg := DefaultConfig()
	cfg.NATSURL = url
	told := make(lines, 100)
	logger := slog.New(slog.NewJSONHandler(told, nil))
	conn, _, err := connectNATS(t.Context(), cfg, bus.RoleAgentGateway, logger, &startWait{logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	handle := make(chan struct{})
	defer close(handle)
	slow, err := conn.Subscribe("slow", func(*nats.Msg) { <-handle })
	if err == nil {
		err = slow.SetPendingLimits(1, -1)
	}
	for range 10 {
		if err == nil {
			err = conn.Publish("slow", nil)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := <-told; !strings.Contains(got, `"msg":"NATS connection error"`) || !strings.Contains(got, nats.ErrSlowConsumer.Error()) {
		t.Errorf("log: got %q, want the error", got)
	}
}
