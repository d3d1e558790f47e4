package tool

import (
	"errors"
	"fmt"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// maxParams bounds the parameters of a tool of a server.
const maxParams = 64

// schemaParams returns the parameters that a JSON Schema of arguments declares, and the definitions
// that they refer to. Types that Python has are checked as those of built-in tools; of others only
// the server knows what fits.
func schemaParams(schema python.Value) (params []Param, definitions []python.Item, err error) {
	top, ok := schema.AsDict()
	if !ok {
		return nil, nil, errors.New("parameters are no JSON Schema: expected an object")
	}
	if kind, _ := member(schema, "type").AsStr(); kind != "object" {
		return nil, nil, fmt.Errorf("the type of its parameters is %q, expected object", kind)
	}
	for _, item := range top.Items() {
		if item.Key == "$defs" || item.Key == "definitions" {
			definitions = append(definitions, item)
		}
	}
	var required []string
	list, _ := member(schema, "required").AsList()
	for _, name := range list {
		text, _ := name.AsStr()
		required = append(required, text)
	}
	properties, _ := member(schema, "properties").AsDict()
	for _, item := range properties.Items() {
		property, ok := item.Value.AsDict()
		if !ok { // true, which takes anything
			property = &python.Dict{}
		}
		param := Param{Name: item.Key, Optional: !slices.Contains(required, item.Key), Property: property}
		param.Description, _ = member(item.Value, "description").AsStr()
		fallback, hasDefault := property.Get("default")
		param.Type = schemaType(item.Value, param.Optional && !hasDefault)
		if hasDefault {
			param.Optional, param.Default = true, fallback
		}
		params = append(params, param)
	}
	if len(params) > maxParams {
		return nil, nil, fmt.Errorf("it has %d parameters, at most %d are taken", len(params), maxParams)
	}
	for _, name := range required {
		if !slices.ContainsFunc(params, func(p Param) bool { return p.Name == name }) {
			return nil, nil, fmt.Errorf("the required parameter %q is not among its properties", name)
		}
	}
	return params, definitions, nil
}

// schemaType returns the type of a property; one that stands for no type of Python takes anything.
func schemaType(property python.Value, maybe bool) Type {
	kinds, nullable, items := alternativesOf(property)
	of := slices.IndexFunc(named(), func(c class) bool { return len(kinds) == 1 && c.schema == kinds[0] })
	if of < 0 {
		return Type{Annotation: "typing.Any", NotGiven: maybe, anything: true}
	}
	c := named()[of]
	c.items = items
	classes := []class{c}
	return typeOf(classes, nullable, maybe)
}

// alternativesOf returns the types that a property may have but for null, whether it may be null,
// and the type of a list's items. Without a plain answer there are no kinds.
func alternativesOf(property python.Value) (kinds []string, nullable bool, items string) {
	choices, several := member(property, "anyOf").AsList()
	if !several {
		choices, several = member(property, "oneOf").AsList()
	}
	if !several {
		choices = []python.Value{property}
	}
	for _, choice := range choices {
		names := []python.Value{member(choice, "type")}
		if list, ok := names[0].AsList(); ok {
			names = list
		}
		for _, name := range names {
			switch text, _ := name.AsStr(); text {
			case "null":
				nullable = true
			default:
				kinds = append(kinds, text)
				items, _ = member(member(choice, "items"), "type").AsStr()
			}
		}
	}
	return kinds, nullable, items
}

// shownProperty returns the schema of a parameter as a server states it, without what is scrambled.
func shownProperty(p *Param, s show) *python.Dict {
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

// undescribed returns a schema without the descriptions in it.
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
