package pack

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// described returns options with descriptions of three tools.
func described(t *testing.T) scenario.Options {
	t.Helper()
	tool := func(name, parameters string, readOnly bool) *toolhostv1.ToolInfo {
		return &toolhostv1.ToolInfo{Tool: &worldv1.Tool{Name: name, ParametersJson: parameters}, ReadOnly: readOnly}
	}
	opts, err := scenario.OptionsFor([]*toolhostv1.ToolInfo{
		tool("set_wifi_status", `{"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]}`, false),
		tool("search_contacts", `{"properties": {"name": {"type": "string"}, "limit": {"type": "integer"}, "near": {"type": "number"}}}`, true),
		tool("end_conversation", `{"properties": {}}`, false),
	})
	if err != nil {
		t.Fatal(err)
	}
	return opts
}

func TestToolErrors(t *testing.T) {
	opts := described(t)
	calls := "{tool: set_wifi_status, arguments: {on: false}}"
	for _, c := range []struct{ name, old, replacement, want string }{
		{"fine", calls, calls, ""},
		{"unknown argument", calls, "{tool: set_wifi_status, arguments: {on: false, of: 1}}",
			`a.yaml:9:50: one.oracle[0].calls[0].arguments: set_wifi_status has no argument "of"; did you mean "on"?`},
		{"wrong type", calls, "{tool: set_wifi_status, arguments: {on: 'off'}}",
			`a.yaml:9:50: one.oracle[0].calls[0].arguments: argument on of set_wifi_status is "off", expected a boolean`},
		{"missing argument", calls, "{tool: set_wifi_status}",
			`a.yaml:9:15: one.oracle[0].calls[0]: set_wifi_status needs the argument "on"`},
		{"wanted call", "    says: Done.", "    call: {tool: set_wifi_status, arguments: {off: true}}",
			`a.yaml:16:13: one.milestones.told.call: set_wifi_status has no argument "off"; expected one of on`},
		{"wanted call with less", "    says: Done.", "    call: {tool: set_wifi_status}", ""},
		{"tolerance", "    says: Done.", "    call: [{search_contacts: {limit: 2}, tolerances: {limit: 1}}, {set_wifi_status: {}}]", ""},
		{"tolerances of two calls", "    says: Done.", "    call: [{search_contacts: {limit: 2}, tolerances: {limit: 1}}, {set_wifi_status: {}}, {search_contacts: {limit: 8, near: 1}, tolerances: {limit: 1, near: 2}}]", ""},
		{"two tolerances of an argument", "    says: Done.", "    call: [{search_contacts: {limit: 2}, tolerances: {limit: 1}}, {search_contacts: {limit: 8}, tolerances: {limit: 2}}]",
			"a.yaml:16:119: one.milestones.told.call[1].tolerances.limit: differs from the tolerance of another call of the list; they hold for all its calls"},
		{"tolerance of an unknown argument", "    says: Done.", "    call: {set_wifi_status: {on: false}, tolerances: {off: 1}}",
			`a.yaml:16:56: one.milestones.told.call.tolerances: has a tolerance for "off", which no wanted call has; expected one of on`},
		{"override beside a tolerance", "    says: Done.", "    call: {set_wifi_status: {on: false}, tolerances: {on: 1}}\n    overrides: {contnt: exact}",
			`a.yaml:17:19: one.milestones.told.overrides.contnt: sandbox has no column "contnt"; did you mean "content"?`},
		{"tool not given", "    says: Done.", "    call: {tool: search_contacts}",
			`a.yaml:16:13: one.milestones.told.call: cannot be reached: the agent may not call "search_contacts": it is not among the scenario's tools`},
		{"one of two given", "    says: Done.", "    call: [{tool: search_contacts}, {tool: set_wifi_status}]", ""},
		{"minefield of a variant", "    says: Done.", "    says: Done.\nminefields:\n  bad:\n    call: {tool: search_contacts, arguments: {limit: 2, near: 1.5}}", ""},
		{"fraction", "    says: Done.", "    says: Done.\nminefields:\n  bad:\n    call: {tool: search_contacts, arguments: {limit: 2.5}}",
			`a.yaml:19:13: one.minefields.bad.call: argument limit of search_contacts is 2.5, expected an integer`},
		{"minefield taken away", "    says: Done.", "    says: Done.\nwithout_tools: [search_contacts]\nminefields:\n  bad:\n    call: {tool: search_contacts}",
			`a.yaml:20:13: one.minefields.bad.call: cannot be reached: the agent may not call "search_contacts": without_tools lists it`},
		{"nothing said", "    says: Done.", "    says: ' '", "a.yaml:16:13: one.milestones.told.says: wants an empty text, which nobody says"},
		{"text without words", "    says: Done.", "    says: Готово!",
			`a.yaml:16:13: one.milestones.told.says: is "Готово!", which no text resembles by rouge_l: it compares words of the letters a to z and of digits; override it with contains or exact`},
		{"text without words, compared otherwise", "    says: Done.", "    says: Готово!\n    overrides: {content: contains}", ""},
		{"cell without words", "    says: Done.", "    snapshot: {contact: {relationship: Друг}}",
			`a.yaml:16:42: one.milestones.told.snapshot.contact.relationship: is "Друг", which no text resembles by rouge_l: it compares words of the letters a to z and of digits; override it with contains or exact`},
		{"nothing changes", "extra_tools: [set_wifi_status]", "extra_tools: [search_contacts]",
			"a.yaml:13:7: one.milestones.off: wants a change, but none of the scenario's tools changes anything"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := testScenario
			if c.name == "nothing changes" {
				text = edit(t, text, "{tool: set_wifi_status, arguments: {on: false}}", "{tool: search_contacts}")
				text = edit(t, text, "    table: setting", "    table: setting\n    measure: update\n    reference: start")
			}
			_, err := readPack(files(edit(t, text, c.old, c.replacement), testWorld), opts)
			if diff := cmp.Diff(c.want, errorText(err)); diff != "" {
				t.Errorf("mistakes (-want +got):\n%s", diff)
			}
			opts.AllowUnreachable = true
			defer func() { opts.AllowUnreachable = false }()
			if _, err := readPack(files(edit(t, text, c.old, c.replacement), testWorld), opts); strings.Contains(errorText(err), "cannot be reached") {
				t.Errorf("impossible targets accepted: got %v", err)
			}
		})
	}
}

func TestDescriptionErrors(t *testing.T) {
	s := loadOne(t, testScenario)
	s.Setup.Tools.Descriptions = []*setupv1.ToolDescription{
		{Tool: "set_wifi_status", Arguments: []*setupv1.ArgumentDescription{{Name: "off"}}}, {Tool: "set_wifi_status"}, {Tool: "nothing"},
	}
	want := []scenario.Problem{
		{Path: "setup.tools.descriptions[0].arguments[0]", Reason: `set_wifi_status has no argument "off"; expected one of on`},
		{Path: "setup.tools.descriptions[1]", Reason: "set_wifi_status is described twice"},
		{Path: "setup.tools.descriptions[2]", Reason: `unknown tool "nothing"; expected one of set_wifi_status, search_contacts, end_conversation`},
	}
	if diff := cmp.Diff(want, scenario.Validate(s, described(t))); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if _, err := scenario.OptionsFor([]*toolhostv1.ToolInfo{{Tool: &worldv1.Tool{Name: "a", ParametersJson: "["}}}); err == nil {
		t.Error("parameters that are no JSON: got no error")
	}
}
