package rpc

import (
	"context"
	"errors"
	"net"
	"os"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/secretkey"
)

// TokenVariable is the environment variable with a client's bearer token. That of --token-file
// names a file with it.
const TokenVariable = "TOOLSANDBOX_TOKEN"

const (
	tokenHeader = "authorization"
	tokenScheme = "Bearer "
)

// bearer adds a client's token to each call. It reads a file anew each time, because tokens of
// clusters are replaced while a client runs.
type bearer struct{ cfg Config }

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	token, err := b.cfg.token()
	if err != nil {
		return nil, status.Error(codes.Unauthenticated, err.Error())
	}
	return map[string]string{tokenHeader: tokenScheme + token}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials. Validate requires TLS, except
// on this machine.
func (bearer) RequireTransportSecurity() bool { return false }

// token returns the token of a client, empty without one.
func (c Config) token() (string, error) {
	if c.TokenFile != "" {
		return secretkey.File("--token-file", c.TokenFile) // it names the flag
	}
	return secretkey.Lookup(os.Getenv, TokenVariable) // it names the variable
}

// WithToken returns a context whose calls show the token of a user for whom the client asks. The
// client has none of its own, see CheckForwarding.
func WithToken(ctx context.Context, token string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, tokenHeader, tokenScheme+token)
}

// CheckForwarding checks that a client may forward tokens of its users: it has none of its own, and
// none travels over a network in plain text.
func (c Config) CheckForwarding() error {
	switch own, err := c.token(); {
	case err != nil:
		return err
	case own != "":
		return errors.New("--access-file: given together with a token of one's own (--token-file or " + TokenVariable + "): each request shows its own")
	}
	return c.checkEncrypted("the tokens of users")
}

// checkToken checks that a client does not send its token over a network in plain text.
func (c Config) checkToken() error {
	if !c.Remote {
		return nil
	}
	token, err := c.token()
	if err != nil || token == "" {
		return err
	}
	return c.checkEncrypted("a token")
}

// checkEncrypted names the first public service that would get a token over a network in plain
// text.
func (c Config) checkEncrypted(what string) error {
	if c.usesTLS() {
		return nil
	}
	for _, service := range Services() {
		for _, address := range c.addresses(service) {
			if service.isPublic() && !isLoopback(address) {
				return errors.New(what + " would travel in plain text to " + address + ": give --tls-ca")
			}
		}
	}
	return nil
}

// isLoopback reports whether an address is certainly on this machine.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}
