// Package parameter reads the parameters of tools from their JSON Schemas.
package parameter

import (
	"errors"
	"slices"

	"github.com/toolsandbox/toolsandbox/python"
)

// Parameter is one parameter of a tool.
type Parameter struct {
	Name string
	// Type is empty if there are several types, or any.
	Type, Description  string
	Required, Declared bool
	// Schema is the schema of the values, None unless Declared.
	Schema python.Value
}

// String returns the name, with a question mark if it is optional, and the type.
func (p Parameter) String() string {
	if p.Required {
		return p.Name + ": " + p.Type
	}
	return p.Name + "?: " + p.Type
}

// Read returns the parameters in the JSON text of a schema, as Of does. It fails if the text is no
// JSON object.
func Read(text string) ([]Parameter, error) {
	schema, err := python.ParseJSON(text)
	if err == nil && schema.Kind() != python.KindDict {
		err = errors.New("expected a JSON object")
	}
	return Of(schema), err
}

// Of returns the parameters in a schema of type object in the order of the properties, then those
// that the schema only requires. A required name that is no text counts as empty.
func Of(schema python.Value) []Parameter {
	var required []string
	names, _ := schema.Field("required").AsList()
	for _, name := range names {
		text, _ := name.AsStr()
		required = append(required, text)
	}
	var list []Parameter
	properties, _ := schema.Field("properties").AsDict()
	for _, property := range properties.Items() {
		p := Parameter{Name: property.Key, Required: slices.Contains(required, property.Key), Declared: true, Schema: property.Value}
		p.Type, _ = p.Schema.Field("type").AsStr()
		p.Description, _ = p.Schema.Field("description").AsStr()
		list = append(list, p)
	}
	for _, name := range required {
		if !slices.ContainsFunc(list, func(p Parameter) bool { return p.Name == name }) {
			list = append(list, Parameter{Name: name, Required: true})
		}
	}
	return list
}
