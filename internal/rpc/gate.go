package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/toolsandbox/toolsandbox/internal/access"
	accessv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/access/v1"
)

// roleSet is a set of roles, one bit each.
type roleSet uint32

func (s roleSet) has(role accessv1.Role) bool { return s&(1<<role) != 0 }

// String lists the roles.
func (s roleSet) String() string {
	var names []string
	for role := accessv1.Role(1); accessv1.Role_name[int32(role)] != ""; role++ {
		if s.has(role) {
			names = append(names, roleName(role))
		}
	}
	return strings.Join(names, " or ")
}

// roleName returns the name of a role for people.
func roleName(role accessv1.Role) string {
	if role == accessv1.Role_ROLE_UNSPECIFIED {
		return "none"
	}
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(role.String(), "ROLE_")), "_", " ")
}

// callers returns the roles that may call each method of the product at a service, by the method's
// full name as gRPC writes it. Clients are served by public services only.
func callers(at Service) map[string]roleSet {
	table := make(map[string]roleSet)
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if !strings.HasPrefix(string(file.Package()), "toolsandbox.") {
			return true
		}
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for k := range service.Methods().Len() {
				method := service.Methods().Get(k)
				table["/"+string(service.FullName())+"/"+string(method.Name())] = callersOf(method, at)
			}
		}
		return true
	})
	return table
}

func callersOf(method protoreflect.MethodDescriptor, at Service) roleSet {
	roles, _ := proto.GetExtension(method.Options(), accessv1.E_Callers).([]accessv1.Role)
	var set roleSet
	for _, role := range roles {
		if role != accessv1.Role_ROLE_CLIENT || at.isPublic() {
			set |= 1 << role
		}
	}
	return set
}

// gate admits calls by role and principal of the peer, before their requests are read. The zero
// value trusts every peer.
type gate struct {
	callers map[string]roleSet // nil: every peer is trusted
	policy  *access.Policy     // nil: every client has all rights
	logger  *slog.Logger
}

// newGate returns the gate of a service. It warns if whoever reaches the address is trusted.
func newGate(cfg Config, policy *access.Policy, s Service, at net.Addr, logger *slog.Logger) *gate {
	g := &gate{policy: policy, logger: logger}
	if g.policy != nil || cfg.TLSCA != "" {
		g.callers = callers(s)
	} else if !isLoopback(at.String()) {
		logger.Warn("whoever reaches this address may call this service: give --tls-cert, --tls-key and --tls-ca, or listen on 127.0.0.1",
			"service", string(s), "address", at.String())
	}
	return g
}

// options are the options of a server with the gate.
func (g *gate) options() []grpc.ServerOption {
	if g.callers == nil {
		return nil
	}
	return []grpc.ServerOption{grpc.InTapHandle(g.admit)}
}

// run keeps the policy current until stop is called.
func (g *gate) run() (stop func()) {
	if g.policy == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { g.policy.Run(ctx, g.logger) })
	return func() { cancel(); group.Wait() }
}

// admit implements tap.ServerInHandle. Methods of other packages are free, such as reflection.
func (g *gate) admit(ctx context.Context, call *tap.Info) (context.Context, error) {
	allowed, ok := g.callers[call.FullMethodName]
	if !ok {
		return ctx, nil
	}
	id := peerIdentity(ctx)
	if g.policy != nil && (!id.shown || id.role == accessv1.Role_ROLE_CLIENT) {
		principal, err := g.principal(ctx, id, call.Header)
		if err != nil {
			return ctx, err
		}
		id.role = accessv1.Role_ROLE_CLIENT
		if principal.IsAdmin() {
			id.role = accessv1.Role_ROLE_ADMIN
		}
		ctx = access.NewContext(ctx, principal)
	}
	if !allowed.has(id.role) {
		return ctx, status.Errorf(codes.PermissionDenied, "%s is for the role %s; the role of this peer is %s",
			strings.TrimPrefix(call.FullMethodName, "/"), allowed, roleName(id.role))
	}
	return ctx, nil
}

// principal returns the principal of a client: that of its token, or else of its certificate.
func (g *gate) principal(ctx context.Context, id identity, header metadata.MD) (*access.Principal, error) {
	var principal *access.Principal
	var err error
	switch values := header.Get(tokenHeader); {
	case len(values) == 1 && strings.HasPrefix(values[0], tokenScheme):
		principal, err = g.policy.OfToken(ctx, strings.TrimPrefix(values[0], tokenScheme))
	case len(values) > 0:
		err = fmt.Errorf("%w: expected one header %s: %sTOKEN", access.ErrToken, tokenHeader, tokenScheme)
	case id.team != "":
		principal, err = g.policy.Member(id.team, id.name)
	default:
		err = fmt.Errorf("%w: none given: name your token's file with --token-file, or show a certificate of a team", access.ErrToken)
	}
	return principal, ErrorCodes{
		{Err: access.ErrNotReady, Code: codes.Unavailable},
		{Err: access.ErrToken, Code: codes.Unauthenticated},
		{Err: access.ErrTeam, Code: codes.Unauthenticated},
	}.Status(err)
}
