package rpc

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// lister lists one sweep.
type lister struct {
	orchestratorv1.UnimplementedOrchestratorServiceServer
}

func (lister) ListSweeps(context.Context, *orchestratorv1.ListSweepsRequest) (*orchestratorv1.ListSweepsResponse, error) {
	return &orchestratorv1.ListSweepsResponse{Sweeps: []*orchestratorv1.SweepInfo{{Id: "s"}}}, nil
}

// TestSocket serves the orchestrator of an installation in one process at a unix socket too, whose
// path is longer than the system takes, and where a killed process has left one. Only this user may
// enter its directory. It is gone when the service has stopped.
func TestSocket(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Grace = 100 * time.Millisecond
	cfg.Socket = filepath.Join(t.TempDir(), strings.Repeat("long/", 40), "with space %", "control", "orchestrator.sock")
	if err := os.MkdirAll(filepath.Dir(cfg.Socket), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cfg.Socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := SocketTarget(t.Context(), cfg.Socket); err == nil {
		t.Error("nobody listens: got nil, want an error")
	}
	node, err := Open(t.Context(), cfg, t.TempDir(), Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- node.Serve(ctx, Orchestrator, func(r grpc.ServiceRegistrar) { orchestratorv1.RegisterOrchestratorServiceServer(r, lister{}) })
	}()
	list := func(conn grpc.ClientConnInterface) {
		t.Helper()
		response, err := orchestratorv1.NewOrchestratorServiceClient(conn).ListSweeps(t.Context(), &orchestratorv1.ListSweepsRequest{})
		if err != nil || len(response.GetSweeps()) != 1 {
			t.Errorf("ListSweeps: got %v and %v, want one sweep", response, err)
		}
	}
	list(node.Conn(Orchestrator)) // it serves
	if info, err := os.Stat(filepath.Dir(cfg.Socket)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory of the socket: got %v and %v, want mode 0700", info.Mode(), err)
	}
	target, closeTarget, err := SocketTarget(t.Context(), cfg.Socket)
	if err != nil {
		t.Fatal(err)
	}
	client := DefaultConfig()
	client.Remote, client.Orchestrators = true, []string{target}
	outside, err := Open(t.Context(), client, "", Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	list(outside.Conn(Orchestrator))
	_, err = orchestratorv1.NewOrchestratorServiceClient(outside.Conn(Orchestrator)).CancelSweep(t.Context(), &orchestratorv1.CancelSweepRequest{SweepId: "no id"})
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("an invalid request: got %v, want %v", err, codes.InvalidArgument)
	}
	stop()
	if err := <-served; err != nil {
		t.Errorf("Serve: got %v, want nil", err)
	}
	if _, err := os.Stat(cfg.Socket); err == nil {
		t.Error("the socket after the end: got it, want none")
	}
	for _, done := range []func() error{outside.Close, closeTarget, node.Close} {
		if err := done(); err != nil {
			t.Error(err)
		}
	}
}
