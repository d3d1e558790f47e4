package rpc_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"google.golang.org/grpc"

	"github.com/toolsandbox/toolsandbox/internal/natsserver"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// occupied returns an address that is in use.
func occupied(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

func TestPortInUse(t *testing.T) {
	cfg := rpc.DefaultConfig()
	cfg.Service, cfg.NATSURL, cfg.Listen = rpc.Evaluator, startNATS(t), occupied(t)
	m, err := rpc.Connect(t.Context(), cfg, options())
	m = closed(t, m, err)
	err = m.Serve(t.Context(), rpc.Evaluator, func(grpc.ServiceRegistrar) {})
	checkError(t, "Serve", err, "evaluator: port of "+cfg.Listen+" is in use: stop the other process or choose another --listen")
}

func TestCannotListen(t *testing.T) {
	cfg := rpc.DefaultConfig()
	cfg.Service, cfg.NATSURL, cfg.Listen = rpc.Evaluator, startNATS(t), "127.0.0.1:no"
	m, err := rpc.Connect(t.Context(), cfg, options())
	m = closed(t, m, err)
	err = m.Serve(t.Context(), rpc.Evaluator, func(grpc.ServiceRegistrar) {})
	checkError(t, "Serve", err, "evaluator: listen on 127.0.0.1:no: …: choose another --listen")
}

func TestNATSErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	taken := occupied(t)
	tests := []struct {
		name string
		cfg  natsserver.Config
		want string
	}{
		{"port in use", natsserver.Config{Dir: t.TempDir(), Listen: taken}, "NATS: listen on " + taken + ": …: stop the other process or choose another --listen"},
		{"no port", natsserver.Config{Dir: t.TempDir(), Listen: "127.0.0.1"}, "--listen: …: expected host:port"},
		{"port with letters", natsserver.Config{Dir: t.TempDir(), Listen: "127.0.0.1:x"}, `--listen 127.0.0.1:x: port "x" is no number`},
		{"a file for a directory", natsserver.Config{Dir: file}, "data directory " + file + " cannot be made: …: choose another one"},
		{"below a file", natsserver.Config{Dir: filepath.Join(file, "nats")}, "data directory " + filepath.Join(file, "nats") + " cannot be made: …: choose another one"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			srv, err := natsserver.Start(test.cfg)
			if srv != nil {
				t.Error("StartNATS: got a server, want none")
			}
			checkError(t, "StartNATS", err, test.want)
		})
	}
	_, err := rpc.Open(t.Context(), rpc.DefaultConfig(), file, options())
	checkError(t, "Open", err, "data directory "+filepath.Join(file, "nats")+" cannot be made: …: choose another one")
}

// TestNATSUnreachable waits for servers that nobody starts. It names their addresses without a
// password.
func TestNATSUnreachable(t *testing.T) {
	address := porttest.Address(t)
	tests := []struct{ name, url, want string }{
		{"plain", "nats://" + address, "NATS at nats://" + address + ": stopped waiting: "},
		{"password", "nats://me:secret@" + address, "NATS at nats://" + address + ": stopped waiting: "},
		{"password with @", "nats://me:secret@secret@" + address, "NATS at nats://" + address + ": stopped waiting: "},
		{"several", "nats://me:secret@" + address + ",secret@" + address, "NATS at nats://" + address + "," + address + ": stopped waiting: "},
		{"no URL", "nats://me:secret@" + address + "x", "NATS at nats://" + address + "x cannot be reached: invalid URL: …"},
		{"no escape", "nats://me:sec%zzret-secret@" + address, "NATS at nats://" + address + " cannot be reached: invalid URL: …"},
		{"no port", "nats://127.0.0.1:99999", "NATS at nats://127.0.0.1:99999 cannot be reached: …: start it or give another --nats-url"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := rpc.DefaultConfig()
			cfg.NATSURL = test.url
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var log strings.Builder
			logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.MessageKey {
					stop() // at the first line
				}
				return a
			}}))
			_, err := rpc.Connect(ctx, cfg, rpc.Options{Logger: logger})
			checkError(t, "Connect", err, test.want)
			if said := fmt.Sprint(err, log.String()); strings.Contains(said, "secret") {
				t.Errorf("Connect: got %s, want an error and a log without the password", said)
			}
		})
	}
}

func TestMissingCredentials(t *testing.T) {
	cfg := rpc.DefaultConfig()
	cfg.NATSURL, cfg.NATSCredentials = startNATS(t), filepath.Join(t.TempDir(), "missing.creds")
	_, err := rpc.Connect(t.Context(), cfg, options())
	checkError(t, "Connect", err, "NATS at "+cfg.NATSURL+" cannot be reached: …missing.creds…")
}

