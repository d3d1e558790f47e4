package turn

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

const (
	// noArguments are the arguments of a call without any.
	noArguments = "{}"
	// blanks are those of JSON; stray are what some servers leave behind an object.
	blanks = " \t\r\n"
	stray  = blanks + `"'` + "`"
	// maxQuoted bounds how often arguments may be quoted as a JSON text.
	maxQuoted = 4
)

// object returns the arguments that a role meant as JSON text and as its value: an object, or the
// text as it is if it means none. Blanks and an empty text mean an empty object. An object may be
// quoted as a JSON text, also several times, and quotes and blanks may follow it. A quoted dict of
// Python stays as it is, because the environment takes it for the dict, as the original does.
func object(text string) (string, python.Value, error) {
	meant := text
	for level := range maxQuoted {
		meant = strings.Trim(meant, blanks)
		if meant == "" {
			return parsed(noArguments)
		}
		value, err := python.ParseJSON(meant)
		if err != nil {
			break
		}
		if _, isObject := value.AsDict(); isObject {
			return meant, value, nil
		}
		quoted, isText := value.AsStr()
		if !isText || level == 0 && isDict(quoted) {
			return parsed(text)
		}
		meant = quoted
	}
	if first, ok := leadingObject(meant); ok {
		return parsed(first)
	}
	return parsed(text)
}

func parsed(text string) (string, python.Value, error) {
	value, err := python.ParseJSON(text)
	return text, value, err
}

// isDict reports whether a text is a dict of Python.
func isDict(text string) bool {
	value, err := syntax.ParseLiteral(strings.Trim(text, blanks))
	_, ok := value.AsDict()
	return ok && err == nil
}

// leadingObject returns the object that a text begins with, if only stray quotes and blanks follow.
func leadingObject(text string) (object string, ok bool) {
	if !strings.HasPrefix(text, "{") {
		return "", false
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	var first json.RawMessage
	if err := decoder.Decode(&first); err != nil {
		return "", false
	}
	return string(first), strings.Trim(text[decoder.InputOffset():], stray) == ""
}

// shownArguments returns the arguments of a call with the names that the role sees. A call of a
// tool by its real name, as in a script, has the real ones.
func (t *Tools) shownArguments(call Call) string {
	names := t.byExecution[call.Tool].GetArgumentNames()
	if call.Tool == "" || len(names) == 0 {
		return call.Arguments
	}
	value, err := python.ParseJSON(call.Arguments)
	given, ok := value.AsDict()
	if err != nil || !ok {
		return call.Arguments
	}
	shown := &python.Dict{}
	for _, item := range given.Items() {
		if n := slices.Index(names, item.Key); n >= 0 {
			item.Key = "arg_" + strconv.Itoa(n)
		}
		shown.Set(item.Key, item.Value)
	}
	return python.JSON(shown.Value())
}
