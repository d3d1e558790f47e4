package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/natsserver"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

// startSecured starts a NATS server with users and returns its URL.
func startSecured(t *testing.T, access natsserver.Access) string {
	t.Helper()
	address := porttest.Address(t)
	access.Shards = bus.DefaultConfig().Shards
	natstest.Serve(t, natsserver.Config{Dir: t.TempDir(), Listen: address, Access: access})
	return "nats://" + address
}

// checkAccess makes streams as the operator and scores as the evaluator, each as change lets it
// connect. Other roles do not get the evaluator's streams.
func checkAccess(t *testing.T, url string, change func(cfg *rpc.Config, role string)) {
	t.Helper()
	config := func(service rpc.Service, role string) rpc.Config {
		cfg := rpc.DefaultConfig()
		cfg.NATSURL, cfg.Service = url, service
		change(&cfg, role)
		return cfg
	}
	if err := rpc.InitBus(within(t), config("", "operator"), options().Logger); err != nil {
		t.Fatal(err)
	}
	node, err := rpc.Connect(within(t), config(rpc.Evaluator, "evaluator"), options())
	b := closed(t, node, err).Bus().Evaluator()
	if _, err := b.PutEvaluation(within(t), &evaluationv1.Evaluation{}); err != nil {
		t.Errorf("PutEvaluation: got %v, want nil", err)
	}
	if created, err := b.PublishResult(within(t), &busv1.Result{Rollout: &busv1.Rollout{Id: "s.0"}}); !created || err != nil {
		t.Errorf("PublishResult: got %v and %v, want a new result", created, err)
	}
	for _, role := range []string{"orchestrator", "toolhost", "agentgw"} {
		ctx, stop := context.WithCancel(within(t))
		logger := slog.New(violations(stop))
		_, err := rpc.Connect(ctx, config(rpc.Evaluator, role), rpc.Options{Logger: logger})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("evaluator with the access of %s: got %v, want a wait that the log explains", role, err)
		}
		stop()
	}
}

// violations calls a function when the log says that NATS denies something.
type violations func()

func (v violations) Enabled(context.Context, slog.Level) bool { return true }
func (v violations) WithAttrs([]slog.Attr) slog.Handler       { return v }
func (v violations) WithGroup(string) slog.Handler            { return v }
func (v violations) Handle(_ context.Context, record slog.Record) error {
	record.Attrs(func(a slog.Attr) bool {
		if strings.Contains(strings.ToLower(a.Value.String()), "permissions violation") {
			v()
		}
		return true
	})
	return nil
}

// TestNATSByCertificate identifies roles by the DNS names of their certificates.
func TestNATSByCertificate(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.peer(t, "nats")
	url := startSecured(t, natsserver.Access{Cert: cert, Key: key, CA: a.file})
	checkAccess(t, url, func(cfg *rpc.Config, role string) {
		cfg.NATSCA = a.file
		cfg.NATSCert, cfg.NATSKey = a.peer(t, role)
	})
	for name, change := range map[string]func(*rpc.Config){
		"plain text":       func(*rpc.Config) {},
		"no certificate":   func(c *rpc.Config) { c.NATSCA = a.file },
		"unknown role":     func(c *rpc.Config) { c.NATSCA = a.file; c.NATSCert, c.NATSKey = a.peer(t, "stranger") },
		"other authority":  func(c *rpc.Config) { c.NATSCA = newAuthority(t).file },
		"missing file":     func(c *rpc.Config) { c.NATSCA = filepath.Join(t.TempDir(), "none.pem") },
		"foreign identity": func(c *rpc.Config) { c.NATSCA = a.file; c.NATSCert, c.NATSKey = newAuthority(t).peer(t, "evaluator") },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := rpc.DefaultConfig()
			cfg.NATSURL, cfg.Service = url, rpc.Evaluator
			change(&cfg)
			_, err := rpc.Connect(within(t), cfg, options())
			checkError(t, "Connect", err, "NATS at "+url+" cannot be reached: …")
		})
	}
}

