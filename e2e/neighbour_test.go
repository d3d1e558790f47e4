package e2e_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// redToken and blueToken are those of two teams.
const redToken, blueToken = "token-of-team-red", "token-of-team-blue"

// writeCertificates writes an authority and a certificate for each role, with its URI. A stranger's
// is of no authority of the installation.
func writeCertificates(t *testing.T, names map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	write := func(name, kind string, raw []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	template := func(usage x509.KeyUsage) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "toolsandbox"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: usage,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
	}
	issue := func(name string, of, parent *x509.Certificate, signer *ecdsa.PrivateKey) *ecdsa.PrivateKey {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if signer == nil {
			signer = key
		}
		der, err := x509.CreateCertificate(rand.Reader, of, parent, &key.PublicKey, signer)
		if err != nil {
			t.Fatal(err)
		}
		private, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		write(name+".pem", "CERTIFICATE", der)
		write(name+".key", "PRIVATE KEY", private)
		return key
	}
	authority := template(x509.KeyUsageCertSign)
	authority.IsCA, authority.BasicConstraintsValid, authority.ExtKeyUsage = true, true, nil
	key := issue("ca", authority, authority, nil)
	for name, role := range names {
		certificate := template(x509.KeyUsageDigitalSignature)
		certificate.URIs = []*url.URL{{Scheme: "spiffe", Host: "toolsandbox", Path: "/" + role}}
		if name == "stranger" {
			issue(name, certificate, certificate, nil)
			continue
		}
		issue(name, certificate, authority, key)
	}
	return dir
}

// secured is an installation in the configuration of production: a certificate for each service,
// and two teams with tokens.
func secured(t *testing.T, env ...string) (services *cluster.Cluster, dir string) {
	t.Helper()
	names := map[string]string{"admin": "admin/root", "client": "client", "eve": "client/blue/eve", "none": "nobody", "stranger": "admin"}
	for _, service := range cluster.Services() {
		names[service] = service
	}
	dir = writeCertificates(t, names)
	access := fmt.Sprintf(`
tokens:
  - {sha256: %x, name: ann, team: red}
  - {sha256: %x, name: eve, team: blue}
teams:
  red: {providers: ["*"]}
  blue: {providers: ["*"]}
`, sha256.Sum256([]byte(redToken)), sha256.Sum256([]byte(blueToken)))
	for name, text := range map[string]string{"access.yaml": access, "red": redToken, "blue": blueToken} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return startCluster(t, cluster.Config{Certificates: dir, Users: true, Args: []string{"--access-file", filepath.Join(dir, "access.yaml")}, Env: env}), dir
}

// dialAs connects to a service with a certificate.
func dialAs(t *testing.T, services *cluster.Cluster, certificate, service string) *grpc.ClientConn {
	t.Helper()
	secure, err := services.Credentials(certificate)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(services.Address(service), grpc.WithTransportCredentials(secure))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// TestLongNeighbours lets a neighbour in the cluster, and another team, try all that would harm the
// sweep of a team.
func TestLongNeighbours(t *testing.T) { //nolint:tparallel // its subtests share a sweep
	t.Parallel()
	services, dir := secured(t, "OPENAI_API_KEY=sk-key-of-the-provider")
	byToken := func(team string) []string {
		return append(services.ClientArgs(), "--tls-ca", filepath.Join(dir, "ca.pem"), "--token-file", filepath.Join(dir, team))
	}
	out := filepath.Join(t.TempDir(), "out")
	toolsandbox(t, append([]string{"run", "--agent", "oracle", "--sweep-id", "night", "--out", out, "turn_off_wifi"}, byToken("red")...)...)

	meetTeams(t, byToken)
	t.Run("pages", func(t *testing.T) { attackPages(t, services, dir) })
	t.Run("without a token", func(t *testing.T) {
		wantFailure(t, "token", append([]string{"sweep", "list", "--tls-ca", filepath.Join(dir, "ca.pem")}, services.ClientArgs()...)...)
	})
	t.Run("provider's key", func(t *testing.T) {
		var asked atomic.Int32
		thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
		defer thief.Close()
		wantFailure(t, "not among those that this gateway allows", append([]string{
			"run", "--agent", "openai:m", "--base-url", thief.URL, "--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi",
		}, byToken("blue")...)...)
		if got := asked.Load(); got != 0 {
			t.Errorf("requests at the address: got %d, want none", got)
		}
	})
	t.Run("attached name", func(t *testing.T) {
		wantFailure(t, "without a token", append([]string{
			"run", "--agent", "attached:mine", "--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi",
		}, byToken("blue")...)...)
	})
	for _, attack := range slices.Concat(attacksOnSessions(), attacksOnSweeps()) {
		for certificate, want := range attack.want {
			t.Run(attack.name+" as "+certificate, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
				defer cancel()
				if err := attack.do(ctx, dialAs(t, services, certificate, attack.at)); status.Code(err) != want {
					t.Errorf("got %v, want %v", err, want)
				}
			})
		}
	}
}

