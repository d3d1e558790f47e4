package evaluator

import (
	"fmt"

	"github.com/spf13/pflag"
)

// Config is the configuration of the evaluator.
type Config struct {
	// Scorers is the number of concurrently scored trajectories.
	Scorers int
}

// DefaultConfig returns four scorers. They mostly wait for acknowledgements.
func DefaultConfig() Config { return Config{Scorers: 4} }

// RegisterFlags registers the service's flags.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.IntVar(&c.Scorers, "evaluator-scorers", c.Scorers, "concurrently scored trajectories")
}

// Validate returns an error that names the first invalid field.
func (c Config) Validate() error {
	if c.Scorers < 1 || c.Scorers > 1024 {
		return fmt.Errorf("--evaluator-scorers: %d given, expected 1 to 1024", c.Scorers)
	}
	return nil
}
