package tool

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
)

// TestSelectDescriptions replaces texts of one tool, with and without scrambling. The catalogue's
// tool must not change.
func TestSelectDescriptions(t *testing.T) {
	catalogue := Builtin()
	selection := &setupv1.ToolSelection{
		Allow: []string{"set_wifi_status"},
		Descriptions: []*setupv1.ToolDescription{{
			Tool: "set_wifi_status", Description: proto.String("Radio."),
			Arguments: []*setupv1.ArgumentDescription{{Name: "on", Description: "Shall it be on?"}},
		}},
	}
	const parameters = `{"type": "object", "properties": {"on": {"type": "boolean", "description": "Shall it be on?"}}, "required": ["on"]}`
	selected, err := catalogue.Select(selection)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{selected.Agent[0].GetDescription(), selected.Agent[0].GetParametersJson()}
	if diff := cmp.Diff([]string{"Radio.", parameters}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	selection.Augmentations = []setupv1.Augmentation{setupv1.Augmentation_AUGMENTATION_TOOL_DESCRIPTION_SCRAMBLED}
	selected, err = catalogue.Select(selection)
	if err != nil {
		t.Fatal(err)
	}
	if got := selected.Agent[0].GetDescription(); got != "" {
		t.Errorf("scrambled: got description %q, want none", got)
	}
	if got, want := catalogue.Find("set_wifi_status").WithoutAugmentations(), Builtin().Find("set_wifi_status").WithoutAugmentations(); !proto.Equal(got, want) {
		t.Errorf("the catalogue's tool: got %v, want %v", got, want)
	}
	selection.Descriptions[0].Arguments[0].Name = "off"
	if _, err := catalogue.Select(selection); !errors.Is(err, ErrSelection) || !strings.Contains(err.Error(), `"off" of set_wifi_status`) {
		t.Errorf("description of an unknown argument: got %v, want ErrSelection that names it", err)
	}
	selection.Descriptions[0].Tool = "nothing"
	if _, err := catalogue.Select(selection); !errors.Is(err, ErrSelection) {
		t.Errorf("description of an unknown tool: got %v, want ErrSelection", err)
	}
}
