package row

import (
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

const (
	parametersInfix = "_parameters = "
	responseInfix   = "_response = "

	// maxVariableCandidates bounds the places that parseCall tries as the end of the variables'
	// name.
	maxVariableCandidates = 16
)

// callTail is what follows the tool's name and the opening of its arguments.
func callTail(variable string) string {
	return variable + "_parameters)\nprint(repr(" + variable + "_response))"
}

// parseCall recognises exactly what messagetext.ComposeSource returns for a tool whose name is an
// identifier and arguments that are a literal. The arguments need not be a dict, and may hold nan
// and inf.
func parseCall(source string) (variable, tool string, args python.Value, ok bool) {
	for from, n := 0, 0; n < maxVariableCandidates; n++ {
		i := strings.Index(source[from:], parametersInfix)
		if i < 0 {
			break
		}
		variable = source[:from+i]
		from += i + len(parametersInfix)
		body, found := strings.CutSuffix(source[from:], callTail(variable))
		if !found {
			continue
		}
		if tool, args, ok = parseBody(body, variable); ok {
			return variable, tool, args, true
		}
	}
	return "", "", python.Value{}, false
}

// parseBody reads what stands between the first infix and the tail: the literal, a line break, the
// call's beginning.
func parseBody(body, variable string) (tool string, args python.Value, ok bool) {
	body, ok = strings.CutSuffix(body, "(**")
	if !ok {
		return "", python.Value{}, false
	}
	middle := "\n" + variable + responseInfix
	i := strings.LastIndex(body, middle)
	if i < 0 {
		return "", python.Value{}, false
	}
	tool = body[i+len(middle):]
	if !syntax.IsIdentifier(tool) {
		return "", python.Value{}, false
	}
	args, err := syntax.ParseLiteral(body[:i])
	return tool, args, err == nil
}
