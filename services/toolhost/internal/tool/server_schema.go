package tool

import (
	"errors"
	"fmt"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/parameter"
	"github.com/toolsandbox/toolsandbox/python"
)

// maxParams is the maximum number of parameters of a server's tool.
const maxParams = 64

// schemaParams returns the parameters in a JSON Schema of arguments, and the definitions to which
// they refer. The tool host checks types that Python has, as for built-in tools. Only the server
// checks other types.
func schemaParams(schema python.Value) (params []Param, definitions []python.Item, err error) {
	top, ok := schema.AsDict()
	if !ok {
		return nil, nil, errors.New("parameters are no JSON Schema: expected an object")
	}
	if kind, _ := schema.Field("type").AsStr(); kind != "object" {
		return nil, nil, fmt.Errorf("the type of its parameters is %q, expected object", kind)
	}
	for _, item := range top.Items() {
		if item.Key == "$defs" || item.Key == "definitions" {
			definitions = append(definitions, item)
		}
	}
	declared := parameter.Of(schema)
	if len(declared) > maxParams {
		return nil, nil, fmt.Errorf("it has %d parameters, at most %d are taken", len(declared), maxParams)
	}
	for _, p := range declared {
		if !p.Declared {
			return nil, nil, fmt.Errorf("the required parameter %q is not among its properties", p.Name)
		}
		property, ok := p.Schema.AsDict()
		if !ok { // true, which accepts anything
			property = &python.Dict{}
		}
		param := Param{Name: p.Name, Description: p.Description, Optional: !p.Required, Property: property}
		fallback, hasDefault := property.Get("default")
		param.Type = schemaType(p.Schema, param.Optional && !hasDefault)
		if hasDefault {
			param.Optional, param.Default = true, fallback
		}
		params = append(params, param)
	}
	return params, definitions, nil
}

// schemaType returns the type of a property. One without a Python type accepts anything.
func schemaType(property python.Value, maybe bool) Type {
	kinds, nullable := alternativesOf(property)
	index := slices.IndexFunc(named(), func(a alternative) bool { return len(kinds) == 1 && schemaName(a.kind) == kinds[0] })
	if index < 0 {
		return Type{Annotation: "typing.Any", NotGiven: maybe, anything: true}
	}
	return typeOf(named()[index:index+1], nullable, maybe)
}

// alternativesOf returns the types of a property except null, and whether it may be null. kinds is
// empty for complex schemas.
func alternativesOf(property python.Value) (kinds []string, nullable bool) {
	choices, several := property.Field("anyOf").AsList()
	if !several {
		choices, several = property.Field("oneOf").AsList()
	}
	if !several {
		choices = []python.Value{property}
	}
	for _, choice := range choices {
		names := []python.Value{choice.Field("type")}
		if list, ok := names[0].AsList(); ok {
			names = list
		}
		for _, name := range names {
			switch text, _ := name.AsStr(); text {
			case "null":
				nullable = true
			default:
				kinds = append(kinds, text)
			}
		}
	}
	return kinds, nullable
}

// shownProperty returns a server's schema of a parameter without the scrambled parts.
func shownProperty(p *Param, s visibility) *python.Dict {
	out := &python.Dict{}
	for _, item := range p.Property.Items() {
		if described := item.Key == "description"; !described && s.argType || described && s.argDescription {
			out.Set(item.Key, item.Value)
		}
	}
	if p.Description != "" && s.argDescription {
		out.Set("description", python.Str(p.Description))
	}
	if s.argDescription {
		return out
	}
	plain, _ := undescribed(out.Value()).AsDict()
	return plain
}

// undescribed returns a schema without descriptions.
func undescribed(schema python.Value) python.Value {
	if list, ok := schema.AsList(); ok {
		plain := make([]python.Value, len(list))
		for i := range list {
			plain[i] = undescribed(list[i])
		}
		return python.List(plain...)
	}
	dict, ok := schema.AsDict()
	if !ok {
		return schema
	}
	out := &python.Dict{}
	for _, item := range dict.Items() {
		_, isText := item.Value.AsStr()
		if item.Key == "description" && isText {
			continue
		}
		out.Set(item.Key, undescribed(item.Value))
	}
	return out.Value()
}
