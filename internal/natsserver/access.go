package natsserver

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/bom"
	"github.com/toolsandbox/toolsandbox/internal/bus"
)

// Access configures TLS and the users of a server. Each user is a role with its permissions of the
// bus, and is known by a password or by a client certificate with the role as a DNS name.
type Access struct {
	// Cert and Key are PEM files of the server. Both empty select plain text.
	Cert, Key string
	// CA is a PEM file with the authority of client certificates, which then are required.
	CA string
	// Passwords is a directory with a file for each role, named as the role.
	Passwords string
	// Shards is the number of shards of the bus.
	Shards int
}

// RegisterFlags adds the flags of a server that listens.
func (a *Access) RegisterFlags(fs *pflag.FlagSet) {
	a.Shards = bus.DefaultConfig().Shards
	fs.StringVar(&a.Cert, "tls-cert", a.Cert, "PEM file with the server's certificate; turns TLS on")
	fs.StringVar(&a.Key, "tls-key", a.Key, "PEM file with the certificate's key")
	fs.StringVar(&a.CA, "tls-ca", a.CA, "PEM file with the authority of client certificates, whose DNS name is the user, such as evaluator")
	fs.StringVar(&a.Passwords, "passwords", a.Passwords, "`directory` with the password of each user in a file of its name: orchestrator, toolhost, agentgw, evaluator and operator")
	fs.IntVar(&a.Shards, "bus-shards", a.Shards, "number of message log streams, for the permissions of users")
}

// Validate names the first field that lacks another.
func (a Access) Validate() error {
	switch {
	case (a.Cert == "") != (a.Key == ""):
		return errors.New("--tls-cert and --tls-key: one given, expected both or neither")
	case a.CA != "" && a.Cert == "":
		return errors.New("--tls-ca: given without --tls-cert and --tls-key")
	case a.CA != "" && a.Passwords != "":
		return errors.New("--tls-ca and --passwords: both given, expected one: a user has a certificate or a password")
	case (a.CA != "" || a.Passwords != "") && (a.Shards < 1 || a.Shards > 1024):
		return fmt.Errorf("--bus-shards: %d given, expected 1 to 1024", a.Shards)
	}
	return nil
}

// apply adds TLS and users to the options of a server.
func (a Access) apply(options *server.Options) error {
	if err := a.Validate(); err != nil {
		return err
	}
	if a.Cert != "" {
		verify := a.CA != ""
		secured, err := server.GenTLSConfig(&server.TLSConfigOpts{CertFile: a.Cert, KeyFile: a.Key, CaFile: a.CA, Verify: verify, Map: verify})
		if err != nil {
			return fmt.Errorf("NATS: --tls-cert %s, --tls-key %s, --tls-ca %s: %w", a.Cert, a.Key, a.CA, err)
		}
		options.TLSConfig, options.TLS, options.TLSVerify, options.TLSMap = secured, true, verify, verify
		options.TLSTimeout = tlsTimeout.Seconds()
	}
	if a.CA == "" && a.Passwords == "" {
		return nil
	}
	for _, role := range bus.Roles() {
		user := &server.User{Username: string(role), Permissions: permissions(bus.PermissionsOf(role, a.Shards))}
		if a.Passwords != "" {
			raw, err := bom.ReadFile(filepath.Join(a.Passwords, string(role)))
			if err != nil {
				return fmt.Errorf("NATS: --passwords: %w", err)
			}
			if user.Password = strings.TrimSpace(string(raw)); user.Password == "" {
				return fmt.Errorf("NATS: --passwords: %s is empty", filepath.Join(a.Passwords, string(role)))
			}
		}
		options.Users = append(options.Users, user)
	}
	return nil
}

// permissions converts permissions into those of a server's user.
func permissions(p bus.Permissions) *server.Permissions {
	converted := &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: p.Publish},
		Subscribe: &server.SubjectPermission{Allow: p.Subscribe},
	}
	if p.AnswerTime > 0 {
		converted.Response = &server.ResponsePermission{MaxMsgs: 1, Expires: p.AnswerTime}
	}
	return converted
}
