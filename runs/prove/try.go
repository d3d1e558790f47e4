package prove

import (
	"context"
	"fmt"
	"path"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
)

// ToolFault is a defect of a tool in Python that a call with made-up arguments showed.
type ToolFault struct {
	// Position is file, line and column of the statement that failed.
	Position string `json:"position"`
	// Tool is the name of the tool.
	Tool string `json:"tool"`
	// Reason is what is wrong, with the call.
	Reason string `json:"reason"`
}

// TryTools calls each tool in Python of the pack at a path with made-up arguments, in copies of the
// starting world of a setup. No rollout sees them.
func TryTools(ctx context.Context, services Services, pack string, setup *setupv1.Setup) ([]*ToolFault, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	tried, err := toolhostv1.NewToolHostServiceClient(services.ToolHost("")).TryTools(ctx, &toolhostv1.TryToolsRequest{Setup: setup})
	if err != nil {
		return nil, fmt.Errorf("try the tools of %s: %w", pack, err)
	}
	var faults []*ToolFault
	for _, f := range tried.GetFaults() {
		position := fmt.Sprintf("%s:%d:%d", path.Join(pack, f.GetFile()), f.GetLine(), f.GetColumn())
		faults = append(faults, &ToolFault{Position: position, Tool: f.GetTool(), Reason: f.GetReason()})
	}
	return faults, nil
}

// String returns the line of a report.
func (f *ToolFault) String() string {
	return fmt.Sprintf("FAIL  %s: %s: %s", f.Position, f.Tool, f.Reason)
}