// meetTeams lets the team blue try what is the team red's, and both run the same.
func meetTeams(t *testing.T, byToken func(team string) []string) {
	t.Helper()
	t.Run("other team", func(t *testing.T) {
		if listed := toolsandbox(t, append([]string{"sweep", "list"}, byToken("red")...)...); !strings.Contains(listed, "night") {
			t.Errorf("sweeps of red: got\n%s\nwant night", listed)
		}
		if listed := toolsandbox(t, append([]string{"sweep", "list"}, byToken("blue")...)...); strings.Contains(listed, "night") {
			t.Errorf("sweeps of blue: got\n%s\nwant none of red", listed)
		}
		for _, verb := range []string{"watch", "cancel"} {
			wantFailure(t, "night", append([]string{"sweep", verb, "night"}, byToken("blue")...)...)
		}
		wantFailure(t, "another team's", append([]string{
			"run", "--agent", "oracle", "--sweep-id", "night", "--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi",
		}, byToken("blue")...)...)
	})
	t.Run("same specification", func(t *testing.T) { // by default its digest is the id
		for _, team := range []string{"red", "blue", "blue"} {
			toolsandbox(t, append([]string{"run", "--agent", "oracle", "--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi"}, byToken(team)...)...)
		}
	})
}

// attack is a call that a neighbour tries.
type attack struct {
	name, at string
	do       func(context.Context, grpc.ClientConnInterface) error
	want     map[string]codes.Code // by certificate
}

// victim is a rollout of the sweep night.
const victim = "night.0"

// attacksOnSessions returns calls of methods that only services and operators may call. eve is
// a client, none a peer without a role, and stranger one of no authority.
func attacksOnSessions() []attack {
	const denied = codes.PermissionDenied
	internal := map[string]codes.Code{"eve": denied, "client": denied, "none": denied, "stranger": codes.Unavailable, cluster.Evaluator: denied}
	return []attack{
		{"execute in a session", cluster.ToolHost, func(ctx context.Context, c grpc.ClientConnInterface) error {
			_, err := toolhostv1.NewToolHostServiceClient(c).Execute(ctx, &toolhostv1.ExecuteRequest{SessionId: victim, Index: 99})
			return err
		}, internal},
		{"delete a session", cluster.ToolHost, func(ctx context.Context, c grpc.ClientConnInterface) error {
			_, err := toolhostv1.NewToolHostServiceClient(c).DeleteSession(ctx, &toolhostv1.DeleteSessionRequest{SessionId: victim})
			return err
		}, internal},
		{"read a world", cluster.ToolHost, func(ctx context.Context, c grpc.ClientConnInterface) error {
			_, err := toolhostv1.NewToolHostServiceClient(c).ReadTables(ctx, &toolhostv1.ReadTablesRequest{SessionId: victim})
			return err
		}, internal},
		{"play a turn", cluster.AgentGateway, func(ctx context.Context, c grpc.ClientConnInterface) error {
			_, err := agentgwv1.NewAgentGatewayServiceClient(c).Respond(ctx, &agentgwv1.RespondRequest{RolloutId: victim, Role: worldv1.Role_ROLE_AGENT})
			return err
		}, internal},
		{"check a player at the gateway", cluster.AgentGateway, func(ctx context.Context, c grpc.ClientConnInterface) error {
			_, err := agentgwv1.NewPlayerCheckServiceClient(c).CheckPlayer(ctx, &agentgwv1.CheckPlayerRequest{})
			return err
		}, internal},
		{"delete a session as an operator", cluster.ToolHost, func(ctx context.Context, c grpc.ClientConnInterface) error {
			_, err := toolhostv1.NewToolHostServiceClient(c).DeleteSession(ctx, &toolhostv1.DeleteSessionRequest{SessionId: victim})
			return err
		}, map[string]codes.Code{"admin": codes.OK}},
	}
}

