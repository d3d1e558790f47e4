package toolhost

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

// maxSnapshot bounds what is announced at once: the bus takes messages of up to 8 MiB.
const maxSnapshot = 7 << 20

// Config is what an operator can set.
type Config struct {
	// Dir holds this shard's sessions; it is made if it does not exist.
	Dir string
	// CommitDelay is how long a write waits for others to share its commit.
	CommitDelay time.Duration
	// Live is the number of sessions that stay in memory.
	Live int
	// MaxRows is the number of rows that the tables of one session may hold together.
	MaxRows int
	// MaxCalls is the number of calls of one batch.
	MaxCalls int
	// MaxBytes is the size of the answers and of the table versions of one execution.
	MaxBytes int
}

// DefaultConfig returns settings that suit a laptop and a cluster alike.
func DefaultConfig() Config {
	return Config{Dir: "data/toolhost", CommitDelay: time.Millisecond, Live: 10000, MaxRows: 10000, MaxCalls: 64, MaxBytes: 4 << 20}
}

// RegisterFlags adds the service's flags.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.Dir, "toolhost-dir", c.Dir, "directory for the sessions of this shard")
	fs.DurationVar(&c.CommitDelay, "toolhost-commit-delay", c.CommitDelay, "how long a write waits for others to share its commit")
	fs.IntVar(&c.Live, "toolhost-live", c.Live, "sessions that stay in memory")
	fs.IntVar(&c.MaxRows, "toolhost-max-rows", c.MaxRows, "rows that one session may hold")
	fs.IntVar(&c.MaxCalls, "toolhost-max-calls", c.MaxCalls, "calls that may be executed at once in one session")
	fs.IntVar(&c.MaxBytes, "toolhost-max-bytes", c.MaxBytes, "bytes of answers and tables that one execution may store")
}

// Validate returns all fields that are out of range.
func (c Config) Validate() error {
	var errs []error
	if c.Dir == "" {
		errs = append(errs, errors.New("--toolhost-dir: empty, expected a directory"))
	}
	if c.CommitDelay < 0 || c.CommitDelay > time.Second {
		errs = append(errs, fmt.Errorf("--toolhost-commit-delay: %s given, expected 0s to 1s", c.CommitDelay))
	}
	if c.Live < 1 {
		errs = append(errs, fmt.Errorf("--toolhost-live: %d given, expected at least 1", c.Live))
	}
	if c.MaxRows < 1 {
		errs = append(errs, fmt.Errorf("--toolhost-max-rows: %d given, expected at least 1", c.MaxRows))
	}
	if c.MaxCalls < 1 || c.MaxCalls > 64 {
		errs = append(errs, fmt.Errorf("--toolhost-max-calls: %d given, expected 1 to 64", c.MaxCalls))
	}
	if c.MaxBytes < 1<<12 || c.MaxBytes > maxSnapshot {
		errs = append(errs, fmt.Errorf("--toolhost-max-bytes: %d given, expected %d to %d", c.MaxBytes, 1<<12, maxSnapshot))
	}
	return errors.Join(errs...)
}
