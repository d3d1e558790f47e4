package natsserver

import (
	"fmt"

	"github.com/spf13/pflag"
)

// Sync says when an embedded NATS server has what it stores on disk. It is a flag's value.
type Sync string

const (
	// SyncInterval syncs every two minutes: a kill of the process loses nothing, a power failure
	// may lose what came since.
	SyncInterval Sync = "interval"
	// SyncAlways syncs before each acknowledgement: a power failure loses nothing that was
	// acknowledged.
	SyncAlways Sync = "always"
)

// RegisterFlag adds the flag of a process that embeds a server. It makes SyncInterval the default.
func (s *Sync) RegisterFlag(fs *pflag.FlagSet) {
	*s = SyncInterval
	fs.Var(s, "sync", "when streams are on disk: interval (every two minutes; a power failure may cost what came since) or always (before each acknowledgement)")
}

// String returns the name.
func (s *Sync) String() string { return string(*s) }

// Type names the kind of value in help texts.
func (s *Sync) Type() string { return "interval|always" }

// Set takes a name.
func (s *Sync) Set(name string) error {
	switch value := Sync(name); value {
	case SyncInterval, SyncAlways:
		*s = value
		return nil
	}
	return fmt.Errorf("%q given, expected interval or always", name)
}
