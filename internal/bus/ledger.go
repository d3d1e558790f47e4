package bus

import (
	"context"
	"errors"
	"fmt"
)

// Read returns a document and its revision, nil and 0 if there is none. A name is letters, digits,
// '-', '_' and '.'.
func (l Ledger) Read(ctx context.Context, name string) (raw []byte, revision uint64, err error) {
	msg, err := l.last(ctx, ledgerStream, ledgerSubject(name))
	if errors.Is(err, ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read ledger %s: %w", name, err)
	}
	return msg.Data, msg.Sequence, nil
}

// Write stores a document if the given revision is still its last, else it fails with ErrFenced. It
// may do so too after having stored it, if the first acknowledgement was lost: a document has to
// tell whose change it holds.
func (l Ledger) Write(ctx context.Context, name string, raw []byte, revision uint64) error {
	err := l.replace(ctx, ledgerStream, ledgerSubject(name), raw, revision)
	if errors.Is(err, ErrExists) {
		err = ErrFenced
	}
	if err != nil {
		return fmt.Errorf("write ledger %s: %w", name, err)
	}
	return nil
}
