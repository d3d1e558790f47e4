package euroeval

import (
	"fmt"
	"regexp"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// schemaTypes maps BFCL's type names to those of JSON Schema. BFCL's functions of Java and
// JavaScript use the types of those languages. An unlisted type allows any value.
var schemaTypes = map[string]string{
	"string": "string", "integer": "integer", "number": "number", "boolean": "boolean", "array": "array", "object": "object", "null": "null",
	"dict": "object", "float": "number", "tuple": "array", "list": "array",
	"String": "string", "char": "string", "byte": "integer", "short": "integer", "long": "integer", "int": "integer", "double": "number",
	"Boolean": "boolean", "Bigint": "integer", "Array": "array", "ArrayList": "array", "HashMap": "object", "Hashtable": "object",
}

// invalidNameChar matches characters that providers reject in tool names.
var invalidNameChar = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// tools converts functions to tools for agents that are not models. Arguments get a JSON Schema.
// Names get unique forms of letters, digits, _ and -.
func tools(functions python.Value) []*worldv1.Tool {
	list, _ := functions.AsList()
	described := make([]*worldv1.Tool, len(list))
	taken := make(map[string]bool, len(list))
	for i, function := range list {
		name := function.Field("name")
		text, _ := function.Field("description").AsStr()
		validName := invalidNameChar.ReplaceAllString(python.Text(name), "_")
		for base, n := validName, 2; taken[validName]; n++ {
			validName = fmt.Sprintf("%s_%d", base, n)
		}
		taken[validName] = true
		described[i] = &worldv1.Tool{
			Name: validName, ExecutionName: python.Text(name), Description: text,
			ParametersJson: python.JSON(parametersSchema(function)),
		}
	}
	return described
}

// parametersSchema returns the JSON Schema of a function's arguments, of type object.
func parametersSchema(function python.Value) python.Value {
	schema, _ := jsonSchema(function.Field("parameters")).AsDict()
	full := &python.Dict{}
	full.Set("type", python.Str("object"))
	if _, exists := schema.Get("properties"); !exists {
		full.Set("properties", python.DictOf())
	}
	for _, item := range schema.Items() {
		if item.Key != "type" {
			full.Set(item.Key, item.Value)
		}
	}
	return full.Value()
}

// jsonSchema converts the types of a BFCL schema to JSON Schema's.
func jsonSchema(schema python.Value) python.Value {
	fields, ok := schema.AsDict()
	if !ok {
		return schema
	}
	translated := &python.Dict{}
	for _, item := range fields.Items() {
		switch item.Key {
		case "type":
			if name, known := schemaTypes[python.Text(item.Value)]; known {
				translated.Set("type", python.Str(name))
			}
		case "items", "additionalProperties":
			translated.Set(item.Key, jsonSchema(item.Value))
		case "properties":
			properties := &python.Dict{}
			named, _ := item.Value.AsDict()
			for _, property := range named.Items() {
				properties.Set(property.Key, jsonSchema(property.Value))
			}
			translated.Set("properties", properties.Value())
		default:
			translated.Set(item.Key, item.Value)
		}
	}
	return translated.Value()
}
