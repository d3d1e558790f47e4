package rpc

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/flagrule"
	"github.com/toolsandbox/toolsandbox/internal/natsserver"
)

// Config configures the connections of a process to its peers over TCP.
type Config struct {
	// Service is the service of this process, empty for a client and for all services in one process.
	Service Service
	// Remote makes Open join a running installation instead of creating one in this process.
	Remote bool
	// Wait is how long a client waits for an unreachable service. 0 means connectWait before the first
	// connection, then defaultWait.
	Wait time.Duration
	// Listen is the address that this process's service listens on.
	Listen string
	// NATSURL is the URL of the NATS server, or several separated by commas.
	NATSURL string
	// NATSCredentials is a file with NATS user credentials, empty for none.
	NATSCredentials string
	// NATSUser is the user of NATS, by default the role. NATSPasswordFile is a file with its password,
	// empty for none. The file is read again at each connection.
	NATSUser, NATSPasswordFile string
	// NATSCA, NATSCert and NATSKey are PEM files: the certificate authority of the NATS servers, and
	// this process's certificate for them. The first turns TLS on.
	NATSCA, NATSCert, NATSKey string
	// Addresses of each service, one for all replicas. Only a client uses that of the tool hosts, to
	// ask which are live.
	Orchestrators, ToolHosts, AgentGateways, Evaluators []string
	// Socket is a unix socket at which the orchestrator of an installation in one process serves
	// other processes of this user, empty for none. Nobody else may enter its directory.
	Socket string
	// Announce is the address at which others reach the tool host of this process. Empty means the
	// address that it listens on, with the name of the machine if it listens on all of its addresses.
	Announce string
	// TLSCert, TLSKey and TLSCA are PEM files. All empty selects plain text. TLSCA turns mutual TLS
	// on.
	TLSCert, TLSKey, TLSCA string
	// TLSIdentity begins the URIs of the installation's certificates; a role follows it.
	TLSIdentity string
	// AccessFile names teams, their tokens and their grants, see access.Load. The orchestrator and the
	// evaluator then refuse clients without a team. Empty trusts every peer that may connect.
	AccessFile string
	// TokenFile holds a client's bearer token. Empty selects the variable TokenVariable.
	TokenFile string
	// MaxMessageBytes bounds one gRPC message.
	MaxMessageBytes int
	// Grace is how long work in flight may continue after the process starts to stop, see Node.Drain.
	Grace time.Duration
	// Reflection serves gRPC reflection.
	Reflection bool
	// Sync is the sync policy of the embedded NATS server.
	Sync natsserver.Sync
	// Bus configures the streams that InitBus and an installation in one process make.
	Bus bus.Config
}

// defaultWait is how long a client waits for a service that it has reached before.
const defaultWait = 10 * time.Minute

// DefaultConfig returns local addresses on the default ports.
func DefaultConfig() Config {
	return Config{
		NATSURL:         "nats://127.0.0.1:4222",
		Orchestrators:   []string{"127.0.0.1:7401"},
		ToolHosts:       []string{"127.0.0.1:7402"},
		AgentGateways:   []string{"127.0.0.1:7403"},
		Evaluators:      []string{"127.0.0.1:7404"},
		TLSIdentity:     "spiffe://toolsandbox/",
		MaxMessageBytes: 64 << 20,
		Grace:           2 * time.Minute, // a turn of a player
		Sync:            natsserver.SyncInterval,
		Bus:             bus.DefaultConfig(),
	}
}

// RegisterFlags adds the flags of this package.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	c.registerPeers(fs)
	c.registerNATS(fs)
	fs.StringVar(&c.Listen, "listen", c.Listen, "address to listen on (default: the address of this service, see --*-addr)")
	fs.StringVar(&c.Announce, "toolhost-announce", c.Announce, "`address` at which others reach this tool host (default: the one that it listens on, with the name of the machine if it listens on all)")
	fs.StringSliceVar(&c.AgentGateways, "agentgw-addr", c.AgentGateways, "address of the agent gateway; calls are balanced over all addresses of a name")
	fs.DurationVar(&c.Grace, "grace", c.Grace, "time for calls and players' turns in flight to finish after a stop signal; then they are cancelled")
	fs.StringVar(&c.TLSIdentity, "tls-identity", c.TLSIdentity, "with --tls-ca: beginning of the URI in a peer's certificate; its role follows: orchestrator, toolhost, agentgw, evaluator, client or admin")
	fs.StringVar(&c.AccessFile, "access-file", c.AccessFile, "YAML file with teams, tokens, issuers and grants; the orchestrator and the evaluator then serve only these teams")
	fs.BoolVar(&c.Reflection, "reflection", c.Reflection, "serve gRPC reflection")
}

// RegisterBusFlags adds the flags of a process that makes the streams.
func (c *Config) RegisterBusFlags(fs *pflag.FlagSet) {
	c.registerNATS(fs)
	c.Bus.RegisterFlags(fs)
}

