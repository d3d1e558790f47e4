package tool

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// TestUserTools checks that a user sees its tools without augmentations, in the catalogue's order.
func TestUserTools(t *testing.T) {
	catalogue := Builtin()
	names := func(tools []*worldv1.Tool) (list []string) {
		for _, tool := range tools {
			list = append(list, tool.GetName())
		}
		return list
	}
	text := "Replaced."
	scrambled := &setupv1.ToolSelection{
		Allow: []string{"search_contacts", "end_conversation"}, Deny: []string{"set_wifi_status"}, User: []string{"set_wifi_status", "add_contact"},
		Augmentations: []setupv1.Augmentation{
			setupv1.Augmentation_AUGMENTATION_ALL_TOOLS, setupv1.Augmentation_AUGMENTATION_TOOL_NAME_SCRAMBLED,
			setupv1.Augmentation_AUGMENTATION_TOOL_DESCRIPTION_SCRAMBLED, setupv1.Augmentation_AUGMENTATION_ARG_TYPE_SCRAMBLED,
			setupv1.Augmentation_AUGMENTATION_ARG_DESCRIPTION_SCRAMBLED,
		},
		Descriptions: []*setupv1.ToolDescription{{Tool: "set_wifi_status", Description: &text}},
	}
	selection, err := catalogue.Select(scrambled)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"add_contact", "set_wifi_status", "end_conversation"}, names(selection.User)); diff != "" {
		t.Errorf("the user's tools (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(catalogue.Find("set_wifi_status").WithoutAugmentations(), selection.User[1], protocmp.Transform()); diff != "" {
		t.Errorf("set_wifi_status as the user sees it (-want +got):\n%s", diff)
	}
	for _, shown := range selection.Agent {
		if shown.GetExecutionName() == "set_wifi_status" {
			t.Errorf("the agent sees %s, want it to be the user's alone", shown.GetExecutionName())
		}
	}
	without, err := catalogue.Select(&setupv1.ToolSelection{Allow: []string{"search_contacts", "end_conversation"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"end_conversation"}, names(without.User)); diff != "" {
		t.Errorf("the tools of a user without own ones (-want +got):\n%s", diff)
	}
	if _, err := catalogue.Select(&setupv1.ToolSelection{User: []string{"nope"}}); !errors.Is(err, ErrSelection) {
		t.Errorf("an unknown tool of the user: got %v, want %v", err, ErrSelection)
	}
}
