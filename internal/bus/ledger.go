package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// ledgerBucket holds documents that several processes change.
const (
	ledgerBucket = "LEDGER"
	ledgerStream = "KV_" + ledgerBucket
)

// Ledger is a set of small documents that several processes change by compare-and-swap. They stay as long as results do.
type Ledger struct {
	kv jetstream.KeyValue
}

// OpenLedger makes the ledger's bucket unless it exists, and returns the ledger.
func (b *Bus) OpenLedger(ctx context.Context) (*Ledger, error) {
	like := b.streams[resultStream].CachedInfo().Config
	var kv jetstream.KeyValue
	err := attempt(ctx, ledgerStream, func(ctx context.Context) (err error) {
		kv, err = b.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: ledgerBucket, TTL: like.MaxAge, Replicas: like.Replicas, Storage: jetstream.FileStorage,
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	return &Ledger{kv: kv}, nil
}

// Read returns a document and its revision, nil and 0 if there is none. A name is letters, digits, '-', '_' and '.'.
func (l *Ledger) Read(ctx context.Context, name string) (raw []byte, revision uint64, err error) {
	err = attempt(ctx, ledgerStream, func(ctx context.Context) error {
		entry, err := l.kv.Get(ctx, name)
		if err == nil {
			raw, revision = entry.Value(), entry.Revision()
		}
		return err
	})
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read ledger %s: %w", name, err)
	}
	return raw, revision, nil
}

// Write stores a document if the given revision is still its last, else it fails with ErrFenced. It may do so too after having
// stored it, if the first acknowledgement was lost: a document has to tell whose change it holds.
func (l *Ledger) Write(ctx context.Context, name string, raw []byte, revision uint64) error {
	err := attempt(ctx, ledgerStream, func(ctx context.Context) error {
		_, err := l.kv.Update(ctx, name, raw, revision)
		return err
	})
	if isWrongSequence(err) {
		return fmt.Errorf("write ledger %s: %w", name, ErrFenced)
	}
	if err != nil {
		return fmt.Errorf("write ledger %s: %w", name, err)
	}
	return nil
}
