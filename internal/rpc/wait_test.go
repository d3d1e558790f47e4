package rpc

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
)

// late is a service that the test makes reachable and whose answers it defines.
type late struct {
	healthv1.UnimplementedHealthServer
	reached atomic.Bool
	check   func(ctx context.Context) error
}

func (l *late) Check(ctx context.Context, _ *healthv1.HealthCheckRequest) (*healthv1.HealthCheckResponse, error) {
	return &healthv1.HealthCheckResponse{}, l.check(ctx)
}

func (l *late) Watch(_ *healthv1.HealthCheckRequest, stream healthv1.Health_WatchServer) error {
	<-stream.Context().Done()
	return nil
}

// client serves l inside a synctest bubble and returns a client. told returns the client's log with
// relative times.
func (l *late) client(t *testing.T, w *waitReporter) (client healthv1.HealthClient, told func() []string) {
	t.Helper()
	return serveHealth(t, l, &l.reached, w)
}

// serveHealth is client for any service, reachable after reached is set.
func serveHealth(t *testing.T, service healthv1.HealthServer, reached *atomic.Bool, w *waitReporter) (client healthv1.HealthClient, told func() []string) {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	srv := grpc.NewServer(grpc.WaitForHandlers(true), grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveMinimum}))
	healthv1.RegisterHealthServer(srv, service)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	began := time.Now()
	var log bytes.Buffer
	w.service = Evaluator
	w.logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Duration("at", a.Value.Time().Sub(began).Round(time.Second))
		}
		return a
	}}))
	options := append(clientOptions(DefaultConfig(), nil), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			if !reached.Load() {
				return nil, errors.New("connection refused")
			}
			return listener.DialContext(ctx)
		}))
	conn, err := grpc.NewClient("passthrough:///evaluator", options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		srv.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return healthv1.NewHealthClient(&callee{waits: w, route: direct{conn}}), func() []string {
		return strings.Split(strings.TrimSuffix(log.String(), "\n"), "\n")
	}
}

// TestWaiting checks that the log of a waiting call contains the reason, the address and the
// remaining time.
func TestWaiting(t *testing.T) {
	const place = `peer=evaluator address=127.0.0.1:7404 `
	pause := func(d time.Duration, err error) func(context.Context) error {
		return func(ctx context.Context) error {
			timer := time.NewTimer(d)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
			return err
		}
	}
	for name, test := range map[string]struct {
		reached time.Duration // time until the service is reachable
		check   func(context.Context) error
		client  bool
		want    []string
	}{
		"never reachable": {time.Hour, nil, false, []string{
			`at=3s level=WARN msg="waiting for service" ` + place + `reason="no connection; giving up in 2m27s"`,
			`at=1m3s level=WARN msg="waiting for service" ` + place + `reason="no connection; giving up in 1m27s"`,
			`at=2m3s level=WARN msg="waiting for service" ` + place + `reason="no connection; giving up in 27s"`,
		}},
		"reachable late": {10 * time.Second, pause(0, nil), false, []string{
			`at=3s level=WARN msg="waiting for service" ` + place + `reason="no connection; giving up in 2m27s"`,
			`at=1[01]s level=WARN msg="service answers" ` + place + `after=1[01]s`,
		}},
		"reachable soon": {2 * time.Second, pause(0, nil), false, []string{""}},
		"slow":           {0, pause(time.Minute, nil), false, []string{""}},
		"slow, of a client": {0, pause(10*time.Second, nil), true, []string{
			`at=3s level=WARN msg="waiting for service" ` + place + `reason="connected, no answer yet; giving up in 2m27s"`,
			`at=10s level=WARN msg="service answers" ` + place + `after=10s`,
		}},
		"unavailable, slow": {0, pause(4*time.Second, status.Error(codes.Unavailable, "the plug-in is away")), false, []string{
			`at=4s level=WARN msg="service cannot answer yet, retrying" ` + place + `reason="the plug-in is away"`,
		}},
		"unavailable, fast": {0, pause(0, status.Error(codes.Unavailable, "the plug-in is away")), false, []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			synctest.Test(t, func(t *testing.T) {
				service := &late{check: test.check}
				time.AfterFunc(test.reached, func() { service.reached.Store(true) })
				client, told := service.client(t, &waitReporter{address: "127.0.0.1:7404", client: test.client})
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
				defer cancel()
				_, err := client.Check(ctx, &healthv1.HealthCheckRequest{})
				if late := test.reached == time.Hour; late {
					checkText(t, err, "evaluator at 127.0.0.1:7404 cannot be reached: ", "nothing listens there", ": start it with toolsandbox serve evaluator or give another --evaluator-addr")
				}
				got = told()
			})
			checkLog(t, got, test.want)
		})
	}
}

// TestWaitingTogether checks that many calls with the same reason are logged once. A stream waits
// only for its connection.
func TestWaitingTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &late{check: func(context.Context) error { return nil }}
		time.AfterFunc(20*time.Second, func() { service.reached.Store(true) })
		client, told := service.client(t, &waitReporter{client: true})
		ended := make(chan error)
		for range 100 {
			go func() {
				_, err := client.Check(t.Context(), &healthv1.HealthCheckRequest{})
				ended <- err
			}()
		}
		ctx, leave := context.WithCancel(t.Context())
		stream, err := client.Watch(ctx, &healthv1.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(40*time.Second, leave)
		if _, err := stream.Recv(); err == nil {
			t.Error("Recv: got nil, want an error")
		}
		for range 100 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		want := []string{
			`at=3s level=WARN msg="waiting for service" peer=evaluator reason="no connection"`,
			`at=2[01]s level=WARN msg="service answers" peer=evaluator after=2[01]s`,
		}
		checkLog(t, told(), want)
	})
}

// checkLog compares lines with patterns, because the pauses between connection attempts are
// jittered.
func checkLog(t *testing.T, got, want []string) {
	t.Helper()
	same := func(got, pattern string) bool { return regexp.MustCompile("^" + pattern + "$").MatchString(got) }
	if !slices.EqualFunc(got, want, same) {
		t.Errorf("log: got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// checkText checks that an error contains texts in this order.
func checkText(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("got nil, want an error with %q", texts)
		return
	}
	rest := err.Error()
	for _, text := range texts {
		_, after, ok := strings.Cut(rest, text)
		if !ok {
			t.Errorf("got %v, want an error with %q", err, texts)
			return
		}
		rest = after
	}
}