// TestNATSByPassword identifies roles by passwords.
func TestNATSByPassword(t *testing.T) {
	dir := t.TempDir()
	for _, role := range bus.Roles() {
		if err := os.WriteFile(filepath.Join(dir, string(role)), []byte("secret-of-"+string(role)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	url := startSecured(t, natsserver.Access{Passwords: dir})
	checkAccess(t, url, func(cfg *rpc.Config, role string) {
		cfg.NATSUser, cfg.NATSPasswordFile = role, filepath.Join(dir, role)
	})
	cfg := rpc.DefaultConfig()
	cfg.NATSURL, cfg.Service = url, rpc.Evaluator
	_, err := rpc.Connect(within(t), cfg, options())
	checkError(t, "Connect without a password", err, "NATS at "+url+" cannot be reached: …Authorization Violation…")
	cfg.NATSPasswordFile = filepath.Join(dir, "toolhost")
	_, err = rpc.Connect(within(t), cfg, options())
	checkError(t, "Connect with another's password", err, "NATS at "+url+" cannot be reached: …Authorization Violation…")
	cfg.NATSPasswordFile = filepath.Join(dir, "none")
	_, err = rpc.Connect(within(t), cfg, options())
	checkError(t, "Connect without the file", err, "--nats-password-file: …")
}

// TestAccountsOfNATS makes two installations in accounts of one server: neither knows the other.
func TestAccountsOfNATS(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "nats.conf")
	text := fmt.Sprintf(`
listen: "127.0.0.1:-1"
jetstream: {store_dir: %q}
accounts: {
  red: {jetstream: enabled, users: [{user: red, password: secret}]}
  blue: {jetstream: enabled, users: [{user: blue, password: secret}]}
}
`, dir)
	for name, content := range map[string]string{file: text, filepath.Join(dir, "password"): "secret"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	url := natstest.File(t, file)
	for i, account := range []string{"red", "blue"} {
		cfg := rpc.DefaultConfig()
		cfg.NATSURL, cfg.Service, cfg.NATSUser, cfg.NATSPasswordFile = url, rpc.Evaluator, account, filepath.Join(dir, "password")
		cfg.Bus.Shards = i + 1 // which two that share streams cannot have
		if err := rpc.InitBus(within(t), cfg, options().Logger); err != nil {
			t.Fatalf("%s: %v", account, err)
		}
		node, err := rpc.Connect(within(t), cfg, options())
		b := closed(t, node, err).Bus().Evaluator()
		if created, err := b.PublishResult(within(t), &busv1.Result{Rollout: &busv1.Rollout{Id: "s.0"}}); !created || err != nil {
			t.Errorf("%s: PublishResult: got %v and %v, want a new result", account, created, err)
		}
	}
}

// TestShippedConfiguration starts one server with the files of deploy/k8s/components/nats, without
// its cluster, and identifies roles by certificates.
func TestShippedConfiguration(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.peer(t, "nats")
	dir, shipped := t.TempDir(), filepath.Join("..", "..", "deploy", "k8s", "components", "nats")
	for _, name := range []string{"nats.conf", "permissions.conf"} {
		raw, err := os.ReadFile(filepath.Join(shipped, name))
		if err != nil {
			t.Fatal(err)
		}
		text := regexp.MustCompile(`(?s)cluster \{.*?\n\}\n`).ReplaceAllString(string(raw), "")
		text = strings.NewReplacer("$POD_NAME", "n0", "port: 4222", `listen: "127.0.0.1:-1"`, "http_port: 8222\n", "", "store_dir: /data", "store_dir: "+dir,
			"/etc/nats-tls/tls.crt", cert, "/etc/nats-tls/tls.key", key, "/etc/nats-tls/ca.crt", a.file).Replace(text)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	url := natstest.File(t, filepath.Join(dir, "nats.conf"))
	checkAccess(t, url, func(cfg *rpc.Config, role string) {
		cfg.NATSCA = a.file
		cfg.NATSCert, cfg.NATSKey = a.peer(t, role)
	})
}
