package agentgw

import (
	"fmt"

	"github.com/spf13/pflag"
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
}

// DefaultConfig returns bounds that suit a gateway with a few hundred rollouts at once.
func DefaultConfig() Config {
	return Config{ToolSets: 4096, PluginConnections: 256, PluginMessageBytes: 16 << 20, PluginTurnBytes: 512 << 10}
}

// RegisterFlags adds the flags of this service.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.IntVar(&c.ToolSets, "agentgw-tool-sets", c.ToolSets, "how many tool sets are remembered")
	fs.IntVar(&c.PluginConnections, "agentgw-plugin-connections", c.PluginConnections, "how many plug-in agents may be connected at once")
	fs.IntVar(&c.PluginMessageBytes, "agentgw-plugin-message-bytes", c.PluginMessageBytes, "largest gRPC message to or from a plug-in agent")
	fs.IntVar(&c.PluginTurnBytes, "agentgw-plugin-turn-bytes", c.PluginTurnBytes, "largest turn of a plug-in agent")
}

// Validate names the first field that is out of range.
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
	}
	return nil
}
