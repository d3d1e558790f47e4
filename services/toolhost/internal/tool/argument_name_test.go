package tool

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

func scrambledArguments(t *testing.T) *Selection {
	t.Helper()
	selection, err := Builtin().Select(&setupv1.ToolSelection{Augmentations: []setupv1.Augmentation{setupv1.Augmentation_AUGMENTATION_ARG_NAME_SCRAMBLED}})
	if err != nil {
		t.Fatal(err)
	}
	return selection
}

// TestScrambledArgumentsAreDescribed checks that descriptions stand in for the names: each argument
// has one, and none has the name of an argument that the agent does not see.
func TestScrambledArgumentsAreDescribed(t *testing.T) {
	for _, seen := range scrambledArguments(t).Agent {
		var schema struct {
			Properties map[string]struct{ Description string } `json:"properties"`
			Required   []string                                `json:"required"`
		}
		if err := json.Unmarshal([]byte(seen.GetParametersJson()), &schema); err != nil {
			t.Fatal(err)
		}
		names := argumentNames(seen.GetArgumentNames())
		if len(schema.Properties) != len(names) {
			t.Errorf("%s: got %d arguments and %d names, want as many", seen.GetName(), len(schema.Properties), len(names))
		}
		for _, name := range names {
			described := schema.Properties[names.shown(name)].Description
			if described == "" {
				t.Errorf("%s: %s (%s) has no description, which the agent needs", seen.GetName(), names.shown(name), name)
			}
			if texts := described + seen.GetDescription(); strings.Contains(name, "_") && strings.Contains(texts, name) {
				t.Errorf("%s: a description tells the name %s: %s", seen.GetName(), name, texts)
			}
		}
		for _, name := range schema.Required {
			if _, ok := schema.Properties[name]; !ok {
				t.Errorf("%s: required argument %s: got no property", seen.GetName(), name)
			}
		}
	}
}

// TestScrambledArguments calls a tool by scrambled names. Its trace has the real ones, and its
// exceptions tell none.
func TestScrambledArguments(t *testing.T) {
	catalogue, selection := Builtin(), scrambledArguments(t)
	add := selection.Tool(catalogue, "add_contact", worldv1.Role_ROLE_AGENT)
	for arguments, want := range map[string]string{
		`{"arg_1": "Ann", "arg_2": "+12453344098"}`:             `{"name": "Ann", "phone_number": "+12453344098", "relationship": null, "is_self": false}`,
		`{"name": "Ann", "phone_number": "+12453344098"}`:       "TypeError: missing a required argument: 'arg_1'",
		`{"arg_1": "Ann", "arg_2": "1", "name": "Bob"}`:         "TypeError: got an unexpected keyword argument 'name'",
		`{"arg_1": "Ann", "arg_2": 5}`:                          "TypeError: Parameter 'arg_2' is of type '<class 'int'>', but expected '<class 'str'>'.",
		`{"arg_1": "Ann", "arg_2": "+12453344098", "arg_0": 1}`: "TypeError: Parameter 'arg_0' is of type '<class 'int'>', but expected '<class 'bool'>'.",
	} {
		value, err := python.ParseJSON(arguments)
		if err != nil {
			t.Fatal(err)
		}
		bound, err := add.BindMapping(value)
		if err == nil {
			err = add.CheckArgs(bound)
		}
		var got string
		if err != nil {
			got = err.Error()
		} else {
			got = python.JSON(bound.Trace())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", arguments, diff)
		}
	}
	if own := selection.Tool(catalogue, "end_conversation", worldv1.Role_ROLE_USER); own.argumentNames != nil {
		t.Error("the user's tool: got scrambled arguments, want none")
	}
}
