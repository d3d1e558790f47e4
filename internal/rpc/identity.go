package rpc

import (
	"context"
	"crypto/x509"
	"net"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	accessv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/access/v1"
)

// identity is what the certificate of a peer says about it. The zero value is a peer without a
// certificate.
type identity struct {
	shown      bool // it has a certificate, which the handshake has verified
	role       accessv1.Role
	team, name string // of a client; optional
}

// certificateRoles are the roles by their names in certificates.
var certificateRoles = map[string]accessv1.Role{
	string(Orchestrator): accessv1.Role_ROLE_ORCHESTRATOR,
	string(ToolHost):     accessv1.Role_ROLE_TOOLHOST,
	string(AgentGateway): accessv1.Role_ROLE_AGENTGW,
	string(Evaluator):    accessv1.Role_ROLE_EVALUATOR,
	"client":             accessv1.Role_ROLE_CLIENT,
	"admin":              accessv1.Role_ROLE_ADMIN,
}

// identityOf returns the identity of a verified certificate. Its one URI is prefix and a role. The
// team and the name of a client, or the name of an admin, may follow, each behind a slash. Any
// other certificate has no role.
func identityOf(certificate *x509.Certificate, prefix string) identity {
	id := identity{shown: true}
	if len(certificate.URIs) != 1 {
		return id
	}
	path, ok := strings.CutPrefix(certificate.URIs[0].String(), prefix)
	if !ok {
		return id
	}
	parts := strings.Split(path, "/")
	role, more := certificateRoles[parts[0]], parts[1:]
	switch {
	case role == accessv1.Role_ROLE_CLIENT && len(more) == 1:
		id.team = more[0]
	case role == accessv1.Role_ROLE_CLIENT && len(more) == 2:
		id.team, id.name = more[0], more[1]
	case role == accessv1.Role_ROLE_ADMIN && len(more) == 1:
		id.name = more[0]
	case len(more) > 0:
		return id
	}
	id.role = role
	return id
}

// identifying are the TLS credentials of a server. They determine the identity of a peer once per
// connection.
type identifying struct {
	credentials.TransportCredentials
	prefix string
}

// identified is the identity of a connection's peer.
type identified struct {
	credentials.TLSInfo
	identity identity
}

// ServerHandshake implements credentials.TransportCredentials.
func (c identifying) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return nil, nil, err // gRPC reports it
	}
	secured, ok := info.(credentials.TLSInfo)
	if !ok {
		return conn, info, nil
	}
	id := identity{}
	if chains := secured.State.VerifiedChains; len(chains) > 0 {
		id = identityOf(chains[0][0], c.prefix)
	}
	return conn, identified{secured, id}, nil
}

// Clone implements credentials.TransportCredentials.
func (c identifying) Clone() credentials.TransportCredentials {
	return identifying{c.TransportCredentials.Clone(), c.prefix}
}

// peerIdentity returns the identity of a call's peer.
func peerIdentity(ctx context.Context) identity {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return identity{}
	}
	info, _ := p.AuthInfo.(identified)
	return info.identity
}
