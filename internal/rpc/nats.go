package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolsandbox/toolsandbox/internal/bom"
	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/pause"
)

const (
	// natsReconnectWait is the pause between two attempts to reach a NATS server. It is a small part
	// of the lease of bus.Replicas: after an outage all hear each other before any of them acts.
	natsReconnectWait = 500 * time.Millisecond
	// firstPause is the time between the first two log lines of a process that waits at its start. It
	// doubles up to noticeEvery.
	firstPause = 5 * time.Second
)

// lateHandshake is the refusal of a user whose process stopped for the two seconds that a server
// waits for one. The client has no error for it.
const lateHandshake = "Authentication Timeout"

// startWait logs what a process waits for at its start: at once, and then at growing intervals.
type startWait struct {
	logger  *slog.Logger
	address string // of NATS
	began   time.Time
	next    time.Time
	pause   time.Duration
}

// report logs the failure of an attempt, unless the last line is recent.
func (w *startWait) report(err error) {
	now := time.Now()
	if w.began.IsZero() {
		w.began, w.pause = now, firstPause
	}
	if now.Before(w.next) {
		return
	}
	w.logger.Warn("waiting for NATS and its streams", "address", w.address, "reason", err, "since", now.Sub(w.began).Round(time.Second))
	w.next, w.pause = now.Add(w.pause), min(2*w.pause, noticeEvery)
}

// end logs the end of a logged wait.
func (w *startWait) end() {
	if !w.began.IsZero() {
		w.logger.Info("NATS and its streams are ready", "address", w.address, "after", time.Since(w.began).Round(time.Second))
	}
}

// retry repeats try until it succeeds, fails for good, or ctx is done.
func (w *startWait) retry(ctx context.Context, passes func(error) bool, try func() error) error {
	for {
		err := try()
		if err == nil || !passes(err) {
			return err
		}
		w.report(err)
		if !pause.For(ctx, natsReconnectWait) {
			return ctx.Err()
		}
	}
}

// InitBus makes the streams of an installation on its NATS server. It waits for NATS until ctx is
// done, and for each stream as bus.Init does. It logs what it waits for, and settings that change.
func InitBus(ctx context.Context, cfg Config, logger *slog.Logger) error {
	if err := errors.Join(cfg.validateNATS(), cfg.Bus.Validate()); err != nil {
		return err
	}
	wait := &startWait{logger: logger, address: redact(cfg.NATSURL)}
	conn, js, err := connectNATS(ctx, cfg, bus.RoleOperator, logger, wait)
	if err != nil {
		return err
	}
	defer conn.Close()
	before, err := bus.Settings(ctx, js)
	if err != nil {
		return err
	}
	if err := bus.Init(ctx, js, cfg.Bus, wait.report); err != nil {
		return err
	}
	wait.end()
	after, err := bus.Settings(ctx, js)
	if err == nil && before != "" && before != after {
		logger.Warn("the settings of the streams have changed", "before", before, "after", after)
	}
	return err
}

// openBus waits until the streams of a role exist and opens the bus. The empty role has all.
func openBus(ctx context.Context, js jetstream.JetStream, role bus.Role, wait *startWait) (b *bus.Bus, err error) {
	var roles []bus.Role
	if role != "" {
		roles = []bus.Role{role}
	}
	isEarly := func(err error) bool { return errors.Is(err, bus.ErrNotReady) }
	err = wait.retry(ctx, isEarly, func() (err error) { b, err = bus.Open(ctx, js, roles...); return err })
	if err == nil {
		wait.end()
	}
	return b, err
}

