package toolhost

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/flagrule"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/service"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/toolserver"
)

// maxSnapshot is the limit of one announcement in bytes. The bus accepts messages of up to 8 MiB.
const maxSnapshot = 7 << 20

// Config configures the service.
type Config struct {
	// Dir is the directory of this tool host's sessions. Run creates it.
	Dir string
	// CachedSessions is the number of sessions that stay in memory.
	CachedSessions int
	// CacheBytes is the limit of the tables of sessions in memory, in bytes.
	CacheBytes int
	// MaxRows is the limit of rows that calls add to a session.
	MaxRows int
	// MaxCalls is the limit of calls per batch.
	MaxCalls int
	// MaxBytes is the limit of the results and the table versions of an execution, in bytes.
	MaxBytes int
	// ServiceURL replaces scheme and host of requests to the hosted services, for a proxy or a test.
	// Empty keeps them.
	ServiceURL string
	// ServiceTimeout is the limit of a request to a hosted service, with all attempts.
	ServiceTimeout time.Duration
	// ToolServers are the tool servers that packs may use, by name.
	ToolServers toolserver.Targets
	// ToolServerTimeout is the limit of a call of a tool server, with all attempts.
	ToolServerTimeout time.Duration
}

// DefaultConfig returns settings that suit a laptop and a cluster alike.
func DefaultConfig() Config {
	return Config{
		Dir: "data/toolhost", CachedSessions: 10000, CacheBytes: 256 << 20, MaxRows: 10000, MaxCalls: 64, MaxBytes: 4 << 20,
		ServiceTimeout: 10 * time.Second, ToolServerTimeout: 20 * time.Second,
	}
}

// RegisterFlags adds the service's flags.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.Dir, "toolhost-dir", c.Dir, "directory for the sessions of this tool host")
	fs.IntVar(&c.CachedSessions, "toolhost-cached-sessions", c.CachedSessions, "sessions kept in memory")
	fs.IntVar(&c.CacheBytes, "toolhost-cache-bytes", c.CacheBytes, "bytes of tables kept in memory; other sessions are read from disk again")
	fs.IntVar(&c.MaxRows, "toolhost-max-rows", c.MaxRows, "most rows that calls add to a session")
	fs.IntVar(&c.MaxCalls, "toolhost-max-calls", c.MaxCalls, "most concurrent calls in one session")
	fs.IntVar(&c.MaxBytes, "toolhost-max-bytes", c.MaxBytes, "most bytes of answers and tables that one execution stores")
	c.RegisterServiceFlags(fs)
}

// RegisterToolServerFlags adds only the flags of tool servers.
func (c *Config) RegisterToolServerFlags(fs *pflag.FlagSet) {
	fs.Var(&c.ToolServers, "toolhost-tool-server", "address of a tool server of packs: grpc://host:port, http://host/path, stdio:command, or stdio+VARIABLE:command to pass that variable on; repeatable")
	fs.DurationVar(&c.ToolServerTimeout, "toolhost-tool-server-timeout", c.ToolServerTimeout, "timeout of one call of a tool server, all attempts together")
}

// RegisterServiceFlags adds only the flags of the hosted services.
func (c *Config) RegisterServiceFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.ServiceURL, "toolhost-service-url", c.ServiceURL, "address in place of https://<host> of the hosted services (default: their own)")
	fs.DurationVar(&c.ServiceTimeout, "toolhost-service-timeout", c.ServiceTimeout, "timeout of one request to a hosted service, all attempts together")
	flagrule.Needs(fs, "services", "toolhost-service-url", "toolhost-service-timeout")
	c.RegisterToolServerFlags(fs)
}

// Validate returns all fields that are out of range.
func (c Config) Validate() error {
	var errs []error
	if c.Dir == "" {
		errs = append(errs, errors.New("--toolhost-dir: empty, expected a directory"))
	}
	if c.CachedSessions < 1 {
		errs = append(errs, fmt.Errorf("--toolhost-cached-sessions: %d given, expected at least 1", c.CachedSessions))
	}
	if c.CacheBytes < 0 {
		errs = append(errs, fmt.Errorf("--toolhost-cache-bytes: %d given, expected at least 0", c.CacheBytes))
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
	if c.ServiceTimeout < time.Millisecond || c.ServiceTimeout > time.Minute {
		errs = append(errs, fmt.Errorf("--toolhost-service-timeout: %s given, expected 1ms to 1m", c.ServiceTimeout))
	}
	if c.ToolServerTimeout < time.Millisecond || c.ToolServerTimeout > time.Minute {
		errs = append(errs, fmt.Errorf("--toolhost-tool-server-timeout: %s given, expected 1ms to 1m", c.ToolServerTimeout))
	}
	for _, name := range slices.Sorted(maps.Keys(c.ToolServers)) {
		if err := c.ToolServers[name].CheckEnvironment(); err != nil {
			errs = append(errs, fmt.Errorf("--toolhost-tool-server: %s: %w", name, err))
		}
	}
	if err := service.CheckAddress(c.ServiceURL); err != nil {
		errs = append(errs, fmt.Errorf("--toolhost-service-url: %w", err))
	}
	return errors.Join(errs...)
}
