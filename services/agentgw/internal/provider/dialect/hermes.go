package dialect

import (
	"errors"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

const (
	hermesBegin = "<tool_call>"
	hermesEnd   = "</tool_call>"

	keyName      = "name"
	keyArguments = "arguments"
)

// parseHermes reads calls between tags. Text beside calls is dropped, as by every other provider.
func parseHermes(said string) *provider.Answer {
	r := reader{id: func(n int, _ string) string { return "call_" + strconv.Itoa(n+1) }}
	rest := said
	for {
		_, after, found := strings.Cut(rest, hermesBegin)
		if !found {
			break
		}
		inner, next, closed := strings.Cut(after, hermesEnd)
		if !closed {
			r.wrong("tool_call_without_end_tag", exceptionValue, after)
			break
		}
		r.hermes(inner)
		rest = next
	}
	if len(r.answer.Calls) == 0 {
		r.answer.Text = said
	}
	return &r.answer
}

func (r *reader) hermes(inner string) {
	value, err := python.ParseJSON(inner)
	if err != nil {
		r.wrong("tool_call_is_no_json", raisedBy(err, exceptionRuntime), inner)
		return
	}
	object, ok := value.AsDict()
	if !ok {
		r.wrong("tool_call_is_no_object", exceptionType, inner)
		return
	}
	name, named := object.Get(keyName)
	arguments, given := object.Get(keyArguments)
	switch {
	case !given:
		r.wrong("tool_call_without_arguments", exceptionKey, inner)
	case !named:
		r.wrong("tool_call_without_name", exceptionKey, inner)
	default:
		r.call(name, arguments, inner)
	}
}

// raisedBy returns the type of an exception that is no plain mistake of JSON, e.g. for nesting too
// deep, and otherwise what the original makes of such a mistake.
func raisedBy(err error, otherwise string) string {
	var raised *python.Exception
	if errors.As(err, &raised) {
		return raised.Type
	}
	return otherwise
}