// natsOptions returns the options of a connection with a role, which may be empty.
func natsOptions(cfg Config, role bus.Role, logger *slog.Logger) ([]nats.Option, error) {
	options := []nats.Option{
		nats.Name(strings.TrimSpace("toolsandbox " + string(role))),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(natsReconnectWait),
		nats.IgnoreAuthErrorAbort(), // a user is refused while its password or certificate is being replaced
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				logger.Warn("NATS connection lost, reconnecting", "error", err)
			}
		}),
		logErrors(logger),
	}
	if role != "" {
		options = append(options, nats.CustomInboxPrefix(bus.InboxPrefix(role)))
	}
	if cfg.NATSCredentials != "" {
		options = append(options, nats.UserCredentials(cfg.NATSCredentials))
	}
	if file := cfg.NATSPasswordFile; file != "" {
		if _, err := bom.ReadFile(file); err != nil {
			return nil, fmt.Errorf("--nats-password-file: %w", err)
		}
		user := cmp.Or(cfg.NATSUser, string(role))
		options = append(options, nats.UserInfoHandler(func() (string, string) {
			password, err := bom.ReadFile(file)
			if err != nil {
				logger.Warn("password of NATS cannot be read", "error", err)
			}
			return user, strings.TrimSpace(string(password))
		}))
	}
	if cfg.NATSCA != "" {
		options = append(options, nats.RootCAs(cfg.NATSCA))
	}
	if cfg.NATSCert != "" {
		options = append(options, nats.ClientCert(cfg.NATSCert, cfg.NATSKey))
	}
	return options, nil
}

// connectNATS connects to a NATS server over the network with a role. It waits for the server until
// ctx is done, and later retries a lost connection without limit.
func connectNATS(ctx context.Context, cfg Config, role bus.Role, logger *slog.Logger, wait *startWait) (conn *nats.Conn, js jetstream.JetStream, err error) {
	options, err := natsOptions(cfg, role, logger)
	if err != nil {
		return nil, nil, err
	}
	err = wait.retry(ctx, isUnreachable, func() (err error) { conn, err = nats.Connect(cfg.NATSURL, options...); return err })
	if unparsed := (*url.Error)(nil); errors.As(err, &unparsed) {
		err = errors.New("invalid URL") // the error itself repeats the password
	}
	if ctx.Err() != nil {
		return nil, nil, fmt.Errorf("NATS at %s: stopped waiting: %w", redact(cfg.NATSURL), ctx.Err())
	}
	if err != nil {
		return nil, nil, fmt.Errorf("NATS at %s cannot be reached: %w: start it or give another --nats-url", redact(cfg.NATSURL), err)
	}
	if js, err = jetstream.New(conn); err != nil {
		conn.Close()
		return nil, nil, fmt.Errorf("open JetStream: %w", err)
	}
	return conn, js, nil
}

// isUnreachable reports whether an attempt to connect to NATS may succeed later without another
// configuration, because no server was reached or none is ready. A refused user, certificate or
// URL is for good.
func isUnreachable(err error) bool {
	if address := (*net.AddrError)(nil); errors.As(err, &address) {
		return false
	}
	for _, early := range []error{nats.ErrNoServers, nats.ErrTimeout, nats.ErrConnectionClosed, nats.ErrStaleConnection, io.EOF, os.ErrDeadlineExceeded} {
		if errors.Is(err, early) {
			return true
		}
	}
	if strings.HasSuffix(err.Error(), lateHandshake) {
		return true
	}
	operation, ok := errors.AsType[*net.OpError](err)
	return ok && slices.Contains([]string{"dial", "read", "write"}, operation.Op)
}

// logErrors logs errors of a connection that no caller gets, such as messages that the client has
// dropped because their reader was too slow. Followers notice the gap and read them again. An error
// that repeats, such as the refusal of a user, is logged every noticeEvery.
func logErrors(logger *slog.Logger) nats.Option {
	var last string
	var at time.Time
	return nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { // one at a time
		now := time.Now()
		if err.Error() == last && now.Sub(at) < noticeEvery {
			return
		}
		last, at = err.Error(), now
		logger.Warn("NATS connection error", "error", err)
	})
}

// redact removes user names and passwords from NATS URLs.
func redact(urls string) string {
	options := strings.Split(urls, ",")
	for i, text := range options {
		if at := strings.LastIndex(text, "@"); at >= 0 {
			scheme := ""
			if colon := strings.Index(text, "://"); colon >= 0 {
				scheme = text[:colon+3]
			}
			options[i] = scheme + text[at+1:]
		}
	}
	return strings.Join(options, ",")
}
