package world

import (
	"crypto/sha256"
	"fmt"

	"google.golang.org/protobuf/proto"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Digest returns the SHA-256 of a table's deterministic wire form, as in
// worldv1.TableVersion.digest. The error reports text that is not UTF-8.
func Digest(table *worldv1.Table) ([]byte, error) {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(table)
	if err != nil {
		return nil, fmt.Errorf("digest of table %s: %w", table.GetName(), err)
	}
	sum := sha256.Sum256(raw)
	return sum[:], nil
}
