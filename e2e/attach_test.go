package e2e_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	"github.com/toolsandbox/toolsandbox/internal/testkit/certtest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/sdk/go/agent"
)

const (
	attachToken = "right-token-3f8a0c51d2"
	wrongToken  = "wrong-token-77b1c9e04a"
)

// attach attaches an agent until the test ends or stop is called. The channel has the result of
// Attach.
func attach(t *testing.T, address string, act agent.Func, options ...grpc.DialOption) (ended <-chan error, stop context.CancelFunc) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	result, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		result <- agent.Attach(ctx, address, "mine", act, options...)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return result, stop
}

// steal is an agent that must not be asked.
func steal(t *testing.T) agent.Func {
	t.Helper()
	return func(context.Context, *agent.Conversation) (agent.Reply, error) {
		t.Error("an agent without the secret was asked for a turn")
		return agent.Say("stolen"), nil
	}
}

// writeToken writes a token to a file.
func writeToken(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(attachToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// findToken reports files below a directory that hold a token.
func findToken(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(attachToken)) || bytes.Contains(raw, []byte(wrongToken)) {
			t.Errorf("%s holds a token", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// expectAnsweredByOne checks that one process answered all turns of a run, with its SDK.
func expectAnsweredByOne(t *testing.T, out string) {
	t.Helper()
	run, err := results.ReadRun(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Agent.Instances) != 1 || run.Agent.Instances[0].Turns != 2 || !strings.HasPrefix(run.Agent.Instances[0].Software, "toolsandbox-go ") || run.Agent.Instances[0].Peer == "" {
		t.Errorf("instances: got %+v, want one that answered two turns", run.Agent.Instances)
	}
}

// TestAttachedSecret runs an agent whose name has a secret, in one process, while two others knock
// without it from before its start. Only the right one is asked, which answers once the one without
// a token is refused, and no file holds a token.
func TestAttachedSecret(t *testing.T) {
	t.Parallel()
	address, out := porttest.Address(t), filepath.Join(t.TempDir(), "out")
	without, _ := attach(t, address, steal(t))
	attach(t, address, steal(t), agent.Token(wrongToken))
	refused := make(chan error, 1)
	attach(t, address, func(ctx context.Context, c *agent.Conversation) (agent.Reply, error) {
		if c.Turn == 0 {
			select {
			case err := <-without:
				refused <- err
			case <-ctx.Done():
				return agent.Reply{}, ctx.Err()
			}
		}
		return switchWifiOff(ctx, c)
	}, agent.Token(attachToken))
	printed := toolsandbox(t, "run", "--agent", "attached:mine", "--attach-listen", address, "--attach-token-file", writeToken(t), "--out", out, "turn_off_wifi")
	if !strings.Contains(strings.ReplaceAll(printed, "  ", ""), "2/2") || strings.Contains(printed, "processes answered") {
		t.Errorf("table: got\n%s\nwant both milestones of turn_off_wifi reached by one process", printed)
	}
	if err := <-refused; status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "no token: attach with") {
		t.Errorf("agent without a token: got %v, want PERMISSION_DENIED and the remedy", err)
	}
	expectAnsweredByOne(t, out)
	findToken(t, out)
}

// TestAttachedSecretAtTwoGateways is the same with two gateways, of which the orchestrator knows
// one. The right agent and the others are attached to both.
func TestAttachedSecretAtTwoGateways(t *testing.T) {
	t.Parallel()
	first, second := porttest.Address(t), porttest.Address(t)
	services := start(t, "TOOLSANDBOX_ATTACH_LISTEN="+first)
	logFile, err := os.Create(filepath.Join(t.TempDir(), "second.log"))
	if err != nil {
		t.Fatal(err)
	}
	gateway := exec.Command(filepath.Join(bin, "toolsandbox"), "serve", "agentgw", "--listen", porttest.Address(t), //nolint:noctx // it ends with the test
		"--attach-listen", second, "--nats-url", "nats://"+services.Address(cluster.NATS), "--log-level", "debug")
	gateway.Stdout, gateway.Stderr = logFile, logFile
	if err := gateway.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := gateway.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := gateway.Wait(); err != nil {
			t.Error(err)
		}
	})
	var without []<-chan error
	for _, address := range []string{first, second} {
		ended, _ := attach(t, address, steal(t))
		without = append(without, ended)
		attach(t, address, steal(t), agent.Token(wrongToken))
	}
	attach(t, second, switchWifiOff, agent.Token(attachToken))
	out := filepath.Join(t.TempDir(), "out")
	run := append([]string{"run", "--agent", "attached:mine", "--attach-token-file", writeToken(t), "--out", out, "turn_off_wifi"}, services.ClientArgs()...)
	if printed := toolsandbox(t, run...); !strings.Contains(strings.ReplaceAll(printed, "  ", ""), "2/2") {
		t.Errorf("table: got\n%s\nwant both milestones of turn_off_wifi reached", printed)
	}
	for i, ended := range without {
		if err := <-ended; status.Code(err) != codes.PermissionDenied {
			t.Errorf("agent without a token at gateway %d: got %v, want PERMISSION_DENIED", i+1, err)
		}
	}
	expectAnsweredByOne(t, out)
	for _, dir := range []string{out, filepath.Dir(services.Streams()), filepath.Dir(logFile.Name())} {
		findToken(t, dir)
	}
}

// TestLongAttachedInstances plays one rollout by two processes: the second one attaches when the
// first one leaves. The record names both with their turns, and what is reproducible does not
// differ.
func TestLongAttachedInstances(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var group sync.WaitGroup
	play := func(name string, agents func(address string)) (printed string, run *results.Run) {
		t.Helper()
		address, out := porttest.Address(t), filepath.Join(dir, name)
		agents(address)
		printed = toolsandbox(t, "run", "--agent", "attached:mine", "--attach-listen", address, "--out", out, "turn_off_wifi")
		run, err := results.ReadRun(out)
		if err != nil {
			t.Fatal(err)
		}
		return printed, run
	}
	_, alone := play("alone", func(address string) { attach(t, address, switchWifiOff) })
	printed, both := play("both", func(address string) {
		turned := make(chan struct{})
		turn := sync.OnceFunc(func() { close(turned) })
		_, leave := attach(t, address, func(ctx context.Context, c *agent.Conversation) (agent.Reply, error) {
			if c.Turn == 0 {
				return switchWifiOff(ctx, c)
			}
			turn()
			<-ctx.Done()
			return agent.Reply{}, ctx.Err()
		})
		group.Go(func() {
			select {
			case <-turned:
				leave()
				attach(t, address, switchWifiOff)
			case <-t.Context().Done():
			}
		})
	})
	group.Wait()
	if !strings.Contains(printed, "2 processes answered the turns of attached:mine (see answered_by in run.json): ") {
		t.Errorf("printed: got\n%s\nwant that two processes answered", printed)
	}
	ignored := cmpopts.IgnoreFields(results.Instance{}, "ID", "Peer", "Software")
	if diff := cmp.Diff([]results.Instance{{Rollouts: 1, Turns: 1}, {Rollouts: 1, Turns: 1}}, both.Agent.Instances, ignored); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
	want := &results.Answered{Agent: []results.InstanceTurns{{Instance: 0, Turns: 1, First: 4, Last: 4}, {Instance: 1, Turns: 1, First: 6, Last: 6}}}
	if diff := cmp.Diff(want, both.Rollouts[0].AnsweredBy); diff != "" {
		t.Errorf("answered by (-want +got):\n%s", diff)
	}
	if alone.Rollouts[0].ContextSHA256 != both.Rollouts[0].ContextSHA256 || alone.SpecDigest != both.SpecDigest {
		t.Error("digests differ with the processes that answered")
	}
	toolsandbox(t, "run", "--replay", filepath.Join(dir, "both"), "--out", filepath.Join(dir, "again"))
	again, err := results.ReadRun(filepath.Join(dir, "again"))
	if err != nil || again.Agent.Instances != nil || again.Rollouts[0].AnsweredBy != nil {
		t.Errorf("replay: got %v and %+v, want that nobody answered", err, again)
	}
}

// TestAttachedFailure runs an agent that fails at once. The record names the process although it
// wrote no message.
func TestAttachedFailure(t *testing.T) {
	t.Parallel()
	address, out := porttest.Address(t), filepath.Join(t.TempDir(), "out")
	attach(t, address, func(context.Context, *agent.Conversation) (agent.Reply, error) {
		return agent.Reply{}, errors.New("no model")
	})
	toolsandbox(t, "run", "--agent", "attached:mine", "--attach-listen", address, "--out", out, "turn_off_wifi")
	run, err := results.ReadRun(out)
	if err != nil {
		t.Fatal(err)
	}
	want := &results.Answered{Agent: []results.InstanceTurns{{Instance: 0, Turns: 1, First: 4, Last: 4}}}
	if diff := cmp.Diff(want, run.Rollouts[0].AnsweredBy); diff != "" || len(run.Agent.Instances) != 1 {
		t.Errorf("answered by %+v (-want +got):\n%s", run.Agent.Instances, diff)
	}
}

// TestAttachedCertificate runs a gateway that wants certificates of agents, with an agent that
// shows one and another that shows none. The record has the subject of the certificate.
func TestAttachedCertificate(t *testing.T) {
	t.Parallel()
	cert, key := certtest.SelfSigned(t)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(raw)
	address, out := porttest.Address(t), filepath.Join(t.TempDir(), "out")
	attach(t, "grpcs://"+address, steal(t), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: trusted})))
	shown := credentials.NewTLS(&tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{pair}})
	attach(t, "grpcs://"+address, switchWifiOff, grpc.WithTransportCredentials(shown))
	printed := toolsandbox(t, "run", "--agent", "attached:mine", "--attach-listen", address, "--attach-cert", cert, "--attach-key", key,
		"--attach-client-ca", cert, "--out", out, "turn_off_wifi")
	if !strings.Contains(strings.ReplaceAll(printed, "  ", ""), "2/2") {
		t.Errorf("table: got\n%s\nwant both milestones of turn_off_wifi reached", printed)
	}
	expectAnsweredByOne(t, out)
	run, err := results.ReadRun(out)
	if err != nil || run.Agent.Instances[0].Certificate != "CN=localhost" {
		t.Errorf("instances: got %+v, %v, want the certificate's subject", run.Agent.Instances, err)
	}
}