// attacksOnSweeps returns calls of methods that eve may call for her own sweeps.
func attacksOnSweeps() []attack {
	public := func(code codes.Code) map[string]codes.Code {
		return map[string]codes.Code{
			"eve": code, "client": codes.Unauthenticated, "none": codes.PermissionDenied, "stranger": codes.Unavailable,
			cluster.AgentGateway: codes.PermissionDenied, cluster.ToolHost: codes.PermissionDenied,
		}
	}
	return []attack{
		{"read messages", cluster.Orchestrator, func(ctx context.Context, c grpc.ClientConnInterface) error {
			_, err := orchestratorv1.NewOrchestratorServiceClient(c).GetTrajectory(ctx, &orchestratorv1.GetTrajectoryRequest{RolloutId: victim})
			return err
		}, public(codes.NotFound)},
		{"read a recording", cluster.Orchestrator, func(ctx context.Context, c grpc.ClientConnInterface) error {
			stream, err := orchestratorv1.NewOrchestratorServiceClient(c).GetRecording(ctx, &orchestratorv1.GetRecordingRequest{RolloutId: victim})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		}, public(codes.NotFound)},
		{"forge a turn", cluster.Orchestrator, func(ctx context.Context, c grpc.ClientConnInterface) error {
			_, err := orchestratorv1.NewOrchestratorServiceClient(c).PutRecording(ctx, &orchestratorv1.PutRecordingRequest{RolloutId: victim})
			return err
		}, public(codes.AlreadyExists)},
		{"read results", cluster.Orchestrator, func(ctx context.Context, c grpc.ClientConnInterface) error {
			stream, err := orchestratorv1.NewOrchestratorServiceClient(c).WatchSweep(ctx, &orchestratorv1.WatchSweepRequest{SweepId: "night"})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		}, public(codes.NotFound)},
		{"cancel", cluster.Orchestrator, func(ctx context.Context, c grpc.ClientConnInterface) error {
			_, err := orchestratorv1.NewOrchestratorServiceClient(c).CancelSweep(ctx, &orchestratorv1.CancelSweepRequest{SweepId: "night"})
			return err
		}, public(codes.NotFound)},
		{"read a score", cluster.Evaluator, func(ctx context.Context, c grpc.ClientConnInterface) error {
			stream, err := evaluatorv1.NewEvaluatorServiceClient(c).WatchScore(ctx, &evaluatorv1.WatchScoreRequest{RolloutId: victim})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		}, public(codes.NotFound)},
		{"upload without a token", cluster.Evaluator, func(ctx context.Context, c grpc.ClientConnInterface) error {
			_, err := evaluatorv1.NewEvaluatorServiceClient(c).PutEvaluations(ctx, &evaluatorv1.PutEvaluationsRequest{
				Evaluations: []*evaluatorv1.NamedEvaluation{{Scenario: strings.Repeat("x", 32<<20)}},
			})
			return err
		}, public(codes.ResourceExhausted)},
		{"see everything as an operator", cluster.Orchestrator, func(ctx context.Context, c grpc.ClientConnInterface) error {
			_, err := orchestratorv1.NewOrchestratorServiceClient(c).GetTrajectory(ctx, &orchestratorv1.GetTrajectoryRequest{RolloutId: victim})
			return err
		}, map[string]codes.Code{"admin": codes.OK}},
	}
}
