package natsserver

import (
	"fmt"

	"github.com/spf13/pflag"
)

// Sync is the policy by which an embedded NATS server syncs to disk. It is a flag value.
type Sync string

const (
	// SyncInterval syncs every two minutes. A killed process loses nothing; a power failure may lose
	// the messages since.
	SyncInterval Sync = "interval"
	// SyncAlways syncs before each acknowledgement. A power failure loses no acknowledged message.
	SyncAlways Sync = "always"
)

// RegisterFlag adds the flag of a process that embeds a server. The default is SyncInterval.
func (s *Sync) RegisterFlag(fs *pflag.FlagSet) {
	*s = SyncInterval
	fs.Var(s, "sync", "fsync of streams: interval (every two minutes; a power failure may lose messages of the last two) or always (before each acknowledgement)")
}

// String returns the name.
func (s *Sync) String() string { return string(*s) }

// Type implements pflag.Value.
func (s *Sync) Type() string { return "interval|always" }

// Set implements pflag.Value.
func (s *Sync) Set(name string) error {
	switch value := Sync(name); value {
	case SyncInterval, SyncAlways:
		*s = value
		return nil
	}
	return fmt.Errorf("%q given, expected interval or always", name)
}
