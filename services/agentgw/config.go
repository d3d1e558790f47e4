package agentgw

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/pricing"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/ratelimit"
)

const (
	minMessageBytes = 1 << 10
	// maxTurnBytes keeps an answer, with the log entry around it, below what the bus takes.
	maxTurnBytes = 4 << 20
)

// Config bounds what the gateway keeps and what plug-ins may cost.
type Config struct {
	// ToolSets is how many tool sets are remembered by digest.
	ToolSets int
	// PluginConnections is the largest number of plug-ins that are connected at once.
	PluginConnections int
	// PluginMessageBytes bounds one gRPC message to or from a plug-in.
	PluginMessageBytes int
	// PluginTurnBytes bounds the messages that one answer of a plug-in becomes.
	PluginTurnBytes int
	// ModelAnswerBytes bounds the body of one answer of a model provider.
	ModelAnswerBytes int64
	// ModelTurnBytes bounds what is recorded of one answer of a model: its messages and its own
	// form.
	ModelTurnBytes int
	// ModelExchangeBytes bounds what is kept of the exchange with a provider about one turn, for
	// people to read.
	ModelExchangeBytes int
	// ModelConnections is how many connections there may be to each model provider. Over HTTP/2
	// many requests share one.
	ModelConnections int
	// RetryWait is the wait before a request to a player that failed is tried again, and grows; 0 is
	// that of the kind of player.
	RetryWait time.Duration
	// ModelBaseURLs are the addresses that players may name; the gateway's keys are sent there.
	// Empty allows all.
	ModelBaseURLs []string
	// PriceFile names a table of prices to use instead of the one that is built in.
	PriceFile string
	// Budget bounds the requests to model providers.
	Budget ratelimit.Config
	// Unbudgeted lets all requests to model providers begin at once, whatever Budget says: for
	// providers that are made to fail.
	Unbudgeted bool
	// TemplateDir is a directory with prompt templates that replace the program's own; empty
	// replaces none.
	TemplateDir string
	// Getenv returns an environment variable, "" if it is not set; keys and addresses of providers
	// come from there. It is called concurrently.
	Getenv func(name string) string
	// AttachListen is where agents attach themselves, host:port; empty accepts none.
	AttachListen string
	// AttachCert and AttachKey are PEM files that turn TLS on there.
	AttachCert, AttachKey string
	// AgentCA is a PEM file with authorities to trust, instead of the system's, at agents that are
	// dialled with TLS; empty trusts the system's.
	AgentCA string
}

// DefaultConfig returns bounds that suit a gateway with a few hundred rollouts at once.
func DefaultConfig() Config {
	return Config{
		ToolSets: 4096, PluginConnections: 256, PluginMessageBytes: 16 << 20, PluginTurnBytes: 512 << 10,
		ModelAnswerBytes: 8 << 20, ModelTurnBytes: 512 << 10, ModelExchangeBytes: 1 << 20, ModelConnections: 16384, Getenv: os.Getenv,
		Budget: ratelimit.DefaultConfig(),
	}
}

// RegisterFlags adds the flags of this service.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.IntVar(&c.ToolSets, "agentgw-tool-sets", c.ToolSets, "how many tool sets are remembered")
	fs.IntVar(&c.PluginConnections, "agentgw-plugin-connections", c.PluginConnections, "how many plug-in agents may be connected at once")
	fs.IntVar(&c.PluginMessageBytes, "agentgw-plugin-message-bytes", c.PluginMessageBytes, "largest gRPC message to or from a plug-in agent")
	fs.IntVar(&c.PluginTurnBytes, "agentgw-plugin-turn-bytes", c.PluginTurnBytes, "largest turn of a plug-in agent")
	fs.Int64Var(&c.ModelAnswerBytes, "agentgw-model-answer-bytes", c.ModelAnswerBytes, "largest answer of a model provider")
	fs.IntVar(&c.ModelTurnBytes, "agentgw-model-turn-bytes", c.ModelTurnBytes, "largest turn of a model")
	fs.IntVar(&c.ModelExchangeBytes, "agentgw-model-exchange-bytes", c.ModelExchangeBytes, "how much is kept of the requests to a provider and of its answers about one turn")
	fs.IntVar(&c.ModelConnections, "agentgw-model-connections", c.ModelConnections, "connections to each model provider at most; with one that does not speak HTTP/2 each request has its own")
	fs.StringSliceVar(&c.ModelBaseURLs, "agentgw-model-base-urls", c.ModelBaseURLs, "addresses of model providers that a sweep may name (default: any); keys are sent there")
	c.RegisterBudgetFlags(fs)
	c.RegisterTemplateFlags(fs)
	c.RegisterAttachFlags(fs)
}

// RegisterBudgetFlags adds the flags that say how much may be asked of model providers and what it
// costs.
func (c *Config) RegisterBudgetFlags(fs *pflag.FlagSet) {
	c.Budget.RegisterFlags(fs)
	fs.StringVar(&c.PriceFile, "agentgw-price-file", c.PriceFile, "YAML file with the prices of models, instead of the table that is built in")
}

// RegisterTemplateFlags adds the flag that says whose prompts models get that know no tool calling.
func (c *Config) RegisterTemplateFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.TemplateDir, "agentgw-template-dir", c.TemplateDir, "directory whose hermes.tmpl, gorilla.tmpl, mistral.tmpl, cohere.tmpl and plain.tmpl replace the program's own prompts")
}

// RegisterAttachFlags adds the flags that say how plug-in agents are connected.
func (c *Config) RegisterAttachFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.AttachListen, "attach-listen", c.AttachListen, "`host:port` where agents attach themselves, for --agent attached:NAME; empty accepts none")
	fs.StringVar(&c.AttachCert, "attach-cert", c.AttachCert, "PEM file with the certificate to show to agents that attach themselves; turns TLS on")
	fs.StringVar(&c.AgentCA, "agent-ca", c.AgentCA, "PEM file with the authorities to trust at --agent grpcs://HOST:PORT (default: the system's)")
	fs.StringVar(&c.AttachKey, "attach-key", c.AttachKey, "PEM file with the certificate's key")
}

// Validate names the first field that is out of range, or the file of authorities if it cannot be
// read.
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
	}
	_, err := c.roots()
	return errors.Join(err, c.Budget.Validate())
}

// check is Validate, and reads the prices.
func (c Config) check() (*pricing.Table, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	prices, err := pricing.Load(c.PriceFile)
	if err != nil {
		return nil, fmt.Errorf("--agentgw-price-file: %w", err)
	}
	return prices, nil
}

// roots reads the authorities to trust at agents; nil are those of the system.
func (c Config) roots() (*x509.CertPool, error) {
	if c.AgentCA == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(c.AgentCA)
	if err != nil {
		return nil, fmt.Errorf("--agent-ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(raw) {
		return nil, fmt.Errorf("--agent-ca %s: no PEM certificate in it", c.AgentCA)
	}
	return pool, nil
}
