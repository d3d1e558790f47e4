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

// withinQuota checks an execution of calls whose outcome and table versions have size bytes. The
// error is ErrSetup if the starting rows make it too large, ErrTool if a tool of the pack does,
// ErrQuota if the calls do.
func (h *Host) withinQuota(setup *compiledSetup, world *session.World, calls []*worldv1.Message, answers []executor.Answer, size int) error {
	if added := rowsOf(world) - rowsOf(&setup.world); added > h.cfg.MaxRows {
		return fmt.Errorf("%w: %d rows more than at the start, at most %d", ErrQuota, added, h.cfg.MaxRows)
	}
	if size <= h.cfg.MaxBytes {
		return nil
	}
	if start := setup.startingBytes(world); start > size/2 {
		return fmt.Errorf("%w %s: the tables that a call writes have %d bytes at the start: expected at most %d, or a larger --toolhost-max-bytes of the tool host",
			ErrSetup, setup.name, start, h.cfg.MaxBytes)
	}
	for _, answer := range answers {
		if h.isLarge(answer.Tool, len(answer.Content), proto.Size(calls[answer.Call])) {
			return fmt.Errorf("%w: %s answers %d of the %d bytes to store at once; at most %d are stored", ErrTool, answer.Tool, len(answer.Content), size, h.cfg.MaxBytes)
		}
		for _, trace := range answer.Traces {
			if h.isLarge(trace.GetTool(), len(trace.GetResultJson()), len(trace.GetArgumentsJson())) {
				return fmt.Errorf("%w: %s returns %d of the %d bytes to store at once; at most %d are stored", ErrTool, trace.GetTool(), len(trace.GetResultJson()), size, h.cfg.MaxBytes)
			}
		}
	}
	return fmt.Errorf("%w: %d bytes of answers and tables at once, at most %d", ErrQuota, size, h.cfg.MaxBytes)
}

func rowsOf(world *session.World) (rows int) {
	for _, table := range world.Tables() {
		rows += len(world.Rows(table.Name))
	}
	return rows
}

// startingBytes returns the size of the starting rows of the tables that were written.
func (s *compiledSetup) startingBytes(written *session.World) (bytes int) {
	for _, table := range written.Tables() {
		if written.Written(table.Name) {
			bytes += proto.Size(session.Encode(table.Name, 0, s.world.Rows(table.Name)))
		}
	}
	return bytes
}

// isLarge reports whether a tool of a pack is at fault for a large answer. A built-in tool returns
// what the role stored before.
func (h *Host) isLarge(tool string, answer, call int) bool {
	return tool != "" && h.catalogue.Find(tool) == nil && answer > h.cfg.MaxBytes/largeAnswer && answer > amplified*call
}
