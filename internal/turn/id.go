package turn

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	// maxID bounds the bytes of a call's id.
	maxID = 4096
	// noneID is how Python prints a missing id. Servers that print it have none.
	noneID = "None"
)

// ids gives the calls of a turn their ids.
type ids struct {
	compat bool
	// used are the ids of earlier calls, and written those that the role wrote in this turn.
	used, written map[string]bool
}

// newIDs returns the ids for the calls of a turn.
func (c Composer) newIDs(calls []Call) *ids {
	n := &ids{compat: c.Compat, used: make(map[string]bool), written: make(map[string]bool, len(calls))}
	for _, call := range calls {
		if call.ID != nil {
			n.written[*call.ID] = true
		}
	}
	for _, m := range c.View {
		if m.GetSender() == c.Role && m.GetCall() != nil && !c.Compat {
			n.used[m.GetCall().GetId()] = true
		}
	}
	return n
}

// set sets a call's id by its rule. It replaces an id that no source can contain.
func (n *ids) set(made Call, call *worldv1.ToolCall, index int32) {
	call.Id = made.ID
	if made.IDRule == DeriveID {
		call.Variable = &call.Tool
		if made.ID == nil {
			call.Id = proto.String(uuid.NewSHA1(uuid.NameSpaceURL, []byte("call:"+strconv.Itoa(int(index)))).String())
		}
	}
	if call.Id != nil && !fitsSource(*call.Id) || n.lacks(call.Id, made.IDRule) {
		call.Id = proto.String(n.free(index))
	}
	n.used[call.GetId()] = true
}

// lacks reports whether a call needs another id than the one it has: by IndexID one that can be
// printed, and otherwise, unless compat, one that no other call of the conversation has. A plug-in
// may look for the results of its own ids, even if it uses them twice.
func (n *ids) lacks(id *string, rule IDRule) bool {
	switch {
	case rule == IndexID:
		return id == nil || *id == "" || strings.ContainsFunc(*id, unprintable)
	case n.compat || rule == FixedID:
		return false
	default:
		return id == nil || *id == "" || *id == noneID || n.used[*id]
	}
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// fitsSource reports whether the original's source can name its variables after an id and still
// parse as one call. Ids are text of the model: a multi-line id could change the meaning of the
// source.
func fitsSource(id string) bool {
	return len(id) <= maxID && utf8.ValidString(id) && !(strings.Contains(id, "\n") && strings.Contains(id, "_parameters = "))
}

// free returns call_<index>, with underscores appended until it is unique.
func (n *ids) free(index int32) string {
	id := "call_" + strconv.Itoa(int(index))
	for n.written[id] || n.used[id] {
		id += "_"
	}
	return id
}
