package toolserver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"buf.build/go/protovalidate"

	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// These are the fields of the body of an answer and of the parameters of a request.
const (
	FieldValue     = "value"
	FieldChanges   = "changes"
	FieldRaised    = "raised"
	FieldTable     = "table"
	FieldType      = "type"
	FieldText      = "text"
	FieldAdd       = "add"
	FieldUpdate    = "update"
	FieldRemove    = "remove"
	FieldColumn    = "column"
	FieldCell      = "value"
	FieldValues    = "values"
	FieldArguments = "arguments"
	FieldRows      = "rows"
	FieldNow       = "now"
	FieldIDs       = "ids"
)

// defaultException is the class of an exception whose server names none, as MCP servers do.
const defaultException = "RuntimeError"

// raisedBody returns the body for a call that raised an exception. An empty kind is
// defaultException.
func raisedBody(kind, text string) string {
	return python.JSON(python.DictOf(python.Item{Key: FieldRaised, Value: python.DictOf(
		python.Item{Key: FieldType, Value: python.Str(cmp.Or(kind, defaultException))}, python.Item{Key: FieldText, Value: python.Str(strings.ToValidUTF8(text, "\uFFFD"))},
	)}))
}

// valueBody returns the body for a call that returned a value.
func valueBody(value python.Value, changes []python.Value) string {
	body := python.DictOf(python.Item{Key: FieldValue, Value: value})
	if len(changes) > 0 {
		dict, _ := body.AsDict()
		dict.Set(FieldChanges, python.List(changes...))
	}
	return python.JSON(body)
}

// encodeResponse validates the response to a call of a tool and returns it as a body.
func encodeResponse(tool *toolsv1.Tool, response *toolsv1.CallResponse) (string, error) {
	if err := protovalidate.Validate(response); err != nil {
		return "", err
	}
	if raised := response.GetRaised(); raised != nil {
		if len(response.GetChanges()) > 0 {
			return "", fmt.Errorf("raises %s and changes rows: a call that raises changes nothing", raised.GetType())
		}
		return raisedBody(raised.GetType(), raised.GetText()), nil
	}
	value, err := jsonValue("value_json", response.GetValueJson())
	if err != nil {
		return "", err
	}
	var changes []python.Value
	for i, change := range response.GetChanges() {
		encoded, err := encodeChange(tool, change)
		if err != nil {
			return "", fmt.Errorf("changes[%d]: %w", i, err)
		}
		changes = append(changes, encoded)
	}
	return valueBody(value, changes), nil
}

// jsonValue parses a JSON text. It rejects NaN and infinite numbers.
func jsonValue(field, text string) (python.Value, error) {
	value, err := python.ParseJSON(text)
	if err != nil {
		return python.Value{}, fmt.Errorf("%s is no JSON: %.60q: %w", field, text, err)
	}
	if number, found := python.NonFinite(value); found {
		return python.Value{}, fmt.Errorf("%s holds %s, which is no number of JSON", field, number)
	}
	return value, nil
}

// encodeChange validates a change against the tool's declaration and returns it for a body.
func encodeChange(tool *toolsv1.Tool, change *toolsv1.Change) (python.Value, error) {
	out := python.DictOf(python.Item{Key: FieldTable, Value: python.Str(change.GetTable())})
	dict, _ := out.AsDict()
	at := slices.IndexFunc(tool.GetWrites(), func(r *toolsv1.Rows) bool { return r.GetTable() == change.GetTable() })
	if at < 0 {
		return out, fmt.Errorf("changes the table %q, which %s does not declare in writes", change.GetTable(), tool.GetName())
	}
	declared := tool.GetWrites()[at].GetColumns()
	values := func(field, text string) (python.Value, error) {
		value, err := jsonValue(field, text)
		if err != nil {
			return value, err
		}
		cells, ok := value.AsDict()
		if !ok {
			return value, fmt.Errorf("%s is no JSON object: %.60q", field, text)
		}
		for _, item := range cells.Items() {
			if len(declared) > 0 && !slices.Contains(declared, item.Key) {
				return value, fmt.Errorf("changes the column %q of %s, which %s does not declare in writes", item.Key, change.GetTable(), tool.GetName())
			}
		}
		return value, nil
	}
	where := func(w *toolsv1.Where) (python.Dict, error) {
		value, err := jsonValue("value_json", w.GetValueJson())
		encoded := python.Dict{}
		encoded.Set(FieldColumn, python.Str(w.GetColumn()))
		encoded.Set(FieldCell, value)
		return encoded, err
	}
	switch kind := change.GetKind().(type) {
	case *toolsv1.Change_AddJson:
		row, err := values("add_json", kind.AddJson)
		dict.Set(FieldAdd, row)
		return out, err
	case *toolsv1.Change_Update:
		encoded, err := where(kind.Update.GetWhere())
		if err != nil {
			return out, err
		}
		cells, err := values("values_json", kind.Update.GetValuesJson())
		encoded.Set(FieldValues, cells)
		dict.Set(FieldUpdate, encoded.Value())
		return out, err
	default:
		encoded, err := where(change.GetRemove())
		dict.Set(FieldRemove, encoded.Value())
		return out, err
	}
}

// checkTools validates the tools of a server. The error is ErrProtocol.
func checkTools(server string, tools []*toolsv1.Tool) error {
	if len(tools) == 0 {
		return fmt.Errorf("%w: %s: it has no tools", ErrProtocol, server)
	}
	if len(tools) > maxTools {
		return fmt.Errorf("%w: %s: it has %d tools, at most %d are taken", ErrProtocol, server, len(tools), maxTools)
	}
	seen := make(map[string]bool)
	for _, tool := range tools {
		if err := protovalidate.Validate(tool); err != nil {
			return fmt.Errorf("%w: %s: tool %.60q: %w", ErrProtocol, server, tool.GetName(), err)
		}
		if seen[tool.GetName()] {
			return fmt.Errorf("%w: %s: two tools are called %s", ErrProtocol, server, tool.GetName())
		}
		seen[tool.GetName()] = true
	}
	return nil
}
