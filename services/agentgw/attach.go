package agentgw

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
)

const (
	// attachPing is the keepalive interval that detects a vanished agent.
	attachPing        = 30 * time.Second
	attachPingMinimum = 10 * time.Second
	// attachAnswerBytes exceeds what the SDKs accept as one answer. gRPC ends the stream, with all of
	// its turns, at a longer message.
	attachAnswerBytes = 2 * maxTurnBytes
)

// serveAttached serves attached agents until drained is done. Then it ends their streams at once,
// and the agents reconnect. Streams that open after ctx go to other replicas.
func (s *Server) serveAttached(ctx, drained context.Context, cfg Config) error {
	if cfg.AttachListen == "" {
		<-drained.Done()
		return nil
	}
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(max(cfg.PluginMessageBytes, attachAnswerBytes)),
		grpc.MaxSendMsgSize(cfg.PluginMessageBytes),
		grpc.MaxHeaderListSize(rpc.MaxHeaderBytes),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: attachPing}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: attachPingMinimum, PermitWithoutStream: true}),
		grpc.WaitForHandlers(true),
	}
	if cfg.AttachCert != "" {
		secure, err := cfg.attachTLS()
		if err != nil {
			return err
		}
		options = append(options, grpc.Creds(credentials.NewTLS(secure)))
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", cfg.AttachListen)
	if err != nil {
		return fmt.Errorf("--attach-listen: %w", err)
	}
	srv := grpc.NewServer(options...)
	agentv1.RegisterAttachServiceServer(srv, s.agents)
	serveErr := make(chan error, 1)
	go func() { serveErr <- srv.Serve(listener) }()
	select {
	case err = <-serveErr:
	case <-ctx.Done():
		unwatch := context.AfterFunc(drained, srv.Stop)
		srv.GracefulStop()
		unwatch()
		<-drained.Done()
		err = <-serveErr
	}
	s.agents.Wait()
	if err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve attached agents: %w", err)
	}
	return nil
}
