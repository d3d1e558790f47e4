package dialect

import (
	"errors"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

const (
	hermesBegin = "<tool_call>"
	hermesEnd   = "</tool_call>"

	keyName      = "name"
	keyArguments = "arguments"
)

// parseHermes parses calls between tags. It drops text beside calls, as every other provider does.
func parseHermes(text string) *provider.Answer {
	r := reader{id: func(n int, _ string) string { return "call_" + strconv.Itoa(n+1) }}
	rest := text
	for {
		_, after, found := strings.Cut(rest, hermesBegin)
		if !found {
			break
		}
		inner, next, closed := strings.Cut(after, hermesEnd)
		if !closed {
			r.addFault("tool_call_without_end_tag", exceptionValue, after)
			break
		}
		r.hermes(inner)
		rest = next
	}
	if len(r.answer.Calls) == 0 {
		r.answer.Text = text
	}
	return &r.answer
}

func (r *reader) hermes(inner string) {
	value, err := python.ParseJSON(inner)
	if err != nil {
		r.addFault("tool_call_is_no_json", raisedBy(err, exceptionRuntime), inner)
		return
	}
	object, ok := value.AsDict()
	if !ok {
		r.addFault("tool_call_is_no_object", exceptionType, inner)
		return
	}
	name, named := object.Get(keyName)
	arguments, given := object.Get(keyArguments)
	switch {
	case !given:
		r.addFault("tool_call_without_arguments", exceptionKey, inner)
	case !named:
		r.addFault("tool_call_without_name", exceptionKey, inner)
	default:
		r.addCall(name, arguments, inner)
	}
}

// raisedBy returns the exception type of an error that is no plain JSON mistake, e.g. of too deep
// nesting, and otherwise the given one.
func raisedBy(err error, otherwise string) string {
	var raised *python.Exception
	if errors.As(err, &raised) {
		return raised.Type
	}
	return otherwise
}
