package standalone

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		code = 1
	}
	os.Exit(code)
}

func config(t *testing.T, services ...rpc.Service) Config {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Dir, cfg.Services, cfg.Network.Grace = t.TempDir(), services, 100*time.Millisecond
	return cfg
}

func start(t *testing.T, cfg Config) *Installation {
	t.Helper()
	e, err := Start(t.Context(), cfg, rpc.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func closeNow(t *testing.T, e *Installation) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Errorf("Close: got %v, want nil", err)
	}
}

// TestServices starts some services. Only they answer.
func TestServices(t *testing.T) {
	e := start(t, config(t, rpc.ToolHost, rpc.Orchestrator))
	defer closeNow(t, e)
	for service, want := range map[rpc.Service]codes.Code{
		rpc.ToolHost: codes.Unimplemented, rpc.Orchestrator: codes.Unimplemented, rpc.AgentGateway: codes.DeadlineExceeded, rpc.Evaluator: codes.DeadlineExceeded,
	} {
		limit := 2 * time.Minute
		if want == codes.DeadlineExceeded {
			limit = 100 * time.Millisecond // no service will answer
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		err := e.Node().Conn(service).Invoke(ctx, "/unknown.Service/Unknown", &emptypb.Empty{}, &emptypb.Empty{})
		cancel()
		if got := status.Code(err); got != want {
			t.Errorf("%s: got %v, want %v", service, got, want)
		}
	}
	select {
	case err := <-e.Failed():
		t.Errorf("Failed: got %v, want nothing", err)
	default:
	}
}

// TestInUse opens a directory twice, and again after the first user has closed it.
func TestInUse(t *testing.T) {
	cfg := config(t, rpc.ToolHost)
	first := start(t, cfg)
	_, err := Start(t.Context(), cfg, rpc.Options{Logger: slog.New(slog.DiscardHandler)})
	if want := "data directory " + cfg.Dir + " is in use by another process: wait until it ends"; !errors.Is(err, ErrInUse) || err.Error() != want {
		t.Errorf("Start on a directory in use: got %v, want %s", err, want)
	}
	closeNow(t, first)
	closeNow(t, start(t, cfg))
}
