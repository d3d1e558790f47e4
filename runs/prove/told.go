package prove

import (
	"fmt"
	"strconv"

	"github.com/toolsandbox/toolsandbox/internal/provenance"
	"github.com/toolsandbox/toolsandbox/internal/timezone"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost"
)

// checkTold reports the arguments of the oracle's calls that no agent can know: no message, answer
// or description tells them before.
func (s *candidate) checkTold() {
	told := s.conversation()
	for i, m := range s.oracle.messages {
		call := m.GetCall()
		if call == nil || m.GetSender() != roleAgent || i < s.oracle.starting {
			told.Learn(m)
			continue
		}
		info := s.tools[call.GetTool()]
		for _, argument := range told.Untold(call, info == nil || !info.readOnly) {
			s.fail(ruleTold, "nothing tells the agent %s %s before it calls %s: %s", argument.Name, argument.Value, call.GetTool(), s.toTell(i, argument))
		}
	}
}

// conversation returns what the agent knows before the first message.
func (s *candidate) conversation() *provenance.Conversation {
	config := provenance.Config{Vocabulary: provenance.NamesIn(toolhost.HolidayNames())}
	if zone, err := timezone.Load(s.scenario.GetSetup().GetClock().GetTimeZone()); err == nil {
		config.Zone = zone
	}
	for _, info := range s.tools {
		config.Tools = append(config.Tools, info.tool)
	}
	config.Names = provenance.NamesOf(s.scenario.GetSetup().GetTables())
	return provenance.New(config)
}

// toTell names the message that should tell an argument of the call at an index: a later one that
// does, else the user's last one before it.
func (s *candidate) toTell(index int, missing provenance.Argument) string {
	told, call := s.conversation(), s.oracle.messages[index].GetCall()
	last := -1
	for i, m := range s.oracle.messages {
		if i < index && m.GetSender() == roleUser && m.GetRecipient() == roleAgent {
			last = i
		}
		if told.Learn(m); i > index && m.GetCall() == nil && !isUntold(told, call, missing) {
			return fmt.Sprintf("message %d tells it too late, let the call wait for it", i)
		}
	}
	if last < 0 {
		return "let the user's first message tell it"
	}
	return fmt.Sprintf("let message %d tell it (%s), or the answer of a call before", last, strconv.Quote(s.oracle.messages[last].GetText()))
}

// isUntold reports whether an argument is still untold.
func isUntold(told *provenance.Conversation, call *worldv1.ToolCall, missing provenance.Argument) bool {
	for _, argument := range told.Untold(call, true) {
		if argument == missing {
			return true
		}
	}
	return false
}
