package agentgw

import (
	"errors"
	"slices"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"google.golang.org/protobuf/proto"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

var (
	// errUnknownView says that a request builds on a view that this gateway does not keep.
	errUnknownView = errors.New("unknown view: repeat the request with all messages")
	// errNoView says that a request has no message at all.
	errNoView = errors.New("view: no message, expected at least one")
)

// viewShare is the part of the room for views that one of them may take.
const viewShare = 64

// view is what a role could see when it was last asked. Neither it nor its messages are changed any
// more: views share them.
type view struct {
	messages []*worldv1.Message
	bytes    int // on the wire
}

// viewName names a view. Rollouts of one scenario say the same for a while; each has its own, which
// goes with its next turn.
type viewName struct{ rolloutID, digest string }

// views keeps the views of the last requests by their names, as many as there is room for. A
// conversation grows with each turn; with them the next request need only bring what is new. Safe
// for concurrent use.
type views struct {
	room int

	mu   sync.Mutex
	kept *simplelru.LRU[viewName, view]
	used int
}

func newViews(room int) (*views, error) {
	v := &views{room: room}
	var err error
	v.kept, err = simplelru.NewLRU(max(room, 1), func(_ viewName, gone view) { v.used -= gone.bytes }) // no view is smaller than a byte
	return v, err
}

// complete makes a request's view whole, and keeps it if the request names it and there is room.
// The error is errUnknownView or errNoView.
func (v *views) complete(req *agentgwv1.RespondRequest) (kept bool, err error) {
	earlier, name := viewName{req.GetRolloutId(), req.GetEarlierViewDigest()}, viewName{req.GetRolloutId(), req.GetViewDigest()}
	size := 0
	for _, message := range req.GetView() {
		size += proto.Size(message)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	whole := view{messages: req.GetView(), bytes: size}
	if earlier.digest != "" {
		before, ok := v.kept.Get(earlier)
		if !ok {
			return false, errUnknownView
		}
		whole = view{messages: slices.Concat(before.messages, req.GetView()), bytes: before.bytes + size}
		v.kept.Remove(earlier) // nobody builds on it again
	}
	if len(whole.messages) == 0 {
		return false, errNoView
	}
	req.View = whole.messages
	if name.digest == "" || whole.bytes > v.room/viewShare {
		return false, nil
	}
	v.kept.Remove(name)
	v.kept.Add(name, whole)
	for v.used += whole.bytes; v.used > v.room; {
		v.kept.RemoveOldest()
	}
	return true, nil
}
