package python

import "strings"

const (
	parametersInfix = "_parameters = "
	responseInfix   = "_response = "

	// maxIDCandidates bounds how many places ParseCall tries as the end of the call id, for ids that hold the infix.
	maxIDCandidates = 16
)

// ComposeCall returns the three lines that run one tool call: the arguments, the call, the print of its result. The id
// becomes part of two names as it is, identifier or not. Arguments that are a str stand in the code as they are, without
// quotes, as in the original.
func ComposeCall(id, tool string, args Value) string {
	dst := make([]byte, 0, 128+5*len(id)+len(tool))
	dst = append(append(dst, id...), parametersInfix...)
	if args.kind == KindStr {
		dst = append(dst, args.text...)
	} else {
		dst = AppendRepr(dst, args)
	}
	dst = append(append(append(dst, '\n'), id...), responseInfix...)
	dst = append(append(dst, tool...), "(**"...)
	return string(append(dst, callTail(id)...))
}

// callTail is what follows the tool's name and the opening of its arguments.
func callTail(id string) string {
	return id + "_parameters)\nprint(repr(" + id + "_response))"
}

// ParseCall recognises exactly what ComposeCall returns for a tool whose name is an identifier and arguments that are a
// literal. The arguments need not be a dict, and may hold nan and inf: see NonFinite.
func ParseCall(source string) (id, tool string, args Value, ok bool) {
	for from, n := 0, 0; n < maxIDCandidates; n++ {
		i := strings.Index(source[from:], parametersInfix)
		if i < 0 {
			break
		}
		id = source[:from+i]
		from += i + len(parametersInfix)
		body, found := strings.CutSuffix(source[from:], callTail(id))
		if !found {
			continue
		}
		if tool, args, ok = parseBody(body, id); ok {
			return id, tool, args, true
		}
	}
	return "", "", Value{}, false
}

// parseBody reads what stands between the first infix and the tail: the literal, a line break, the call's beginning.
func parseBody(body, id string) (tool string, args Value, ok bool) {
	body, ok = strings.CutSuffix(body, "(**")
	if !ok {
		return "", Value{}, false
	}
	middle := "\n" + id + responseInfix
	i := strings.LastIndex(body, middle)
	if i < 0 {
		return "", Value{}, false
	}
	tool = body[i+len(middle):]
	if !isIdentifier(tool) {
		return "", Value{}, false
	}
	args, err := ParseLiteral(body[:i])
	return tool, args, err == nil
}
