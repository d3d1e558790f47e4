package catalogue

import (
	"fmt"
	"os"
	"os/exec"
	"slices"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/pack"
	"github.com/toolsandbox/toolsandbox/services/toolhost"
)

// CheckNeeds checks that this machine meets the needs of the loaded packs. The error is
// document.Errors.
func (c *Selection) CheckNeeds() error {
	var missing document.Errors
	for _, p := range c.LoadedPacks {
		missing = append(missing, unmetNeeds(p.Needs).WithPrefix(p.Path)...)
	}
	if len(missing) > 0 {
		return missing
	}
	return nil
}

// unmetNeeds returns a mistake for each need that this machine does not meet.
func unmetNeeds(needs []pack.Need) document.Errors {
	var missing document.Errors
	for _, need := range needs {
		reason := ""
		if need.Variable != "" && os.Getenv(need.Variable) == "" {
			reason = fmt.Sprintf("the environment variable %s is missing; set it", need.Variable)
		}
		if need.Command != "" {
			if _, err := exec.LookPath(need.Command); err != nil {
				reason = fmt.Sprintf("the program %s is not on the PATH; install it", need.Command)
			}
		}
		if reason != "" {
			missing = append(missing, &document.Error{File: need.File, Line: need.Line, Column: need.Column, Field: "needs", Reason: reason})
		}
	}
	return missing
}

// Tools returns the pack's tools, and those of them that need the user's consent.
func (p Pack) Tools() ([]*toolhostv1.ToolInfo, []*setupv1.ConsentTool) {
	if len(p.Modules)+len(p.ToolServers) == 0 {
		return nil, nil
	}
	setup := &setupv1.Setup{ToolModules: p.Modules, ToolServers: p.ToolServers, Schema: p.Tables}
	all, confirm, _ := toolhost.PackTools(setup) // a loaded pack is valid
	tools := slices.DeleteFunc(all, func(info *toolhostv1.ToolInfo) bool {
		return !slices.ContainsFunc(p.Modules, func(m *setupv1.ToolModule) bool { return m.GetName() == info.GetModule() }) &&
			!slices.ContainsFunc(p.ToolServers, func(s *setupv1.ToolServer) bool { return s.GetName() == info.GetModule() })
	})
	return tools, confirm
}
