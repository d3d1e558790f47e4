package rpc

import (
	"crypto/x509"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	accessv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/access/v1"
	_ "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	_ "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	_ "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	_ "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	_ "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	_ "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
)

// TestEveryMethodListsItsCallers checks all services below proto, so that none can be forgotten.
// Agents that attach have no role.
func TestEveryMethodListsItsCallers(t *testing.T) {
	linked := make(map[string]bool)
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if !strings.HasPrefix(string(file.Package()), "toolsandbox.") {
			return true
		}
		for i := range file.Services().Len() {
			linked[file.Path()] = true
			methods := file.Services().Get(i).Methods()
			for k := range methods.Len() {
				roles, _ := proto.GetExtension(methods.Get(k).Options(), accessv1.E_Callers).([]accessv1.Role)
				if methods.Get(k).FullName() != "toolsandbox.agent.v1.AttachService.Attach" && (len(roles) == 0 || roles[0] == accessv1.Role_ROLE_UNSPECIFIED) {
					t.Errorf("%s: got callers %v, want at least one role", methods.Get(k).FullName(), roles)
				}
			}
		}
		return true
	})
	files, err := fs.Glob(os.DirFS("../../proto/gen"), "toolsandbox/*/v1/*_grpc.pb.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if path := strings.TrimSuffix(file, "_grpc.pb.go") + ".proto"; !linked[path] {
			t.Errorf("%s has services, but this test does not import it", path)
		}
	}
	if len(files) < 6 {
		t.Errorf("files with services: got %d, want at least 6", len(files))
	}
}

func TestClientsReachPublicServicesOnly(t *testing.T) {
	const check = "/toolsandbox.agentgw.v1.PlayerCheckService/CheckPlayer"
	for service, want := range map[Service]bool{Orchestrator: true, Evaluator: true, AgentGateway: false, ToolHost: false} {
		if got := callers(service)[check].has(accessv1.Role_ROLE_CLIENT); got != want {
			t.Errorf("%s at %s for clients: got %t, want %t", check, service, got, want)
		}
	}
}

func BenchmarkAdmit(b *testing.B) {
	g := &gate{callers: callers(ToolHost)}
	ctx := peer.NewContext(b.Context(), &peer.Peer{AuthInfo: identified{identity: identity{shown: true, role: accessv1.Role_ROLE_ORCHESTRATOR}}})
	call := &tap.Info{FullMethodName: "/toolsandbox.toolhost.v1.ToolHostService/Execute"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.admit(ctx, call); err != nil {
			b.Fatal(err)
		}
	}
}

func TestIdentityOfCertificates(t *testing.T) {
	const prefix = "spiffe://example.org/ns/toolsandbox/sa/"
	client, admin := accessv1.Role_ROLE_CLIENT, accessv1.Role_ROLE_ADMIN
	tests := []struct {
		uris []string
		want identity
	}{
		{[]string{prefix + "orchestrator"}, identity{role: accessv1.Role_ROLE_ORCHESTRATOR}},
		{[]string{prefix + "toolhost"}, identity{role: accessv1.Role_ROLE_TOOLHOST}},
		{[]string{prefix + "agentgw"}, identity{role: accessv1.Role_ROLE_AGENTGW}},
		{[]string{prefix + "evaluator"}, identity{role: accessv1.Role_ROLE_EVALUATOR}},
		{[]string{prefix + "client"}, identity{role: client}},
		{[]string{prefix + "client/red"}, identity{role: client, team: "red"}},
		{[]string{prefix + "client/red/ann"}, identity{role: client, team: "red", name: "ann"}},
		{[]string{prefix + "admin"}, identity{role: admin}},
		{[]string{prefix + "admin/eve"}, identity{role: admin, name: "eve"}},
		{nil, identity{}},
		{[]string{prefix}, identity{}},
		{[]string{prefix + "ORCHESTRATOR"}, identity{}},
		{[]string{prefix + "orchestrator/"}, identity{}},
		{[]string{prefix + "orchestrator/red"}, identity{}},
		{[]string{prefix + "x/orchestrator"}, identity{}},
		{[]string{prefix + "client/red/ann/x"}, identity{}},
		{[]string{prefix + "client%2Fred"}, identity{}},
		{[]string{prefix + "admin/eve/x"}, identity{}},
		{[]string{prefix + "orchestrator?x"}, identity{}},
		{[]string{prefix + "orchestrator#x"}, identity{}},
		{[]string{"spiffe://example.org/ns/other/sa/orchestrator"}, identity{}},
		{[]string{"spiffe://evil.org/ns/toolsandbox/sa/orchestrator"}, identity{}},
		{[]string{prefix + "orchestrator", prefix + "evaluator"}, identity{}},
		{[]string{prefix + "client", "https://example.org"}, identity{}},
	}
	for _, test := range tests {
		certificate := &x509.Certificate{DNSNames: []string{"orchestrator"}}
		for _, text := range test.uris {
			uri, err := url.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			certificate.URIs = append(certificate.URIs, uri)
		}
		test.want.shown = true
		if got := identityOf(certificate, prefix); got != test.want {
			t.Errorf("certificate of %q: got %+v, want %+v", test.uris, got, test.want)
		}
	}
}
