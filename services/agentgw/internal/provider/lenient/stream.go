package lenient

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// ErrStream means that a stream of events ended before its answer did.
var ErrStream = errors.New("the server streams, and its stream broke off")

// endOfStream is the data of the last event of chat completions.
const endOfStream = "[DONE]"

// events returns the data of a stream of server-sent events. ok is false for any other body. ended
// says that the stream has a mark of its end.
func events(body []byte) (list []json.RawMessage, ended, ok bool) {
	body = bytes.TrimSpace(body)
	if !slices.ContainsFunc([]string{"data:", "event:", "id:", "retry:", ":"}, func(field string) bool { return bytes.HasPrefix(body, []byte(field)) }) {
		return nil, false, false
	}
	var data []byte
	if !bytes.ContainsRune(body, '\n') {
		body = bytes.ReplaceAll(body, []byte("\r"), []byte("\n")) // the third end of lines that the standard knows
	}
	for line := range bytes.Lines(append(slices.Clip(body), "\n\n"...)) {
		line = bytes.TrimRight(line, "\r\n")
		if text, isData := bytes.CutPrefix(line, []byte("data:")); isData {
			data = append(data, text...)
			continue
		}
		if len(line) > 0 {
			continue
		}
		if data = bytes.TrimSpace(data); string(data) == endOfStream {
			ended = true
		} else if len(data) > 0 {
			list = append(list, data)
		}
		data = nil
	}
	return list, ended, true
}

// Join returns the body that a stream of events stands for. ended says that the stream has a mark
// of its end. The error wraps ErrStream if events are missing.
type Join func(events []json.RawMessage, ended bool) (any, error)

// joined returns the body of an answer: as it is, or joined from a stream.
func joined(body []byte, join Join) ([]byte, error) {
	list, ended, ok := events(body)
	if !ok {
		return body, nil
	}
	if n := values(body); n > maxValues*maxEvents {
		return nil, errTooMany(n, maxValues*maxEvents)
	}
	whole, err := join(list, ended)
	if err != nil {
		return nil, err
	}
	return json.Marshal(whole)
}

// Object decodes an event, or returns an empty object.
func Object(event json.RawMessage) map[string]any {
	var object map[string]any
	decoder := json.NewDecoder(bytes.NewReader(event))
	decoder.UseNumber()
	if decoder.Decode(&object) != nil {
		return map[string]any{}
	}
	return object
}

// At returns a value within objects, nil if there is none.
func At(value any, path ...string) any {
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

// whole are the fields that come whole in each piece, unlike texts, which continue.
var whole = []string{"id", "index", "type", "role", "name", "finish_reason", "object", "model", "format", "status"}

// Merge returns an object, which may be nil, with what a further piece of it adds: texts continue,
// elements of lists join those that they continue, and other values replace earlier ones.
func Merge(object, piece map[string]any) map[string]any {
	if object == nil {
		object = make(map[string]any, len(piece))
	}
	for name, added := range piece {
		before := object[name]
		switch value := added.(type) {
		case nil:
			if _, found := object[name]; !found {
				object[name] = nil
			}
		case string:
			text, _ := before.(string)
			if slices.Contains(whole, name) {
				text = ""
			}
			if value != "" || before == nil {
				object[name] = text + value
			}
		case map[string]any:
			inner, _ := before.(map[string]any)
			object[name] = Merge(inner, value)
		case []any:
			list, _ := before.([]any)
			object[name] = mergeList(list, value)
		default:
			object[name] = added
		}
	}
	return object
}

// reach is the number of last elements of a list of which a piece may continue one, so that a
// stream of many costs no more for each.
const reach = 100

// mergeList returns a list with the elements of a further piece of it.
func mergeList(list, piece []any) []any {
	for _, added := range piece {
		element, isObject := added.(map[string]any)
		if !isObject {
			list = append(list, added)
			continue
		}
		i, first := len(list)-1, max(len(list)-reach, 0)
		for i >= first && !continues(list[i], element, i == len(list)-1) {
			i--
		}
		if i < first {
			list = append(list, Merge(nil, element))
			continue
		}
		earlier, _ := list[i].(map[string]any)
		list[i] = Merge(earlier, element)
	}
	return list
}

// continues reports whether an element of a list is a further piece of an earlier one: it has the
// same index, or without an index the same id. A call with a name and an id of its own begins
// anew, because some servers give all calls one index. A choice or a piece of arguments without
// index and id continues the last element.
func continues(earlier any, piece map[string]any, last bool) bool {
	object, isObject := earlier.(map[string]any)
	name, index, id := scalar(At(piece, "function", "name")), scalar(piece["index"]), scalar(piece["id"])
	switch {
	case !isObject:
		return false
	case name != "" && id != "" && scalar(object["id"]) != "" && id != scalar(object["id"]):
		return false
	case index != "":
		return index == scalar(object["index"])
	case id != "":
		return id == scalar(object["id"])
	default:
		return last && name == "" && (piece["delta"] != nil || At(piece, "function", "arguments") != nil)
	}
}

// scalar returns a text or the digits of a number, "" for any other value.
func scalar(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	default:
		return ""
	}
}

// ErrorBody returns the body of the error that a streamed answer reports, or the body itself if
// there is none.
func ErrorBody(body []byte) []byte {
	list, _, _ := events(body)
	for _, event := range slices.Backward(list) {
		var fields struct{ Error, Response json.RawMessage }
		_ = json.Unmarshal(event, &fields) // an event of another form reports none
		switch {
		case Present(fields.Error):
			return event
		case Present(fields.Response):
			return fields.Response
		}
	}
	return body
}
