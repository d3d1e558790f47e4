package rpc

import (
	"context"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

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

// gate admits calls by the role of the peer, before their requests are read.
type gate struct {
	callers map[string]roleSet
}

// admit implements tap.ServerInHandle. Methods of other packages, such as health checks, are free.
func (g *gate) admit(ctx context.Context, call *tap.Info) (context.Context, error) {
	allowed, ok := g.callers[call.FullMethodName]
	if !ok {
		return ctx, nil
	}
	return ctx, g.check(call.FullMethodName, allowed, peerIdentity(ctx).role)
}

func (g *gate) check(method string, allowed roleSet, role accessv1.Role) error {
	if allowed.has(role) {
		return nil
	}
	return status.Errorf(codes.PermissionDenied, "%s is for the role %s; the role of this peer is %s", strings.TrimPrefix(method, "/"), allowed, roleName(role))
}
