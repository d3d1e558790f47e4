//go:build cluster

// Package cluster_test applies the manifests and the chart to an API server of Kubernetes with its
// controllers and scheduler, on nodes that kwok pretends to run. `make test-k8s` builds the servers
// and runs it, on Linux.
package cluster_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/tools/k8s/manifest"
)

// patience is how long a test waits for what the controllers have to do.
const patience = time.Minute

// repository is the root of this repository, and servers has the programs that make test-k8s builds.
var (
	repository = filepath.Join("..", "..", "..")
	servers    = filepath.Join(repository, ".bin", "k8s")
)

// machine is the processes of a cluster, and the directory that they write to.
type machine struct {
	dir string
	// ctx ends with the test, with an interrupt, and with the first process that ends by itself.
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// newMachine returns a machine without processes. They all end with the test.
func newMachine(t *testing.T) *machine {
	t.Helper()
	interrupted, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	t.Cleanup(stop)
	ctx, cancel := context.WithCancelCause(interrupted)
	return &machine{dir: t.TempDir(), ctx: ctx, cancel: cancel}
}

// path returns the path of a file of the machine.
func (m *machine) path(name string) string { return filepath.Join(m.dir, name) }

// write writes a file of the machine and returns its path.
func (m *machine) write(t *testing.T, name string, content []byte) string {
	t.Helper()
	if err := os.WriteFile(m.path(name), content, 0o600); err != nil {
		t.Fatal(err)
	}
	return m.path(name)
}

// launch starts a server. The kernel kills it if this process is killed.
func (m *machine) launch(t *testing.T, name string, args ...string) {
	t.Helper()
	program, err := filepath.Abs(filepath.Join(servers, name))
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(m.path(name + ".log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(m.ctx, program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = m.dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v (make test-k8s builds it)", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := cmd.Wait()
		m.cancel(fmt.Errorf("%s has ended: %w\n%s", name, err, m.tail(name)))
	}()
	t.Cleanup(func() {
		m.cancel(errors.New("the test has ended"))
		<-ended
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
}

// tail returns the last lines of a server's log.
func (m *machine) tail(name string) string {
	log, err := os.ReadFile(m.path(name + ".log"))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(string(bytes.TrimSpace(log)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// await waits until check returns nil, and fails with what it returned last.
func (m *machine) await(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline, tick := time.NewTimer(patience), time.NewTicker(100*time.Millisecond)
	defer deadline.Stop()
	defer tick.Stop()
	for last := errors.New("nothing"); ; {
		err := check()
		if err == nil {
			return
		}
		if m.ctx.Err() != nil {
			t.Fatalf("%s: %v\nbefore: %v", what, context.Cause(m.ctx), last)
		}
		last = err
		select {
		case <-m.ctx.Done():
		case <-deadline.C:
			t.Fatalf("%s: after %s: %v", what, patience, err)
		case <-tick.C:
		}
	}
}

// address returns a free address of this machine.
func address(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// module returns the directory of a module that the go.mod of a directory requires.
func module(t *testing.T, dir, path string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", path)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	return strings.TrimSpace(string(out))
}

// startAPI starts etcd and the API server, with the default admission, and returns its address, the
// token of an administrator and the file with its authority.
func (m *machine) startAPI(t *testing.T) (host, token, authority string) {
	t.Helper()
	clients, peers, api := "http://"+address(t), "http://"+address(t), address(t)
	// Nothing has to survive a power failure.
	m.launch(t, "server", "--data-dir="+m.path("etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls="+clients, "--advertise-client-urls="+clients,
		"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=default="+peers)

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	accounts := m.write(t, "accounts.pem", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
	token = rand.Text()
	tokens := m.write(t, "tokens.csv", []byte(token+",admin,admin,system:masters\n"))
	_, port, err := net.SplitHostPort(api)
	if err != nil {
		t.Fatal(err)
	}
	m.launch(t, "kube-apiserver", "--etcd-servers="+clients, "--bind-address=127.0.0.1", "--secure-port="+port, "--cert-dir="+m.path("certificates"),
		"--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.96.0.0/16",
		"--token-auth-file="+tokens, "--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+accounts, "--service-account-signing-key-file="+accounts)
	return "https://" + api, token, m.path(filepath.Join("certificates", "apiserver.crt"))
}

// startControllers starts the controllers, the scheduler, and kwok for all nodes. They listen
// nowhere.
func (m *machine) startControllers(t *testing.T, host, token, authority string) {
	t.Helper()
	kubeconfig := m.write(t, "kubeconfig", fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: admin, user: {token: %q}}]
contexts: [{name: test, context: {cluster: test, user: admin}}]
current-context: test
`, host, authority, token))
	common := []string{"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--secure-port=0", "--kube-api-qps=200", "--kube-api-burst=400"}
	m.launch(t, "kube-controller-manager", append(common, "--service-account-private-key-file="+m.path("accounts.pem"), "--root-ca-file="+authority,
		"--horizontal-pod-autoscaler-sync-period=1s")...)
	m.launch(t, "kube-scheduler", common...)

	// kwok's own: a pod is ready at once, one of a Job succeeds, and one that is to go is gone.
	stages, err := manifest.Render(filepath.Join(module(t, filepath.Join(repository, "tools", "cluster"), "sigs.k8s.io/kwok"), "kustomize", "stage", "fast"))
	if err != nil {
		t.Fatal(err)
	}
	m.launch(t, "kwok", "--kubeconfig="+kubeconfig, "--manage-all-nodes", "--node-lease-duration-seconds=40", "--config="+m.write(t, "stages.yaml", stages))
}
