package tool

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// schemaFile is schemas.json, which has only the lengths of descriptions.
type schemaFile struct {
	Augmentations map[string][]struct {
		Function struct {
			Name        string `json:"name"`
			Description struct {
				Chars int `json:"chars"`
			} `json:"description"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"augmentations"`
	ScrambledNames map[string]string `json:"scrambled_names"`
	ToolOrder      []string          `json:"tool_order"`
	Modules        map[string]string `json:"modules"`
}

func schemas(t *testing.T) schemaFile {
	t.Helper()
	raw, err := os.ReadFile(vectortest.Dir(t, "tools/schemas.json"))
	if err != nil {
		t.Fatalf("read schemas: %v", err)
	}
	var file schemaFile
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatalf("read schemas: %v", err)
	}
	return file
}

// shape is the comparable part of a tool's parameters, without texts.
type shape struct {
	Described  bool
	Type       string
	Properties []property
	Required   []string
}

type property struct {
	Name, Type string
	Described  bool
}

func shapeOf(t *testing.T, described bool, parameters []byte) shape {
	t.Helper()
	var schema struct {
		Type       string          `json:"type"`
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(parameters, &schema); err != nil {
		t.Fatalf("parameters %s: %v", parameters, err)
	}
	s := shape{Described: described, Type: schema.Type, Required: schema.Required}
	decoder := json.NewDecoder(strings.NewReader(string(schema.Properties)))
	if _, err := decoder.Token(); err != nil {
		t.Fatalf("properties %s: %v", schema.Properties, err)
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			t.Fatalf("properties %s: %v", schema.Properties, err)
		}
		var value struct {
			Type        string `json:"type"`
			Description any    `json:"description"`
		}
		if err := decoder.Decode(&value); err != nil {
			t.Fatalf("properties %s: %v", schema.Properties, err)
		}
		s.Properties = append(s.Properties, property{Name: name.(string), Type: value.Type, Described: value.Description != nil})
	}
	return s
}

// augmentations parses the vectors' names such as A+B.
func augmentations(t *testing.T, text string) []setupv1.Augmentation {
	t.Helper()
	switch text {
	case "plain":
		return nil
	case "ALL_COMBINED":
		text = "TOOL_NAME_SCRAMBLED+TOOL_DESCRIPTION_SCRAMBLED+ARG_DESCRIPTION_SCRAMBLED+ARG_TYPE_SCRAMBLED+ARG_NAME_SCRAMBLED"
	}
	var parsed []setupv1.Augmentation
	for _, name := range strings.Split(text, "+") {
		number, ok := setupv1.Augmentation_value["AUGMENTATION_"+name]
		if !ok {
			t.Fatalf("unknown augmentation %q", name)
		}
		if scrambled := setupv1.Augmentation(number); scrambled != setupv1.Augmentation_AUGMENTATION_ARG_NAME_SCRAMBLED { // no effect in the original
			parsed = append(parsed, scrambled)
		}
	}
	return parsed
}

func TestSchemas(t *testing.T) {
	file, catalogue := schemas(t), Builtin()
	for name, tools := range file.Augmentations {
		t.Run(name, func(t *testing.T) {
			selection, err := catalogue.Select(&setupv1.ToolSelection{Augmentations: augmentations(t, name)})
			if err != nil {
				t.Fatalf("Select: %v", err)
			}
			shown := make(map[string]*worldv1.Tool)
			for _, seen := range slices.Concat(selection.Agent, selection.User) {
				shown[seen.GetExecutionName()] = seen
			}
			for i, want := range tools {
				actual := file.ToolOrder[i]
				got := shown[actual]
				if got == nil {
					t.Errorf("%s: missing", actual)
					continue
				}
				wantShape := shapeOf(t, want.Function.Description.Chars > 0, want.Function.Parameters)
				if diff := cmp.Diff(wantShape, shapeOf(t, got.GetDescription() != "", []byte(got.GetParametersJson()))); diff != "" {
					t.Errorf("%s (-want +got):\n%s", actual, diff)
				}
			}
		})
	}
}

func TestCatalogueOrderAndModules(t *testing.T) {
	file, catalogue := schemas(t), Builtin()
	var got []string
	for _, declared := range catalogue.All() {
		got = append(got, declared.Name)
		if module := file.Modules[declared.Name]; module != declared.Module {
			t.Errorf("%s: got module %s, want %s", declared.Name, declared.Module, module)
		}
	}
	if diff := cmp.Diff(file.ToolOrder, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestComparison(t *testing.T) {
	tests := []struct {
		comparison   comparison
		cell, wanted python.Value
		want         bool
	}{
		{equalTo, python.Float(1), python.Bool(true), true},
		{atLeast, python.Float(1), python.Int(1), true},
		{atLeast, python.Float(0.5), python.Int(1), false},
		{atMost, python.Float(1), python.Float(1), true},
		{atMost, python.Float(1.5), python.Float(1), false},
		{atMost, python.Str("1"), python.Float(1), false},
	}
	for _, test := range tests {
		if got := test.comparison.holds(test.cell, test.wanted); got != test.want {
			t.Errorf("%d.holds(%s, %s): got %v, want %v", test.comparison, python.Repr(test.cell), python.Repr(test.wanted), got, test.want)
		}
	}
}

// original returns a catalogue of all the original's tools with only name and module.
func original(t *testing.T) *Catalogue {
	t.Helper()
	var tools []*Tool
	file := schemas(t)
	for _, name := range file.ToolOrder {
		tools = append(tools, &Tool{Name: name, Module: file.Modules[name], User: name == "end_conversation"})
	}
	return New(tools)
}

func TestScrambledNames(t *testing.T) {
	if diff := cmp.Diff(schemas(t).ScrambledNames, original(t).scrambled); diff != "" {
		t.Errorf("scrambled names (-want +got):\n%s", diff)
	}
}

func TestRank(t *testing.T) {
	catalogue, compared := original(t), 0
	vectortest.Lines(t, vectortest.Dir(t, "tools/distraction.jsonl"), func(line int, raw []byte) {
		var c struct {
			Tools     []string `json:"tools"`
			Ranking   []string `json:"ranking"`
			Exception string   `json:"exception"`
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		if c.Exception != "" {
			if _, err := catalogue.Select(&setupv1.ToolSelection{Allow: c.Tools}); err == nil {
				t.Errorf("line %d: Select(%q): got no error, want one for %s", line, c.Tools, c.Exception)
			}
			return
		}
		compared++
		if diff := cmp.Diff(c.Ranking, catalogue.rank(c.Tools)); diff != "" {
			t.Errorf("line %d: rank(%q) (-want +got):\n%s", line, c.Tools, diff)
		}
	})
	t.Logf("%d rankings compared", compared)
}

func TestSelectDistractions(t *testing.T) {
	three, ten := setupv1.Augmentation_AUGMENTATION_THREE_DISTRACTION_TOOLS, setupv1.Augmentation_AUGMENTATION_TEN_DISTRACTION_TOOLS
	all := setupv1.Augmentation_AUGMENTATION_ALL_TOOLS
	catalogue := original(t)
	tests := []struct {
		name          string
		augmentations []setupv1.Augmentation
		want          int
	}{
		{"none", nil, 1},
		{"three", []setupv1.Augmentation{three}, 4},
		{"ten", []setupv1.Augmentation{ten}, 11},
		{"the larger one", []setupv1.Augmentation{ten, three}, 11},
		{"all", []setupv1.Augmentation{all}, 33},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			selection, err := catalogue.Select(&setupv1.ToolSelection{
				Allow: []string{"set_wifi_status", "end_conversation"}, Augmentations: test.augmentations,
			})
			if err != nil {
				t.Fatalf("Select: %v", err)
			}
			if got := len(selection.Agent); got != test.want {
				t.Errorf("got %d tools for the agent, want %d", got, test.want)
			}
			if got := len(selection.User); got != 1 {
				t.Errorf("got %d tools for the user, want 1", got)
			}
		})
	}
}
