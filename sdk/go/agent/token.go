package agent

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime"

	"google.golang.org/grpc"
)

// Environment variables with the token of Attach: the token itself, or the name of a file with it.
const (
	tokenVariable     = "TOOLSANDBOX_ATTACH_TOKEN"
	tokenFileVariable = tokenVariable + "_FILE"
)

// Token is an option of Attach: the secret of the agent's name, of 16 to 512 characters of
// printable ASCII, e.g. from openssl rand -hex 32. It takes precedence over the environment. The
// connection carries it, so use TLS unless it stays on one machine.
func Token(token string) grpc.DialOption { return tokenOption{token: token} }

// tokenOption is read by Attach, and has no effect on the connection.
type tokenOption struct {
	grpc.EmptyDialOption
	token string
}

// tokenOf returns the token of the options or the environment, empty without one. White space
// around it does not count. The error does not repeat it.
func tokenOf(options []grpc.DialOption) (string, error) {
	source, raw := "Token", []byte(nil)
	for _, option := range options {
		if option, ok := option.(tokenOption); ok {
			raw = []byte(option.token)
			if len(raw) == 0 {
				return "", errors.New("Token: it is empty")
			}
		}
	}
	if raw == nil {
		source, raw = tokenVariable, []byte(os.Getenv(tokenVariable))
	}
	if file := os.Getenv(tokenFileVariable); len(raw) == 0 && file != "" {
		var err error
		source = tokenFileVariable
		if raw, err = os.ReadFile(file); err != nil {
			return "", fmt.Errorf("%s: %w", tokenFileVariable, err)
		}
		if len(bytes.TrimSpace(raw)) == 0 {
			return "", fmt.Errorf("%s: %s is empty", tokenFileVariable, file)
		}
	}
	token := bytes.TrimSpace(raw)
	if at := bytes.IndexFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }); at >= 0 {
		return "", fmt.Errorf("%s: expected printable ASCII without blanks, but character %d is another one", source, at+1)
	}
	return string(token), nil
}

// newInstance returns a random id.
func newInstance() string {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// software names this SDK.
func software() string { return "toolsandbox-go " + runtime.Version() }