// registerNATS adds the flags of a connection to NATS.
func (c *Config) registerNATS(fs *pflag.FlagSet) {
	fs.StringVar(&c.NATSURL, "nats-url", c.NATSURL, "NATS servers, separated by commas")
	fs.StringVar(&c.NATSCredentials, "nats-creds", c.NATSCredentials, "file with NATS user credentials")
	fs.StringVar(&c.NATSUser, "nats-user", c.NATSUser, "user of NATS, for --nats-password-file (default: the role, such as evaluator)")
	fs.StringVar(&c.NATSPasswordFile, "nats-password-file", c.NATSPasswordFile, "file with the password of the user of NATS")
	fs.StringVar(&c.NATSCA, "nats-ca", c.NATSCA, "PEM file with the certificate authority of the NATS servers; turns TLS on")
	fs.StringVar(&c.NATSCert, "nats-cert", c.NATSCert, "PEM file with this process's certificate for NATS")
	fs.StringVar(&c.NATSKey, "nats-key", c.NATSKey, "PEM file with the key of that certificate")
}

// RegisterClientFlags adds the flags that a client of a running installation needs.
func (c *Config) RegisterClientFlags(fs *pflag.FlagSet) {
	c.registerPeers(fs)
	fs.DurationVar(&c.Wait, "remote-wait", c.Wait, "with --remote: longest wait for a service that is unavailable (default: 10m, but 3s for one that has never been reached)")
	fs.StringVar(&c.TokenFile, "token-file", c.TokenFile, "with --remote: `file` with the bearer token of your team; else "+TokenVariable+" is the token")
	flagrule.Needs(fs, "remote", "remote-wait", "orchestrator-addr", "evaluator-addr", "tls-cert", "tls-key", "tls-ca", "token-file")
}

// RegisterToolHostFlag adds the flag of a client that calls tool hosts.
func (c *Config) RegisterToolHostFlag(fs *pflag.FlagSet) {
	fs.StringSliceVar(&c.ToolHosts, "toolhost-addr", c.ToolHosts, "`address` of a tool host; it tells those of the others")
}

// registerPeers adds the flags that services and clients share.
func (c *Config) registerPeers(fs *pflag.FlagSet) {
	fs.StringSliceVar(&c.Orchestrators, "orchestrator-addr", c.Orchestrators, "`address` of the orchestrator")
	fs.StringSliceVar(&c.Evaluators, "evaluator-addr", c.Evaluators, "`address` of the evaluator")
	fs.StringVar(&c.TLSCert, "tls-cert", c.TLSCert, "PEM file with this process's certificate; turns TLS on")
	fs.StringVar(&c.TLSKey, "tls-key", c.TLSKey, "PEM file with the certificate's key")
	fs.StringVar(&c.TLSCA, "tls-ca", c.TLSCA, "PEM file with the certificate authority of the peers; turns mutual TLS on")
	fs.IntVar(&c.MaxMessageBytes, "max-message-bytes", c.MaxMessageBytes, "largest gRPC message")
}

// Validate names the first field that is out of range.
func (c Config) Validate() error {
	switch {
	case c.MaxMessageBytes < 1<<16:
		return fmt.Errorf("--max-message-bytes: %d given, expected at least 65536", c.MaxMessageBytes)
	case c.Wait < 0:
		return fmt.Errorf("--remote-wait: %s given, expected 0 or more", c.Wait)
	case c.Grace < 0:
		return fmt.Errorf("--grace: %s given, expected 0 or more", c.Grace)
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return errors.New("--tls-cert and --tls-key: one given, expected both or neither")
	case c.TLSCA != "" && c.TLSCert == "" && !c.Remote:
		return errors.New("--tls-ca: given without --tls-cert and --tls-key")
	case !strings.HasSuffix(c.TLSIdentity, "/"):
		return fmt.Errorf("--tls-identity: %q given, expected a URI that ends in /", c.TLSIdentity)
	}
	if err := c.validateNATS(); err != nil {
		return err
	}
	for _, service := range Services() {
		for _, address := range c.addresses(service) {
			if err := checkAddress(address); err != nil {
				return fmt.Errorf("--%s-addr: %w", service, err)
			}
		}
		switch n := len(c.addresses(service)); {
		case n == 0:
			return fmt.Errorf("--%s-addr: empty, expected at least one address", service)
		case n > 1:
			return fmt.Errorf("--%s-addr: %d addresses given, expected one; calls are balanced over all addresses of a name", service, n)
		}
	}
	if c.Announce != "" {
		if err := checkAddress(c.Announce); err != nil {
			return fmt.Errorf("--toolhost-announce: %w", err)
		}
	}
	return errors.Join(c.checkToken(), c.Bus.Validate())
}

// validateNATS names the first setting of the connection to NATS that lacks another.
func (c Config) validateNATS() error {
	switch {
	case (c.NATSCert == "") != (c.NATSKey == ""):
		return errors.New("--nats-cert and --nats-key: one given, expected both or neither")
	case c.NATSCert != "" && c.NATSCA == "":
		return errors.New("--nats-cert: given without --nats-ca")
	case c.NATSUser != "" && c.NATSPasswordFile == "":
		return errors.New("--nats-user: given without --nats-password-file")
	}
	return nil
}

// usesTLS reports whether connections are encrypted.
func (c Config) usesTLS() bool { return c.TLSCert != "" || c.TLSCA != "" }

func (c Config) addresses(s Service) []string {
	switch s {
	case Orchestrator:
		return c.Orchestrators
	case ToolHost:
		return c.ToolHosts
	case AgentGateway:
		return c.AgentGateways
	case Evaluator:
		return c.Evaluators
	default:
		return nil
	}
}

// listen returns the address that a service of this process listens on.
func (c Config) listen(s Service) string {
	if c.Listen != "" {
		return c.Listen
	}
	return c.addresses(s)[0]
}
