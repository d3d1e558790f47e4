package worker

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// viewDigest is the digest over all messages of a view. The zero value is that of an empty view.
type viewDigest struct {
	view []*worldv1.Message
	sum  []byte
}

// extend returns the digest of a view. It reads only the messages after those of d.
func (d viewDigest) extend(view []*worldv1.Message) (viewDigest, error) {
	if len(d.view) > len(view) || !slices.Equal(d.view, view[:len(d.view)]) {
		d = viewDigest{} // a message was replaced
	}
	sum := d.sum
	for _, message := range view[len(d.view):] {
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
		if err != nil {
			return d, fmt.Errorf("encode message %d: %w", message.GetIndex(), err)
		}
		next := sha256.Sum256(append(slices.Clip(sum), raw...)) // all digests but the first have the same length
		sum = next[:]
	}
	return viewDigest{view: view, sum: sum}, nil
}
