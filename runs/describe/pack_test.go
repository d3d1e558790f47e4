package describe_test

import (
	"testing"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/describe"
	"github.com/toolsandbox/toolsandbox/scenario/pack"
)

// TestToolSources describes a tool in Python and one of a server.
func TestToolSources(t *testing.T) {
	tool := func(module string) *toolhostv1.ToolInfo {
		return &toolhostv1.ToolInfo{
			Module: module, VisibleTo: []worldv1.Role{worldv1.Role_ROLE_AGENT}, Tool: &worldv1.Tool{ExecutionName: module + "_tool"},
		}
	}
	loaded := &pack.Pack{ToolServers: []*setupv1.ToolServer{{Name: "shop"}}}
	got := describe.OfPack(loaded, []*toolhostv1.ToolInfo{tool("desk"), tool("shop")}, nil).Tools
	if got[0].File != "tools/desk.py" || got[0].Server != "" {
		t.Errorf("a tool in Python: got file %q and server %q, want tools/desk.py and none", got[0].File, got[0].Server)
	}
	if got[1].File != "pack.yaml" || got[1].Server != "shop" {
		t.Errorf("a tool of a server: got file %q and server %q, want pack.yaml and shop", got[1].File, got[1].Server)
	}
}
