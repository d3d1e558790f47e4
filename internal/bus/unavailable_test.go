package bus_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
)

// TestLostStream checks that errors of a deleted stream name it and the remedy.
func TestLostStream(t *testing.T) {
	conn := natstest.Connect(t, t.TempDir())
	b := natstest.Open(t, conn, natstest.OneShard)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		stream string
		use    func(ctx context.Context) error
	}{
		{"SETUP", func(ctx context.Context) error { _, err := b.PutSetup(ctx, &setupv1.Setup{}); return err }},
		{"SETUP", func(ctx context.Context) error { _, err := b.PutTools(ctx, &agentgwv1.ToolSet{}); return err }},
		{"EVALUATION", func(ctx context.Context) error {
			_, err := b.PutEvaluation(ctx, &evaluationv1.Evaluation{})
			return err
		}},
		{"RECORDING", func(ctx context.Context) error { return b.PutAnswer(ctx, "s.1", 0, nil) }},
		{"BUS_0", func(ctx context.Context) error { _, err := b.Append(ctx, "s.1", entry(1), bus.Position{}); return err }},
		{"SNAPSHOT_0", func(ctx context.Context) error { return b.PublishSnapshot(ctx, &busv1.Snapshot{SessionId: "s.1"}) }},
		{"SWEEP", func(ctx context.Context) error { _, err := b.Sweep(ctx, "s"); return err }},
	} {
		if err := js.DeleteStream(t.Context(), test.stream); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		err := test.use(ctx)
		cancel()
		if want := "stream " + test.stream + ": "; !errors.Is(err, bus.ErrUnavailable) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ": see that NATS runs and has this stream") {
			t.Errorf("%s: got %v, want %v with %q", test.stream, err, bus.ErrUnavailable, want)
		}
	}
	if err := js.DeleteStream(t.Context(), "RESULT"); err != nil {
		t.Fatal(err)
	}
	err = b.ResultIDs(t.Context(), "s", func(string, int32) {})
	if err == nil || !strings.Contains(err.Error(), "stream RESULT: ") || !strings.Contains(err.Error(), ": toolsandbox bus init makes it again") {
		t.Errorf("RESULT: got %v, want an error that names the stream and what to do", err)
	}
}
