package scenario

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/world"
)

// object is a JSON object of the schema.
type object map[string]any

// JSONSchema returns the JSON Schema (draft 2020-12) of the files that Load reads, for editors,
// with the tables and the categories of a pack. A file of scenarios or a world fits the whole;
// pack.yaml, schema.yaml, tools.yaml, measures.yaml and recordings/*.yaml fit the definitions pack,
// schema, tools, measures and recordings. The text is always the same, indented, and ends with a
// newline.
func JSONSchema(schema *world.Schema, categories []string) ([]byte, error) {
	definitions := primitives(schema)
	for name, f := range forms(schema) {
		definitions[name] = f.schema()
	}
	definitions["category"]["enum"] = append(AuthorCategories(), categories...)
	definitions["row"] = anyOf(rowFormNames(schema))
	for name, members := range unions() {
		definitions[name] = anyOf(members)
	}
	definitions["scenarios"] = holding("{scenario}")
	definitions["scenarios"]["propertyNames"] = reference("name")
	definitions["tools"] = object{"type": "object", "additionalProperties": reference("toolText")}
	definitions["measures"] = object{"type": "object", "additionalProperties": reference("ownMeasure")}
	definitions["recordings"] = holding("[recording]")
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

// unions are names for items of a list that have several forms.
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
		out = append(out, holding(name))
	}
	return object{"anyOf": out}
}

// holding returns the schema of what a field holds.
func holding(holds string) object {
	if inner, ok := byName(holds); ok {
		return object{"type": "object", "additionalProperties": holding(inner)}
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
func (f form) schema() object {
	properties, required := object{}, []string{}
	for _, field := range f.fields {
		described := object{"description": field.doc}
		maps.Copy(described, holding(field.holds))
		properties[field.name] = described
		if field.required {
			required = append(required, field.name)
		}
	}
	out := object{"type": "object", "properties": properties, "additionalProperties": false}
	choices := f.choices()
	if len(f.instead) > 0 {
		choices = slices.DeleteFunc(choices, func(name string) bool { return name == argumentsKey || !slices.Contains(f.instead, name) })
		required = slices.DeleteFunc(required, func(name string) bool { return slices.Contains(f.instead, name) })
		out["additionalProperties"] = object{"type": "object"}
	}
	if len(required) > 0 {
		out["required"] = required
	}
	switch {
	case len(f.instead) > 0:
		// A field that is none of the form is a tool with its arguments.
		alternatives := []object{{"not": object{"propertyNames": object{"enum": f.names()}}}}
		for _, name := range choices {
			alternatives = append(alternatives, object{"required": []string{name}})
		}
		out["oneOf"] = alternatives
		out["maxProperties"] = len(f.fields) - len(choices) + 1
	case f.one:
		out["minProperties"], out["maxProperties"] = 1, 1
	}
	return out
}

func rowFormNames(schema *world.Schema) []string {
	var names []string
	for _, name := range tableNames(schema) {
		names = append(names, rowPrefix+name)
	}
	return names
}

// primitives returns the definitions that are no mappings with named fields.
func primitives(schema *world.Schema) map[string]object {
	const localTime = `^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?)?$`
	time := []object{{"type": "number"}, {"type": "string", "pattern": localTime}}
	amount := object{"type": "number", "minimum": 0}
	return map[string]object{
		"text": {"type": "string"}, "label": {"type": "string"}, "all": {"const": allTools}, "nothing": {"type": "null"}, "toolName": {"type": "string", "pattern": toolName.String()}, "name": {"type": "string", "pattern": namePattern}, "version": {"type": "string", "pattern": versionPattern},
		"wholeNumber": {"type": "integer"}, "limit": {"type": "integer", "minimum": 1, "maximum": maxTurns},
		"amount": amount, "similarity": {"type": "number", "minimum": 0, "maximum": 1},
		"order": {"type": "array", "items": object{"type": "integer", "minimum": 1}, "uniqueItems": true},
		"time":  {"anyOf": time}, "yes": {"const": true}, "object": {"type": "object"}, "anything": {},
		"textCell": {"type": []string{"string", "null"}}, "booleanCell": {"type": []string{"boolean", "null"}},
		"numberCell":   {"anyOf": append(slices.Clone(time), object{"type": "null"}, object{"const": nowText}, reference("expression"))},
		"tolerances":   {"type": "object", "additionalProperties": amount},
		"texts":        {"type": "object", "additionalProperties": object{"type": "string"}},
		"overrides":    {"type": "object", "additionalProperties": anyOf([]string{"columnMeasure", "override"})},
		"declaredName": {"type": "string", "pattern": declaredPattern}, "cellType": {"enum": cellTypes()}, "serverState": {"const": stateSession},
		"category": {"enum": AuthorCategories()}, "ownCategory": {"type": "string", "pattern": categoryPattern},
		"augmentation": {"enum": augmentationNames()},
		"role":         {"enum": roleNames()}, "table": {"enum": tableNames(schema)},
		"measure": orOwn(builtInNames(OfRows)), "columnMeasure": orOwn(builtInNames(OfCells)),
		"into": {"enum": []string{"content", "tool_trace"}},
	}
}

// orOwn accepts names of built-in measures, which editors offer, and those of a pack's own.
func orOwn(names []string) object {
	return object{"anyOf": []object{{"enum": names}, {"type": "string", "pattern": declaredPattern}}}
}

// measureNames returns how authors write the measures of an enumeration, in alphabetical order.
func measureNames(prefix string, numbers map[string]int32) []string {
	var names []string
	for name, number := range numbers {
		if number != 0 && name != prefix+ownMeasure {
			names = append(names, measureName(prefix, name))
		}
	}
	return sorted(names)
}

// measureName returns how authors write a measure, from its name in an enumeration.
func measureName(prefix, name string) string {
	text := strings.ToLower(strings.TrimPrefix(name, prefix))
	return cmp.Or(formerValues("measure")[text], text)
}

// formerValues returns what the values of a primitive of the schema were called before, with their
// names now.
func formerValues(primitive string) map[string]string {
	switch primitive {
	case "measure":
		return map[string]string{"tool_trace_dependant": "derived"}
	case "table":
		former := make(map[string]string)
		for _, schema := range world.Builtin().Tables() {
			former[schema.Name] = world.AuthorText(schema.Name)
		}
		return former
	default:
		return nil
	}
}
