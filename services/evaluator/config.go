package evaluator

import (
	"fmt"

	"github.com/spf13/pflag"
)

// Config is what an operator can set.
type Config struct {
	// Scorers is the number of trajectories that are scored at once.
	Scorers int
}

// DefaultConfig returns four scorers: they spend most of their time waiting for an acknowledgement.
func DefaultConfig() Config { return Config{Scorers: 4} }

// RegisterFlags adds the service's flags.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.IntVar(&c.Scorers, "evaluator-scorers", c.Scorers, "concurrently scored trajectories")
}

// Validate names the first field that is out of range.
func (c Config) Validate() error {
	if c.Scorers < 1 || c.Scorers > 1024 {
		return fmt.Errorf("--evaluator-scorers: %d given, expected 1 to 1024", c.Scorers)
	}
	return nil
}
