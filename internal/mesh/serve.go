package mesh

import (
	"context"
	"errors"
	"fmt"
	"time"

	"buf.build/go/protovalidate"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/telemetry"
)

const (
	keepaliveTime    = 30 * time.Second
	keepaliveTimeout = 10 * time.Second
	keepaliveMinimum = 10 * time.Second
	dialBaseDelay    = 50 * time.Millisecond
	dialMaxDelay     = time.Second
)

// serviceConfig: every call of these services is safe to repeat (their protos say so), so a call
// that met a restarting peer is tried again within its deadline.
const serviceConfig = `{
  "loadBalancingConfig": [{"round_robin": {}}],
  "methodConfig": [{
    "name": [{}],
    "waitForReady": true,
    "retryPolicy": {
      "maxAttempts": 5,
      "initialBackoff": "0.05s",
      "maxBackoff": "1s",
      "backoffMultiplier": 2,
      "retryableStatusCodes": ["UNAVAILABLE"]
    }
  }]
}`

// Serve serves one service of this process until ctx is done, then lets running calls end within
// the grace time. Beside what register adds it serves grpc.health.v1, checks every request against
// its protovalidate rules, and bounds message sizes.
func (m *Mesh) Serve(ctx context.Context, s Service, register func(grpc.ServiceRegistrar)) error {
	validator, err := protovalidate.New()
	if err != nil {
		return fmt.Errorf("%s: compile validation rules: %w", s, err)
	}
	options, err := m.serverOptions(validator)
	if err != nil {
		return err
	}
	listener, err := m.transport.listen(s)
	if err != nil {
		return err
	}
	srv := grpc.NewServer(options...)
	register(srv)
	healthy := health.NewServer()
	healthv1.RegisterHealthServer(srv, healthy)
	if m.cfg.Reflection {
		reflection.Register(srv)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	m.Logger(s).Info("serving", "address", listener.Addr().String())
	select {
	case err := <-served:
		return fmt.Errorf("%s: serve: %w", s, err)
	case <-ctx.Done():
	}
	healthy.Shutdown()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		srv.GracefulStop()
	}()
	grace := time.NewTimer(m.cfg.Grace)
	defer grace.Stop()
	select {
	case <-stopped:
	case <-grace.C:
		srv.Stop()
		<-stopped
	}
	if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("%s: serve: %w", s, err)
	}
	return nil
}

func (m *Mesh) serverOptions(validator protovalidate.Validator) ([]grpc.ServerOption, error) {
	creds, err := m.cfg.serverCredentials()
	if err != nil {
		return nil, err
	}
	options := []grpc.ServerOption{
		grpc.Creds(creds),
		grpc.MaxRecvMsgSize(m.cfg.MaxMessageBytes),
		grpc.MaxSendMsgSize(m.cfg.MaxMessageBytes),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveMinimum, PermitWithoutStream: true}),
		grpc.ChainUnaryInterceptor(m.explainUnary, validateUnary(validator)),
		grpc.ChainStreamInterceptor(m.explainStream, validateStream(validator)),
		grpc.WaitForHandlers(true),
	}
	if m.telemetry.Enabled() {
		options = append(options, grpc.StatsHandler(otelgrpc.NewServerHandler()))
	}
	return options, nil
}

func clientOptions(cfg Config, t *telemetry.Telemetry, w *waits) []grpc.DialOption {
	options := append(w.options(),
		grpc.WithDefaultServiceConfig(serviceConfig),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(cfg.MaxMessageBytes), grpc.MaxCallSendMsgSize(cfg.MaxMessageBytes)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: dialBaseDelay, Multiplier: 2, Jitter: 0.2, MaxDelay: dialMaxDelay},
			MinConnectTimeout: dialMaxDelay,
		}))
	if w.patience > 0 {
		options = append(options, grpc.WithDisableRetry()) // waits repeats
	}
	if t.Enabled() {
		options = append(options, grpc.WithStatsHandler(otelgrpc.NewClientHandler()))
	}
	return options
}

func validateUnary(validator protovalidate.Validator) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		if err := validate(validator, req); err != nil {
			return nil, err
		}
		return handler(ctx, req)
	}
}

func validateStream(validator protovalidate.Validator) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		return handler(srv, &validatedStream{ServerStream: stream, validator: validator})
	}
}

// validatedStream checks every message that it receives.
type validatedStream struct {
	grpc.ServerStream
	validator protovalidate.Validator
}

// RecvMsg implements grpc.ServerStream.
func (s *validatedStream) RecvMsg(msg any) error {
	if err := s.ServerStream.RecvMsg(msg); err != nil {
		return err
	}
	return validate(s.validator, msg)
}

func validate(validator protovalidate.Validator, req any) error {
	msg, ok := req.(proto.Message)
	if !ok {
		return nil
	}
	if err := validator.Validate(msg); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return nil
}
