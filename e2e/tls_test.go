package e2e_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/toolsandbox/toolsandbox/internal/testkit/certtest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	"github.com/toolsandbox/toolsandbox/sdk/go/agent"
)

// securePython is an agent that serves or attaches itself with TLS: mode, address, certificate,
// key.
const securePython = `
import pathlib
import sys

import grpc

from toolsandbox.agent import Conversation, Reply, attach, call, say, serve


def act(conversation: Conversation) -> Reply:
    if conversation.turn == 0:
        return call("set_wifi_status", on=False)
    return say("Wifi is off now.")


mode, address = sys.argv[1:3]
certificate, key = (pathlib.Path(name).read_bytes() for name in sys.argv[3:5])
if mode == "serve":
    serve(act, address, credentials=grpc.ssl_server_credentials([(key, certificate)]))
else:
    attach(act, "grpcs://" + address, "mine", credentials=grpc.ssl_channel_credentials(certificate))
`

// TestLongSecureAgents runs dialled and attached agents of each language over TLS.
func TestLongSecureAgents(t *testing.T) {
	t.Parallel()
	cert, key := certtest.SelfSigned(t)
	play := func(t *testing.T, flags ...string) {
		t.Helper()
		out := filepath.Join(t.TempDir(), "out")
		printed := toolsandbox(t, append([]string{"run", "--out", out, "turn_off_wifi"}, flags...)...)
		if !strings.Contains(strings.ReplaceAll(printed, "  ", ""), "2/2") {
			t.Errorf("table: got\n%s\nwant both milestones of turn_off_wifi reached", printed)
		}
	}
	python := func(t *testing.T, mode, address string) *exec.Cmd {
		t.Helper()
		file := filepath.Join(t.TempDir(), "secure.py")
		if err := os.WriteFile(file, []byte(securePython), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := pythonAgent(t, file)
		cmd.Args = append(cmd.Args, mode, address, cert, key)
		return cmd
	}
	for name, begin := range map[string]func(t *testing.T, address string, serves bool){
		"go": func(t *testing.T, address string, serves bool) { t.Helper(); secureGo(t, address, cert, key, serves) },
		"python": func(t *testing.T, address string, serves bool) {
			t.Helper()
			mode := map[bool]string{true: "serve", false: "attach"}[serves]
			startAgent(t, python(t, mode, address))
		},
	} {
		t.Run(name+" is dialled", func(t *testing.T) {
			t.Parallel()
			address := porttest.Address(t)
			begin(t, address, true)
			waitFor(t, address)
			play(t, "--agent", "grpcs://"+address, "--agent-ca", cert)
		})
		t.Run(name+" attaches itself", func(t *testing.T) {
			t.Parallel()
			address := porttest.Address(t)
			begin(t, address, false)
			play(t, "--agent", "attached:mine", "--attach-listen", address, "--attach-cert", cert, "--attach-key", key)
		})
	}
}

// secureGo runs an agent in this process until the test ends.
func secureGo(t *testing.T, address, cert, key string, serves bool) {
	t.Helper()
	trusted, err := credentials.NewClientTLSFromFile(cert, "")
	if err != nil {
		t.Fatal(err)
	}
	shown, err := credentials.NewServerTLSFromFile(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		if serves {
			ended <- agent.Serve(ctx, address, agent.Func(switchWifiOff), grpc.Creds(shown))
			return
		}
		ended <- agent.Attach(ctx, "grpcs://"+address, "mine", agent.Func(switchWifiOff), grpc.WithTransportCredentials(trusted))
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// waitFor waits until a server listens.
func waitFor(t *testing.T, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("nobody listens on %s: %v", address, err)
		}
	}
}
