package attach

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

const (
	// tokenMetadata is the metadata of Attach with the token, after tokenScheme.
	tokenMetadata = "authorization"
	tokenScheme   = "bearer "
	// maxCertificate bounds the subject of a certificate in an Instance.
	maxCertificate = 200
)

// Address is where turns find an agent. Its secret is part of it, so a process without the secret
// has another address, at every replica, and no turn reaches it.
type Address struct {
	Name string
	// Secret is the player.SecretDigest of the agent's token, empty without one.
	Secret string
}

// String returns the name alone: the secret's digest is of no use to people.
func (a Address) String() string { return a.Name }

// relayName returns the name of the relay to the replicas with this agent. Names of agents have no
// dots.
func (a Address) relayName() string {
	if a.Secret == "" {
		return a.Name
	}
	return "secret." + a.Name + "." + a.Secret
}

// heldName returns the name of the relay to the replicas with an agent of the name that has a
// secret.
func heldName(name string) string { return "held." + name }

// instancePattern and softwarePattern match what a process states about itself.
var (
	instancePattern = regexp.MustCompile(`^[A-Za-z0-9._-]{0,64}$`)
	softwarePattern = regexp.MustCompile(`^[ -~]{0,100}$`)
)

// CheckName returns an error if a name is invalid.
func CheckName(name string) error {
	if !player.AttachedName.MatchString(name) {
		return fmt.Errorf("agent name %q: expected 1 to 64 letters, digits, _ and -", name)
	}
	return nil
}

// introduction returns the address and the process of a stream from its first message and its
// connection.
func introduction(ctx context.Context, first *agentv1.AttachRequest) (Address, *agentgwv1.Instance, error) {
	at := Address{Name: first.GetName()}
	if err := CheckName(at.Name); err != nil {
		return Address{}, nil, err
	}
	if !instancePattern.MatchString(first.GetInstance()) {
		return Address{}, nil, fmt.Errorf("instance %.70q: expected at most 64 letters, digits, dots, _ and -", first.GetInstance())
	}
	if !softwarePattern.MatchString(first.GetSoftware()) {
		return Address{}, nil, fmt.Errorf("software %.110q: expected at most 100 characters of printable ASCII", first.GetSoftware())
	}
	var err error
	if at.Secret, err = secretOf(ctx, at.Name); err != nil {
		return Address{}, nil, err
	}
	instance := &agentgwv1.Instance{Id: first.GetInstance(), Software: first.GetSoftware()}
	if p, ok := peer.FromContext(ctx); ok {
		instance.Peer = p.Addr.String()
		if info, ok := p.AuthInfo.(credentials.TLSInfo); ok && len(info.State.VerifiedChains) > 0 {
			subject := info.State.VerifiedChains[0][0].Subject.String()
			instance.Certificate = strings.ToValidUTF8(subject[:min(len(subject), maxCertificate)], "?")
		}
	}
	return at, instance, nil
}

// secretOf returns the digest of the token in a stream's metadata, empty without one. The error
// does not repeat the token.
func secretOf(ctx context.Context, name string) (string, error) {
	values := metadata.ValueFromIncomingContext(ctx, tokenMetadata)
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 {
		return "", fmt.Errorf("metadata %s: %d given, expected one", tokenMetadata, len(values))
	}
	if n := len(tokenScheme); len(values[0]) >= n && strings.EqualFold(values[0][:n], tokenScheme) {
		return player.SecretDigest(name, values[0][n:])
	}
	return "", errors.New("metadata " + tokenMetadata + ": expected Bearer TOKEN")
}
