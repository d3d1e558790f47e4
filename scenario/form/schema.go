package form

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	"github.com/toolsandbox/toolsandbox/internal/measure"
	"github.com/toolsandbox/toolsandbox/internal/world"
)

// object is a JSON object.
type object map[string]any

// JSONSchema returns the JSON Schema (draft 2020-12) of a pack's files for editors, with the pack's
// tables and categories. The root describes files of scenarios and worlds. The definitions pack,
// schema, tools and recordings describe pack.yaml, schema.yaml, tools.yaml and recordings/*.yaml.
// The text is deterministic, indented, and ends with a newline.
func JSONSchema(schema *world.Schema, categories []string) ([]byte, error) {
	definitions := primitives(schema)
	for name, f := range forms(schema) {
		definitions[name] = f.schema()
	}
	definitions["category"]["enum"] = append(Categories(), categories...)
	definitions["row"] = anyOf(rowFormNames(schema))
	for name, members := range unions() {
		definitions[name] = anyOf(members)
	}
	definitions["scenarios"] = fieldSchema("{scenario}")
	definitions["scenarios"]["propertyNames"] = reference("name")
	definitions["tools"] = object{"type": "object", "additionalProperties": reference("toolText")}
	definitions["recordings"] = fieldSchema("[recording]")
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(object{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "ToolSandbox scenarios or world",
		"anyOf":   []object{reference("scenarios"), reference("world")},
		"$defs":   definitions,
	}); err != nil {
		return nil, fmt.Errorf("write schema: %w", err)
	}
	return out.Bytes(), nil
}

// unions are names for list items with several forms.
func unions() map[string][]string {
	return map[string][]string{
		"anyRecording": {"recording", "sharedRecording"},
		"anyCall":      {"call", "toolName"}, "anyOracleCall": {"oracleCall", "toolName"}, "anyWantedCall": {"wantedCall", "toolName"},
	}
}

func reference(name string) object { return object{"$ref": "#/$defs/" + name} }

func anyOf(names []string) object {
	var out []object
	for _, name := range names {
		out = append(out, fieldSchema(name))
	}
	return object{"anyOf": out}
}

// fieldSchema returns the schema of a field's type.
func fieldSchema(holds string) object {
	if inner, ok := mappingValue(holds); ok {
		return object{"type": "object", "additionalProperties": fieldSchema(inner)}
	}
	if parts := strings.Split(holds, "|"); len(parts) > 1 {
		return anyOf(parts)
	}
	if item, isList := strings.CutPrefix(holds, "["); isList {
		return object{"type": "array", "items": reference(strings.TrimSuffix(item, "]"))}
	}
	return reference(holds)
}

// schema returns the JSON Schema of a mapping.
func (f Form) schema() object {
	properties, required := object{}, []string{}
	for _, field := range f.fields {
		described := object{"description": field.doc}
		maps.Copy(described, fieldSchema(field.Type))
		properties[field.name] = described
		if field.required {
			required = append(required, field.name)
		}
	}
	out := object{"type": "object", "properties": properties, "additionalProperties": false}
	choices := f.choices()
	if len(f.replaceable) > 0 {
		choices = slices.DeleteFunc(choices, func(name string) bool { return name == ArgumentsKey || !slices.Contains(f.replaceable, name) })
		required = slices.DeleteFunc(required, func(name string) bool { return slices.Contains(f.replaceable, name) })
		out["additionalProperties"] = object{"type": "object"}
	}
	if len(required) > 0 {
		out["required"] = required
	}
	switch {
	case len(f.replaceable) > 0:
		// A field outside the form is a tool with its arguments.
		alternatives := []object{{"not": object{"propertyNames": object{"enum": f.Names()}}}}
		for _, name := range choices {
			alternatives = append(alternatives, object{"required": []string{name}})
		}
		out["oneOf"] = alternatives
		out["maxProperties"] = len(f.fields) - len(choices) + 1
	case f.exactlyOne:
		out["minProperties"], out["maxProperties"] = 1, 1
	}
	return out
}

func rowFormNames(schema *world.Schema) []string {
	var names []string
	for _, name := range Tables(schema) {
		names = append(names, rowPrefix+name)
	}
	return names
}

// primitives returns the definitions of types other than mappings with fixed fields.
func primitives(schema *world.Schema) map[string]object {
	const localTime = `^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?)?$`
	time := []object{{"type": "number"}, {"type": "string", "pattern": localTime}}
	amount := object{"type": "number", "minimum": 0}
	return map[string]object{
		"text": {"type": "string"}, "label": {"type": "string"}, "all": {"const": AllTools}, "nothing": {"type": "null"}, "toolName": {"type": "string", "pattern": toolName.String()}, "name": {"type": "string", "pattern": namePattern}, "version": {"type": "string", "pattern": versionPattern},
		"wholeNumber": {"type": "integer"}, "limit": {"type": "integer", "minimum": 1, "maximum": MaxTurns},
		"amount": amount, "similarity": {"type": "number", "minimum": 0, "maximum": 1},
		"order": {"type": "array", "items": object{"type": "integer", "minimum": 1}, "uniqueItems": true},
		"time":  {"anyOf": time}, "yes": {"const": true}, "object": {"type": "object"}, "anything": {},
		"textCell": {"type": []string{"string", "null"}}, "booleanCell": {"type": []string{"boolean", "null"}},
		"numberCell":   {"anyOf": append(slices.Clone(time), object{"type": "null"}, object{"const": NowText}, reference("expression"))},
		"tolerances":   {"type": "object", "additionalProperties": amount},
		"texts":        {"type": "object", "additionalProperties": object{"type": "string"}},
		"overrides":    {"type": "object", "additionalProperties": anyOf([]string{"columnMeasure", "override"})},
		"declaredName": {"type": "string", "pattern": declaredPattern}, "cellType": {"enum": CellTypes()}, "serverState": {"const": StateSession},
		"category": {"enum": Categories()}, "packCategory": {"type": "string", "pattern": categoryPattern},
		"augmentation": {"enum": Augmentations()},
		"role":         {"enum": world.RoleNames()}, "table": {"enum": Tables(schema)},
		"measure": builtInOrOwn(evaluation.BuiltInNames(measure.Rows)), "columnMeasure": builtInOrOwn(evaluation.BuiltInNames(measure.Cells)),
		"into": {"enum": []string{"content", "tool_trace"}},
	}
}

// builtInOrOwn accepts names of built-in measures, for completion in editors, and of a pack's
// measures.
func builtInOrOwn(names []string) object {
	return object{"anyOf": []object{{"enum": names}, {"type": "string", "pattern": declaredPattern}}}
}
