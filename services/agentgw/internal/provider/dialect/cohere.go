package dialect

import (
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

const (
	cohereAction = "Action:"
	cohereBegin  = "Action: ```json"
	cohereEnd    = "```"
	cohereTurn   = "<|END_OF_TURN_TOKEN|>"
	keyTool      = "tool_name"
	keyParameter = "parameters"
)

// parseCohere reads a list of actions. The exact form that the prompt asks for must be valid, or it
// is a mistake of the model. A similar form, with other whitespace, fences or case, counts if it is
// valid. Everything else is text.
func parseCohere(said string) *provider.Answer {
	r := reader{id: func(n int, _ string) string { return "call_" + strconv.Itoa(n) }}
	if inner, ok := strings.CutPrefix(said, cohereBegin); ok {
		if inner, ok := strings.CutSuffix(inner, cohereEnd); ok {
			r.cohere(inner)
			return &r.answer
		}
	}
	text := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(said), cohereTurn))
	if list, ok := nearCohere(text); ok {
		r.actions(list)
		return &r.answer
	}
	return &provider.Answer{Text: text}
}

// nearCohere finds a list of actions in a form similar to the exact one.
func nearCohere(text string) ([]python.Value, bool) {
	if len(text) < len(cohereAction) || !strings.EqualFold(text[:len(cohereAction)], cohereAction) {
		return nil, false
	}
	inner := strings.TrimSpace(text[len(cohereAction):])
	inner, fenced := strings.CutPrefix(inner, cohereEnd)
	if fenced {
		inner = strings.TrimPrefix(inner, "json")
		if end := strings.LastIndex(inner, cohereEnd); end >= 0 {
			inner = inner[:end]
		}
	}
	value, err := python.ParseJSON(inner)
	if err != nil {
		return nil, false
	}
	list, ok := value.AsList()
	if !ok {
		return nil, false
	}
	for _, entry := range list {
		if fault, _ := actionFault(entry); fault != "" {
			return nil, false
		}
	}
	return list, true
}

// cohere reads the text between the fences.
func (r *reader) cohere(inner string) {
	value, err := python.ParseJSON(inner)
	if err != nil {
		r.addFault("action_is_no_json", raisedBy(err, exceptionRuntime), inner)
		return
	}
	list, ok := value.AsList()
	if !ok {
		r.addFault("action_is_no_list", exceptionType, inner)
		return
	}
	r.actions(list)
}

// actions reads a list of actions.
func (r *reader) actions(list []python.Value) {
	for _, entry := range list {
		source := python.JSON(entry)
		if fault, exception := actionFault(entry); fault != "" {
			r.addFault(fault, exception, source)
			continue
		}
		object, _ := entry.AsDict()
		name, _ := object.Get(keyTool)
		parameters, _ := object.Get(keyParameter)
		r.addCall(name, parameters, source)
	}
	if len(list) == 0 {
		r.answer.EmptyReason = "the answer has an empty list of actions"
	}
}

// actionFault returns what an action lacks and the exception that the original raises for it, or
// "".
func actionFault(entry python.Value) (fault, exception string) {
	object, ok := entry.AsDict()
	if !ok {
		return "action_is_no_object", exceptionType
	}
	if _, named := object.Get(keyTool); !named {
		return "action_without_tool_name", exceptionKey
	}
	if _, ok := object.Get(keyParameter); !ok {
		return "action_without_parameters", exceptionKey
	}
	return "", ""
}
