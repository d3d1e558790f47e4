package google

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// noDescription replaces a missing description of an argument, which Vertex AI refuses.
const noDescription = "Not described."

// tools returns one set with all declarations. Without tools Vertex AI gets an empty set, as from
// the original. AI Studio refuses an empty set.
func (c Codec) tools(q *provider.Query) (provider.RawJSON, error) {
	if q.Tools == nil || len(q.Tools) == 0 && !c.Vertex {
		return nil, nil
	}
	if strict(q) {
		return q.EncodeTools("google, strict", func() ([]byte, error) { return encodeTools(q.Tools, true) })
	}
	return q.EncodeTools("google", func() ([]byte, error) { return encodeTools(q.Tools, false) })
}

func encodeTools(tools []*worldv1.Tool, strict bool) ([]byte, error) {
	set := tool{FunctionDeclarations: make([]functionDeclaration, len(tools))}
	for i, t := range tools {
		schema, err := python.ParseJSON(t.GetParametersJson())
		if err != nil {
			return nil, fmt.Errorf("parameters of tool %s: %w", t.GetName(), err)
		}
		set.FunctionDeclarations[i] = functionDeclaration{
			Name: t.GetName(), Description: oneLine(t.GetDescription()), Parameters: parameters(schema, strict),
		}
	}
	return json.Marshal([]tool{set})
}

func oneLine(text string) string { return strings.ReplaceAll(text, "\n", " ") }

// parameters translates the schema of a tool's arguments. It omits empty lists and objects.
// Google itself refuses a required argument without a property, so strict adds one. It also refuses
// an object without properties, so strict returns nil for a tool without arguments.
func parameters(schema python.Value, strict bool) json.RawMessage {
	object, _ := schema.AsDict()
	given, _ := object.Get("properties")
	properties, _ := given.AsDict()
	required, _ := object.Get("required")
	names, _ := required.AsList()
	named := &python.Dict{}
	for _, item := range properties.Items() {
		named.Set(item.Key, property(item.Value))
	}
	for _, name := range names {
		key, ok := name.AsStr()
		if _, there := named.Get(key); strict && ok && !there {
			named.Set(key, property(python.None()))
		}
	}
	if strict && named.Len() == 0 {
		return nil
	}
	translated := &python.Dict{}
	translated.Set("type", python.Str(typeObject))
	if named.Len() > 0 {
		translated.Set("properties", named.Value())
	}
	if len(names) > 0 {
		translated.Set("required", required)
	}
	return json.RawMessage(python.JSON(translated.Value()))
}

func property(schema python.Value) python.Value {
	object, _ := schema.AsDict()
	kind, description := typeObject, noDescription
	if v, ok := object.Get("type"); ok {
		if text, ok := v.AsStr(); ok {
			kind = strings.ToUpper(text)
		}
	}
	if v, ok := object.Get("description"); ok {
		if text, ok := v.AsStr(); ok && text != "" {
			description = oneLine(text)
		}
	}
	translated := &python.Dict{}
	if alternatives, _ := object.Get("anyOf"); alternatives.IsNone() {
		translated.Set("type", python.Str(kind))
	}
	translated.Set("description", python.Str(description))
	constrain(translated, object)
	return translated.Value()
}

// constrain adds the alternatives, the type of a list's items and the choices of a schema. Google
// takes choices of texts alone.
func constrain(translated, schema *python.Dict) {
	part := func(schema python.Value) python.Value {
		object, _ := schema.AsDict()
		out := &python.Dict{}
		if kind, ok := schema.Field("type").AsStr(); ok {
			out.Set("type", python.Str(strings.ToUpper(kind)))
		}
		constrain(out, object)
		return out.Value()
	}
	if items, ok := schema.Get("items"); ok && items.Kind() == python.KindDict {
		translated.Set("items", part(items))
	}
	list, _ := schema.Get("anyOf")
	alternatives, _ := list.AsList()
	var parts []python.Value
	for _, alternative := range alternatives {
		parts = append(parts, part(alternative))
	}
	if len(parts) > 0 {
		translated.Set("anyOf", python.List(parts...))
	}
	list, _ = schema.Get("enum")
	choices, _ := list.AsList()
	if len(choices) > 0 && !slices.ContainsFunc(choices, func(choice python.Value) bool { return choice.Kind() != python.KindStr }) {
		translated.Set("enum", list)
	}
}