func TestValidate(t *testing.T) {
	if err := rpc.DefaultConfig().Validate(); err != nil {
		t.Errorf("Validate of the default: got %v, want nil", err)
	}
	tests := []struct {
		name   string
		change func(*rpc.Config)
		want   string
	}{
		{"message size", func(c *rpc.Config) { c.MaxMessageBytes = 65535 }, "--max-message-bytes: 65535 given, expected at least 65536"},
		{"grace", func(c *rpc.Config) { c.Grace = -1 }, "--grace: -1ns given, expected 0 or more"},
		{"certificate alone", func(c *rpc.Config) { c.TLSCert = "c" }, "--tls-cert and --tls-key: one given, expected both or neither"},
		{"key alone", func(c *rpc.Config) { c.TLSKey = "k" }, "--tls-cert and --tls-key: one given, expected both or neither"},
		{"identity", func(c *rpc.Config) { c.TLSIdentity = "spiffe://x" }, `--tls-identity: "spiffe://x" given, expected a URI that ends in /`},
		{"no orchestrator", func(c *rpc.Config) { c.Orchestrators = nil }, "--orchestrator-addr: empty, expected at least one address"},
		{"two agent gateways", func(c *rpc.Config) { c.AgentGateways = []string{"a:1", "b:1"} }, "--agentgw-addr: 2 addresses given, expected one; calls are balanced over all addresses of a name"},
		{"no tool host", func(c *rpc.Config) { c.ToolHosts = nil }, "--toolhost-addr: empty, expected at least one address"},
		{"no agent gateway", func(c *rpc.Config) { c.AgentGateways = nil }, "--agentgw-addr: empty, expected at least one address"},
		{"no evaluator", func(c *rpc.Config) { c.Evaluators = nil }, "--evaluator-addr: empty, expected at least one address"},
		{"two tool hosts", func(c *rpc.Config) { c.ToolHosts = []string{"a:1", "b:1"} }, "--toolhost-addr: 2 addresses given, expected one; calls are balanced over all addresses of a name"},
		{"announced address", func(c *rpc.Config) { c.Announce = "host" }, "--toolhost-announce: \"host\" given, expected HOST:PORT, e.g. localhost:7401"},
		{"bus", func(c *rpc.Config) { c.Bus.Shards = 0 }, "--bus-shards: 0 given, …"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := rpc.DefaultConfig()
			test.change(&cfg)
			checkError(t, "Validate", cfg.Validate(), test.want)
			_, err := rpc.Connect(t.Context(), cfg, options())
			checkError(t, "Connect", err, test.want)
			cfg.Remote = true
			_, err = rpc.Open(t.Context(), cfg, "", options())
			checkError(t, "Open", err, test.want)
		})
	}
}

// TestAuthorityAlone checks that a client needs no certificate of its own, for it may have a token.
func TestAuthorityAlone(t *testing.T) {
	cfg := rpc.DefaultConfig()
	cfg.TLSCA = "ca.pem"
	checkError(t, "Validate of a service", cfg.Validate(), "--tls-ca: given without --tls-cert and --tls-key")
	cfg.Remote = true
	if err := cfg.Validate(); err != nil {
		t.Errorf("Validate of a client: got %v, want nil", err)
	}
}

// TestLocalIgnoresTheNetwork checks that an installation in one process ignores network settings.
func TestLocalIgnoresTheNetwork(t *testing.T) {
	cfg := rpc.DefaultConfig()
	cfg.TLSCert, cfg.TLSKey, cfg.TLSCA, cfg.NATSURL, cfg.Listen = "none.pem", "none.pem", "none.pem", "nats://nowhere", "nowhere"
	m, err := rpc.Open(t.Context(), cfg, t.TempDir(), options())
	l := link{}
	l.server = closed(t, m, err)
	l.client = l.server
	l.serve(t, &orchestrator{trajectory: echo})
	if _, err := l.caller().GetTrajectory(within(t), &orchestratorv1.GetTrajectoryRequest{RolloutId: "s.0"}); err != nil {
		t.Errorf("GetTrajectory: got %v, want nil", err)
	}
}

func TestFlags(t *testing.T) {
	cfg := rpc.DefaultConfig()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	cfg.RegisterFlags(flags)
	if err := flags.Parse([]string{"--toolhost-announce=a:1", "--grace=1m", "--tls-cert=c", "--tls-key=k"}); err != nil {
		t.Fatal(err)
	}
	if err := cfg.Validate(); err != nil || cfg.Announce != "a:1" || cfg.Grace.Minutes() != 1 || cfg.TLSKey != "k" {
		t.Errorf("flags: got %+v, %v, want what was given, nil", cfg, err)
	}
}

// TestFilesBeforeNATS gives a service files that are missing, while NATS is away. It ends at once.
func TestFilesBeforeNATS(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for flag, set := range map[string]func(*rpc.Config){
		"--access-file": func(c *rpc.Config) { c.AccessFile = missing },
		"--tls-cert":    func(c *rpc.Config) { c.TLSCert, c.TLSKey = missing, missing },
	} {
		t.Run(flag, func(t *testing.T) {
			cfg := rpc.DefaultConfig()
			cfg.Service, cfg.NATSURL = rpc.Orchestrator, "nats://"+porttest.Address(t)
			set(&cfg)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if _, err := rpc.Connect(ctx, cfg, options()); err == nil || ctx.Err() != nil || !strings.HasPrefix(err.Error(), flag) || !strings.Contains(err.Error(), missing) {
				t.Errorf("Connect: got %v, want an error of %s at once that names %s", err, flag, missing)
			}
		})
	}
}
