package agentgw

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/bom"
	"github.com/toolsandbox/toolsandbox/internal/flagrule"
	"github.com/toolsandbox/toolsandbox/internal/pricing"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/model"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/dialect"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/ratelimit"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

const (
	minMessageBytes = 1 << 10
	// maxTurnBytes keeps an answer and the log entry around it below the message limit of the bus.
	maxTurnBytes = 4 << 20
)

// Config bounds what the gateway stores and what players may cost.
type Config struct {
	// ToolSets is the size of the cache of tool sets by digest.
	ToolSets int
	// PluginConnections is the largest number of concurrent connections to plug-ins.
	PluginConnections int
	// PluginMessageBytes bounds one gRPC message to or from a plug-in.
	PluginMessageBytes int
	// PluginTurnBytes bounds the messages of one plug-in answer.
	PluginTurnBytes int
	// ModelAnswerBytes bounds the body of one provider response.
	ModelAnswerBytes int64
	// ModelTurnBytes bounds the record of one model turn: its messages and its provider-native form.
	ModelTurnBytes int
	// ModelExchangeBytes bounds the stored exchange with a provider about one turn, which people read.
	ModelExchangeBytes int
	// ModelConnections is the largest number of connections to each model provider. HTTP/2 multiplexes
	// many requests over one.
	ModelConnections int
	// RetryWait is the first wait before a failed request to a player is retried. Later waits are
	// longer. 0 selects the default of the kind of player.
	RetryWait time.Duration
	// ModelBaseURLs are the addresses that players may name besides the providers' official ones and
	// those of the environment. The gateway sends its keys there. "*" allows all.
	ModelBaseURLs []string
	// PriceFile names a price table that replaces the built-in one.
	PriceFile string
	// Budget bounds the requests to model providers.
	Budget ratelimit.Config
	// Unbudgeted turns Budget off, so that all requests to model providers begin at once. Tests of
	// failing providers use it.
	Unbudgeted bool
	// TemplateDir is a directory of prompt templates that replace the built-in ones. Empty replaces
	// none.
	TemplateDir string
	// Getenv returns an environment variable, "" if it is unset. It supplies the keys and addresses of
	// providers. It is called concurrently.
	Getenv func(name string) string
	// AttachListen is the host:port where agents attach themselves. Empty accepts none.
	AttachListen string
	// AttachCert and AttachKey are PEM files that turn TLS on at AttachListen.
	AttachCert, AttachKey string
	// AttachClientCA is a PEM file of authorities: agents that attach have to show a certificate from
	// one of them. Empty asks them for none.
	AttachClientCA string
	// AgentCA is a PEM file of authorities to trust at agents that are dialled with TLS. Empty trusts
	// the system's.
	AgentCA string
}

// DefaultConfig returns bounds that suit a gateway with a few hundred concurrent rollouts.
func DefaultConfig() Config {
	return Config{
		ToolSets: 4096, PluginConnections: 256, PluginMessageBytes: 16 << 20, PluginTurnBytes: 512 << 10,
		ModelAnswerBytes: 8 << 20, ModelTurnBytes: 512 << 10, ModelExchangeBytes: 1 << 20, ModelConnections: 16384, Getenv: os.Getenv,
		Budget: ratelimit.DefaultConfig(),
	}
}

// RegisterFlags adds the flags of this service.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.IntVar(&c.ToolSets, "agentgw-tool-sets", c.ToolSets, "cached tool sets")
	fs.IntVar(&c.PluginConnections, "agentgw-plugin-connections", c.PluginConnections, "most connections to plug-in agents")
	fs.IntVar(&c.PluginMessageBytes, "agentgw-plugin-message-bytes", c.PluginMessageBytes, "largest gRPC message to or from a plug-in agent")
	fs.IntVar(&c.PluginTurnBytes, "agentgw-plugin-turn-bytes", c.PluginTurnBytes, "largest turn of a plug-in agent")
	fs.Int64Var(&c.ModelAnswerBytes, "agentgw-model-answer-bytes", c.ModelAnswerBytes, "largest answer of a model provider")
	fs.IntVar(&c.ModelTurnBytes, "agentgw-model-turn-bytes", c.ModelTurnBytes, "largest turn of a model")
	fs.IntVar(&c.ModelExchangeBytes, "agentgw-model-exchange-bytes", c.ModelExchangeBytes, "recorded bytes of the requests and answers of one turn")
	fs.IntVar(&c.ModelConnections, "agentgw-model-connections", c.ModelConnections, "most connections to each model provider; without HTTP/2 each request needs one")
	fs.StringSliceVar(&c.ModelBaseURLs, "agentgw-model-base-urls", c.ModelBaseURLs, "further addresses of model providers that a sweep may name; they receive keys; * allows any (default: the providers' own and those of OPENAI_BASE_URL and the like)")
	c.RegisterBudgetFlags(fs)
	c.RegisterTemplateFlags(fs)
	c.RegisterAttachFlags(fs)
}

// AllowPlayers lets the operator's own players name their addresses.
func (c *Config) AllowPlayers(players ...*agentgwv1.Player) {
	for _, p := range players {
		if base := p.GetModel().GetBaseUrl(); base != "" {
			c.ModelBaseURLs = append(slices.Clone(c.ModelBaseURLs), base)
		}
	}
}

