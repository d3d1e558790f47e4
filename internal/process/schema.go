package process

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/spf13/pflag"
)

// SettingsSchema returns the JSON Schema (draft 2020-12) of files for SetFromFile, for editors. The
// text is deterministic, indented, and ends with a newline.
func SettingsSchema(flags *pflag.FlagSet) ([]byte, error) {
	properties, alternative := object{}, object{
		nameKey: object{
			"type": "string", "pattern": fmt.Sprintf("^[A-Za-z0-9._-]{1,%d}$", maxAlternativeName), "description": "its part of the names of runs, and of their directories",
		},
	}
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden {
			return
		}
		_, isList := flag.Value.(pflag.SliceValue)
		properties[flag.Name] = describedSchema(flag, valueSchemas(flag))
		if !varies(flag) {
			return
		}
		alternative[flag.Name] = properties[flag.Name]
		if !isList {
			mapping := object{"allOf": []any{object{"$ref": "#/$defs/alternative"}, object{"required": []string{flag.Name}}}}
			list := object{"type": "array", "minItems": 1, "items": object{"anyOf": append(valueSchemas(flag), mapping)}}
			properties[flag.Name] = describedSchema(flag, append(valueSchemas(flag), list))
		}
	})
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(object{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "ToolSandbox settings or experiment",
		"type": "object", "properties": properties, "additionalProperties": false,
		"$defs": object{"alternative": object{"type": "object", "properties": alternative, "additionalProperties": false}, "value": object{"type": []string{"string", "number", "boolean"}}},
	})
	if err != nil {
		return nil, fmt.Errorf("write schema: %w", err)
	}
	return out.Bytes(), nil
}

// object is a JSON object.
type object map[string]any

// describedSchema returns the schema of a value that meets one of several.
func describedSchema(flag *pflag.Flag, schemas []any) object {
	_, description := pflag.UnquoteUsage(flag)
	schema := object{"description": description}
	if one, ok := schemas[0].(object); ok && len(schemas) == 1 {
		maps.Copy(schema, one)
	} else {
		schema["anyOf"] = schemas
	}
	return schema
}

// valueSchemas returns the schemas of which a flag's value in a file meets one.
func valueSchemas(flag *pflag.Flag) []any {
	value := object{"$ref": "#/$defs/value"}
	kind := flag.Value.Type()
	switch {
	case kind == "bool":
		return []any{object{"type": "boolean"}}
	case strings.HasSuffix(kind, "Slice"), strings.HasSuffix(kind, "Array"), repeatable(flag):
		return []any{value, object{"type": "array", "items": value}}
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		return []any{object{"type": "integer"}}
	case strings.HasPrefix(kind, "float"):
		return []any{object{"type": "number"}}
	}
	return []any{value}
}
