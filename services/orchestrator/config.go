package orchestrator

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

const minConversationMemory = 1 << 20

// Config is the configuration of an orchestrator.
type Config struct {
	// Name identifies this process in logs and claims. It has no effect on rollouts.
	Name string
	// Parallel is the number of concurrent rollouts of this process. With 0 it only serves: queued
	// rollouts wait for other processes.
	Parallel int
	// Lease is how long a job may go without renewal before another process gets it.
	Lease time.Duration
	// RespondTimeout bounds one turn of a player. A player with its own timeout may take that and at
	// least a minute more.
	RespondTimeout time.Duration
	// ExecuteTimeout bounds one execution of tools.
	ExecuteTimeout time.Duration
	// ConversationMemory bounds the total memory of conversations of more than 256 KiB. One of up to 1
	// MiB counts as 1 MiB, a longer one as its sweep's byte limit.
	ConversationMemory int64
	// Attempts is the number of attempts of a rollout when a service or provider fails.
	Attempts int
	// ResultTimeout bounds the wait of an ended rollout for its result.
	ResultTimeout time.Duration
}

// DefaultConfig returns settings that suit scripted players and models.
func DefaultConfig() Config {
	return Config{
		Name:               "orchestrator",
		Parallel:           64,
		Lease:              10 * time.Second,
		RespondTimeout:     2 * time.Minute,
		ExecuteTimeout:     30 * time.Second,
		ConversationMemory: 64 << 20,
		Attempts:           5,
		ResultTimeout:      15 * time.Minute,
	}
}

// RegisterFlags adds the service's flags.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.Name, "orchestrator-name", c.Name, "name of this process in logs and claims")
	fs.IntVar(&c.Parallel, "orchestrator-parallel", c.Parallel, "concurrent rollouts of this process; 0 serves and takes none from the queue")
	fs.DurationVar(&c.Lease, "orchestrator-lease", c.Lease, "lease of a rollout: time without renewal after which another process takes it over")
	c.RegisterTurnFlags(fs)
	fs.DurationVar(&c.ExecuteTimeout, "orchestrator-execute-timeout", c.ExecuteTimeout, "timeout of one execution of tools")
	fs.Int64Var(&c.ConversationMemory, "orchestrator-conversation-memory", c.ConversationMemory, "concurrent bytes of conversations over 256 KiB in this process; up to 1 MiB one counts 1 MiB, beyond that its sweep's --max-rollout-bytes")
	fs.IntVar(&c.Attempts, "orchestrator-attempts", c.Attempts, "attempts of a rollout when a service or a provider fails")
	fs.DurationVar(&c.ResultTimeout, "orchestrator-result-timeout", c.ResultTimeout, "longest time that a finished rollout waits for its score")
}

// RegisterTurnFlags adds the flag that bounds a turn.
func (c *Config) RegisterTurnFlags(fs *pflag.FlagSet) {
	fs.DurationVar(&c.RespondTimeout, "orchestrator-respond-timeout", c.RespondTimeout, "timeout of one turn of a player; --model-timeout extends it where needed")
}

// Validate returns all fields that are out of range.
func (c Config) Validate() error {
	var errs []error
	if c.Parallel < 0 || c.Parallel > 100000 {
		errs = append(errs, fmt.Errorf("--orchestrator-parallel: %d given, expected 0 to 100000", c.Parallel))
	}
	if c.Lease < time.Second {
		errs = append(errs, fmt.Errorf("--orchestrator-lease: %s given, expected at least 1s", c.Lease))
	}
	if c.RespondTimeout <= 0 {
		errs = append(errs, fmt.Errorf("--orchestrator-respond-timeout: %s given, expected more than 0", c.RespondTimeout))
	}
	if c.ExecuteTimeout <= 0 {
		errs = append(errs, fmt.Errorf("--orchestrator-execute-timeout: %s given, expected more than 0", c.ExecuteTimeout))
	}
	if c.ResultTimeout <= 0 {
		errs = append(errs, fmt.Errorf("--orchestrator-result-timeout: %s given, expected more than 0", c.ResultTimeout))
	}
	if c.ConversationMemory < minConversationMemory {
		errs = append(errs, fmt.Errorf("--orchestrator-conversation-memory: %d given, expected at least %d", c.ConversationMemory, minConversationMemory))
	}
	if c.Attempts < 1 {
		errs = append(errs, fmt.Errorf("--orchestrator-attempts: %d given, expected at least 1", c.Attempts))
	}
	return errors.Join(errs...)
}
