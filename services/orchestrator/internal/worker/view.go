package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// maxMisses is how often the gateway may not know a view before this is no longer tried: with
// several replicas, each knows the views that it was shown itself.
const maxMisses = 2

// shown is what the gateway was shown of a role's view. The zero value is nothing.
type shown struct {
	view   []*worldv1.Message
	digest []byte // over all messages of the view
	kept   bool   // the gateway said that it keeps it
	misses int
}

// show puts the part of a view into a request that the gateway does not keep, and names the whole.
// It returns what is shown with that, of which the caller then learns whether it is kept.
func (s shown) show(request *agentgwv1.RespondRequest, view []*worldv1.Message) (shown, error) {
	if len(s.view) > len(view) || !slices.Equal(s.view, view[:len(s.view)]) {
		s = shown{misses: s.misses} // a message was replaced
	}
	now := shown{view: view, digest: s.digest, misses: s.misses}
	for _, message := range view[len(s.view):] {
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
		if err != nil {
			return s, fmt.Errorf("encode message %d: %w", message.GetIndex(), err)
		}
		sum := sha256.Sum256(append(slices.Clip(now.digest), raw...)) // the digest before is of one length always, but for the first
		now.digest = sum[:]
	}
	request.View, request.ViewDigest, request.EarlierViewDigest = view, "", ""
	request.ConversationDigest = now.digest
	if s.misses >= maxMisses {
		return now, nil
	}
	request.ViewDigest = hex.EncodeToString(now.digest)
	if s.kept {
		request.View, request.EarlierViewDigest = view[len(s.view):], hex.EncodeToString(s.digest)
	}
	return now, nil
}

// missed makes a request whole whose earlier view the gateway does not keep.
func (s shown) missed(request *agentgwv1.RespondRequest) shown {
	request.View, request.EarlierViewDigest = s.view, ""
	s.misses++
	return s
}
