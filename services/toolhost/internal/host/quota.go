package host

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/executor"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

const (
	// largeAnswer is the part of Config.MaxBytes above which an answer is large.
	largeAnswer = 4
	// amplified is how many times larger than its call a large answer is if its tool is at fault.
	amplified = 10
)

// withinQuota checks an execution whose outcome and table versions have size bytes. The error is
// ErrTool if a tool of the pack makes it too large, ErrQuota if the calls do.
func (h *Host) withinQuota(world *session.World, calls []*worldv1.Message, answers []executor.Answer, size int) error {
	rows := 0
	for _, table := range world.Tables() {
		rows += len(world.Rows(table.Name))
	}
	if rows > h.cfg.MaxRows {
		return fmt.Errorf("%w: %d rows, at most %d", ErrQuota, rows, h.cfg.MaxRows)
	}
	if size <= h.cfg.MaxBytes {
		return nil
	}
	for _, answer := range answers {
		if h.isLarge(answer.Tool, len(answer.Content), proto.Size(calls[answer.Call])) {
			return fmt.Errorf("%w: %s answers %d bytes, at most %d are stored at once", ErrTool, answer.Tool, len(answer.Content), h.cfg.MaxBytes)
		}
		for _, trace := range answer.Traces {
			if h.isLarge(trace.GetTool(), len(trace.GetResultJson()), len(trace.GetArgumentsJson())) {
				return fmt.Errorf("%w: %s returns %d bytes, at most %d are stored at once", ErrTool, trace.GetTool(), len(trace.GetResultJson()), h.cfg.MaxBytes)
			}
		}
	}
	return fmt.Errorf("%w: %d bytes of answers and tables at once, at most %d", ErrQuota, size, h.cfg.MaxBytes)
}

// isLarge reports whether a tool of a pack is at fault for a large answer. A built-in tool returns
// what the role stored before.
func (h *Host) isLarge(tool string, answer, call int) bool {
	return tool != "" && h.catalogue.Find(tool) == nil && answer > h.cfg.MaxBytes/largeAnswer && answer > amplified*call
}