// RegisterBudgetFlags adds the flags for limits and prices of model providers.
func (c *Config) RegisterBudgetFlags(fs *pflag.FlagSet) {
	c.Budget.RegisterFlags(fs)
	fs.StringVar(&c.PriceFile, "agentgw-price-file", c.PriceFile, "YAML file with the prices of models, instead of the built-in table")
}

// RegisterTemplateFlags adds the flag for prompt templates of models without tool calling.
func (c *Config) RegisterTemplateFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.TemplateDir, "agentgw-template-dir", c.TemplateDir, "directory whose "+strings.Join(dialect.Files(), ", ")+" replace the built-in prompts")
}

// RegisterAttachFlags adds the flags for connections to plug-in agents.
func (c *Config) RegisterAttachFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.AttachListen, "attach-listen", c.AttachListen, "`host:port` where agents attach, for --agent attached:NAME; empty accepts none")
	fs.StringVar(&c.AttachCert, "attach-cert", c.AttachCert, "PEM file with the certificate for agents that attach; turns TLS on")
	fs.StringVar(&c.AgentCA, "agent-ca", c.AgentCA, "PEM file with the trusted authorities for --agent grpcs://HOST:PORT (default: the system's)")
	fs.StringVar(&c.AttachKey, "attach-key", c.AttachKey, "PEM file with the certificate's key")
	fs.StringVar(&c.AttachClientCA, "attach-client-ca", c.AttachClientCA, "PEM file with the authorities whose certificates agents have to show to attach (default: none)")
	flagrule.Needs(fs, "attach-listen", "attach-cert", "attach-key")
	flagrule.Needs(fs, "attach-cert", "attach-client-ca")
}

// Validate names the first field that is out of range, or the CA file if it cannot be read.
func (c Config) Validate() error {
	switch {
	case c.ToolSets < 1:
		return fmt.Errorf("--agentgw-tool-sets: %d given, expected at least 1", c.ToolSets)
	case c.PluginConnections < 1:
		return fmt.Errorf("--agentgw-plugin-connections: %d given, expected at least 1", c.PluginConnections)
	case c.PluginMessageBytes < minMessageBytes:
		return fmt.Errorf("--agentgw-plugin-message-bytes: %d given, expected at least %d", c.PluginMessageBytes, minMessageBytes)
	case c.PluginTurnBytes < minMessageBytes || c.PluginTurnBytes > maxTurnBytes:
		return fmt.Errorf("--agentgw-plugin-turn-bytes: %d given, expected %d to %d", c.PluginTurnBytes, minMessageBytes, maxTurnBytes)
	case c.ModelAnswerBytes < minMessageBytes:
		return fmt.Errorf("--agentgw-model-answer-bytes: %d given, expected at least %d", c.ModelAnswerBytes, minMessageBytes)
	case c.ModelTurnBytes < minMessageBytes || c.ModelTurnBytes > maxTurnBytes:
		return fmt.Errorf("--agentgw-model-turn-bytes: %d given, expected %d to %d", c.ModelTurnBytes, minMessageBytes, maxTurnBytes)
	case c.ModelExchangeBytes < minMessageBytes || c.ModelExchangeBytes > maxTurnBytes:
		return fmt.Errorf("--agentgw-model-exchange-bytes: %d given, expected %d to %d", c.ModelExchangeBytes, minMessageBytes, maxTurnBytes)
	case c.ModelConnections < 1:
		return fmt.Errorf("--agentgw-model-connections: %d given, expected at least 1", c.ModelConnections)
	case c.Getenv == nil:
		return errors.New("no way to read the environment")
	case (c.AttachCert == "") != (c.AttachKey == ""):
		return errors.New("--attach-cert and --attach-key: one given, expected both or none")
	case c.AttachClientCA != "" && c.AttachCert == "":
		return errors.New("--attach-client-ca: given, but it has no effect without --attach-cert")
	}
	for _, base := range c.ModelBaseURLs {
		if _, err := player.ParseBaseURL(base); err != nil && base != model.AnyBaseURL {
			return fmt.Errorf("--agentgw-model-base-urls: %w", err)
		}
	}
	_, caErr := c.roots()
	_, clientErr := certificates("--attach-client-ca", c.AttachClientCA)
	_, priceErr := c.prices()
	return errors.Join(caErr, clientErr, priceErr, c.Budget.Validate())
}

// check validates the configuration and loads the prices.
func (c Config) check() (*pricing.Table, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return c.prices()
}

// prices reads PriceFile.
func (c Config) prices() (*pricing.Table, error) {
	prices, err := pricing.Load(c.PriceFile)
	if err != nil {
		return nil, fmt.Errorf("--agentgw-price-file: %w", err)
	}
	return prices, nil
}

// roots reads AgentCA. It returns nil for the system's authorities.
func (c Config) roots() (*x509.CertPool, error) { return certificates("--agent-ca", c.AgentCA) }

// certificates reads the PEM file of a flag. It returns nil without a file.
func certificates(flag, path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	raw, err := bom.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(raw) {
		return nil, fmt.Errorf("%s %s: no PEM certificate in it", flag, path)
	}
	return pool, nil
}

// attachTLS returns the TLS settings of AttachListen.
func (c Config) attachTLS() (*tls.Config, error) {
	certificate, err := tls.LoadX509KeyPair(c.AttachCert, c.AttachKey)
	if err != nil {
		return nil, fmt.Errorf("--attach-cert, --attach-key: %w", err)
	}
	secure := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	if secure.ClientCAs, err = certificates("--attach-client-ca", c.AttachClientCA); secure.ClientCAs != nil {
		secure.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return secure, err
}
