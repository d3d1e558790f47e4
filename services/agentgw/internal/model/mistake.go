package model

import (
	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/turn"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// maxMistakes is how many unusable turns in a row end a rollout.
const maxMistakes = 5

// countMistakes counts the role's unusable turns since its last usable one. It reads them from the
// view, so that every replica of the gateway gets the same number.
func countMistakes(view []*worldv1.Message, role worldv1.Role, tools *turn.Tools) int {
	count, inTurn, used := 0, false, false
	for i := len(view) - 1; i >= 0; i-- {
		isOwn := view[i].GetSender() == role
		if isOwn {
			inTurn = true
			used = used || !isUnusable(view[i], tools)
		}
		if inTurn && (!isOwn || i == 0) {
			if used {
				return count
			}
			count++
			inTurn = false
		}
	}
	return count
}

// isUnusable reports whether a message results from a mistake: a call of an unknown tool, arguments
// that are no object, or an empty text.
func isUnusable(m *worldv1.Message, tools *turn.Tools) bool {
	call := m.GetCall()
	if call == nil {
		return m.GetBody() == nil || m.GetText() == "" && m.GetCode() == nil
	}
	args, err := messagetext.Arguments(call)
	_, object := args.AsDict()
	if text, ok := args.AsStr(); ok && messagetext.IsObject(text) {
		object = true
	}
	return err != nil || !object || !tools.Knows(call.GetTool())
}
