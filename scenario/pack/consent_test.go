package pack

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/world"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// consentScenario removes two contacts and adds one, and its user has hands.
const consentScenario = `world: base
clock: {step: 60}
categories: [MULTIPLE_TOOL_CALL]
max_messages: 20
user:
  goal: Have both removed and Eve added.
  tools: [set_wifi_status]
  says: Tidy up!
  script:
    - say: Bob and Cid.
    - set_wifi_status: {on: true}
    - say: It is on.
oracle:
  - say: Whom?
  - add_contact: {name: Eve, phone_number: "+493023125001"}
  - calls: [{remove_contact: {person_id: b}}, {remove_contact: {person_id: c}}]
  - say: Can you switch wifi on?
  - add_contact: {name: Fay, phone_number: "+493023125002"}
  - say: Done.
orders: [[1, 3, 2, 4, 5, 6], [1, 2, 4, 3, 5, 6]]
milestones:
  added: {addition: {contact: {name: Eve}}}
`

const (
	// goalTitle starts the user's goal in its instructions.
	goalTitle = "\nWhat you want: "
	// allowText is the paragraph of the instructions about consent.
	allowText = "- For some things the assistant needs your permission and asks you for it. Where that serves what you want, call " +
		"allow_action with what it asked for, then tell it to go ahead. Where it does not, say no. Allow nothing that you were not asked for.\n"
)

// consentOptions describes two tools. The other tools are known by name only.
func consentOptions() scenario.Options {
	opts, err := scenario.OptionsFor([]*toolhostv1.ToolInfo{
		{Tool: &worldv1.Tool{Name: "remove_contact", ParametersJson: `{"properties": {"person_id": {"type": "string"}}}`}},
		{Tool: &worldv1.Tool{Name: world.AllowTool, ParametersJson: `{"properties": {"action": {"type": "string"}, "scope": {"type": "string"}, ` +
			`"minutes": {"type": "number"}, "arguments": {"type": "object"}}}`}},
	})
	if err != nil {
		panic(err)
	}
	opts.Tools = append(testOptions().Tools, opts.Tools...)
	opts.Known = func(tool string) bool { return slices.Contains(opts.Tools, tool) }
	opts.ConsentTools = []*setupv1.ConsentTool{
		{Tool: "remove_contact", Action: "remove a contact"}, {Tool: "add_contact", Action: "add a contact"},
	}
	return opts
}

func loadConsent(t *testing.T, text string) *scenariov1.Scenario {
	t.Helper()
	loaded, err := readPack(files(text, testWorld), consentOptions())
	if err != nil {
		t.Fatal(err)
	}
	return loaded[0].Scenario
}

// variantOf returns the variant of a scenario in which tools need consent; nil if there is none.
func variantOf(s *scenariov1.Scenario) *scenariov1.Scenario {
	for _, e := range scenario.Expand([]*scenariov1.Scenario{s}, consentOptions().ConsentTools) {
		if e.Suffix == scenario.ConfirmationSuffix {
			return e.Scenario()
		}
	}
	return nil
}

// said returns a script in short: texts, and tools with their arguments.
func said(script []*worldv1.ScriptTurn) (list []string) {
	for _, turn := range script {
		text := turn.GetSay()
		for _, call := range turn.GetCalls() {
			text += "<" + call.GetTool() + " " + call.GetArgumentsJson() + ">"
		}
		list = append(list, text)
	}
	return list
}

// TestConfirmation makes the variant of a scenario that has all that the variant has to look after:
// several questions, batches, a user with scripts and hands, orders and a clock that moves.
func TestConfirmation(t *testing.T) {
	base := loadConsent(t, consentScenario)
	before := proto.CloneOf(base)
	made := variantOf(base)
	if diff := cmp.Diff(before, base, protocmp.Transform()); diff != "" {
		t.Errorf("the base scenario was changed (-before +after):\n%s", diff)
	}
	if problems := scenario.Validate(made, consentOptions()); problems != nil {
		t.Errorf("got %v, want no problem", problems)
	}
	setup := made.GetSetup()
	const removals = `<allow_action {"action": "remove a contact", "minutes": 32, "arguments": {"person_id": "b"}}>` +
		`<allow_action {"action": "remove a contact", "minutes": 32, "arguments": {"person_id": "c"}}>`
	for what, lists := range map[string][2][]string{
		"the oracle": {{
			"Whom?", "May I add a contact?", `<add_contact {"name": "Eve", "phone_number": "+493023125001"}>`, "May I remove a contact?",
			`<remove_contact {"person_id": "b"}><remove_contact {"person_id": "c"}>`, "Can you switch wifi on?",
			`<add_contact {"name": "Fay", "phone_number": "+493023125002"}>`, "Done.",
		}, said(setup.GetOracleScript())},
		"the user": {{
			"Bob and Cid.", `<allow_action {"action": "add a contact", "minutes": 32, "arguments": {"name": "Eve", "phone_number": "+493023125001"}}>` +
				`<allow_action {"action": "add a contact", "minutes": 32, "arguments": {"name": "Fay", "phone_number": "+493023125002"}}>`, "Yes, you may.",
			removals, "Yes, you may.",
			`<set_wifi_status {"on": true}>`, "It is on.", "<end_conversation {}>",
		}, said(setup.GetUserScript())},
		"categories":               {{"MULTIPLE_TOOL_CALL", "MULTIPLE_USER_TURN", "NO_DISTRACTION_TOOLS", "CONFIRMATION"}, setup.GetCategories()},
		"the user's checked tools": {{"set_wifi_status", world.AllowTool}, made.GetEvaluation().GetUser().GetTools()},
	} {
		if diff := cmp.Diff(lists[0], lists[1]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	if setup.GetMaxMessages() != 32 {
		t.Errorf("limit: got %d, want 20, 2 for each of two questions and 2 for each of four consents", setup.GetMaxMessages())
	}
	if got := made.GetProof().GetOrders(); len(got) != 0 {
		t.Errorf("orders: got %v, want none: in both the user would have to answer in another order", got)
	}
	if diff := cmp.Diff(consentOptions().ConsentTools, setup.GetConsentTools(), protocmp.Transform()); diff != "" {
		t.Errorf("what needs consent (-want +got):\n%s", diff)
	}
	for _, m := range setup.GetMessages() {
		if m.GetRecipient() == worldv1.Role_ROLE_USER && strings.Count(m.GetText(), allowText+goalTitle) != 1 {
			t.Errorf("what the user is told: got %q, want %q in it before the goal", m.GetText(), allowText)
		}
	}
	for _, node := range made.GetEvaluation().GetMilestones().GetNodes() {
		if !slices.Contains(node.GetUnguardedTables(), world.Consent) {
			t.Errorf("%s: got %v, want consents unguarded", node.GetName(), node.GetUnguardedTables())
		}
	}
}

// TestConfirmationOrders keeps the orders of an oracle whose questions stay where they are.
func TestConfirmationOrders(t *testing.T) {
	text := edit(t, consentScenario, "  - calls: [{remove_contact: {person_id: b}}, {remove_contact: {person_id: c}}]\n", "  - set_wifi_status: {on: true}\n")
	text = edit(t, text, "  tools: [set_wifi_status]\n", "")
	text = edit(t, text, "    - set_wifi_status: {on: true}\n    -", "    -")
	made := variantOf(loadConsent(t, edit(t, text, "clock: {step: 60}\n", "")))
	wanted := []string{"Whom?", "May I add a contact?", "<add_contact", "<set_wifi_status", "Can you", "<add_contact", "Done."}
	for i, turn := range said(made.GetSetup().GetOracleScript()) {
		if !strings.HasPrefix(turn, wanted[i]) {
			t.Errorf("turn %d: got %q, want %s", i, turn, wanted[i])
		}
	}
	want := []*scenariov1.Order{{Turns: []int32{0, 3, 1, 2, 4, 5, 6}}, {Turns: []int32{0, 1, 2, 4, 3, 5, 6}}}
	if diff := cmp.Diff(want, made.GetProof().GetOrders(), protocmp.Transform()); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
	if got := said(made.GetSetup().GetUserScript())[1]; strings.Contains(got, "minutes") {
		t.Errorf("the user's consent: got %s, want it without minutes where the clock stands", got)
	}
}

// TestConfirmationMinutes lets consents last as long as the conversation can, whatever takes time
// in it, and no longer than a consent may.
func TestConfirmationMinutes(t *testing.T) {
	for clock, want := range map[string]string{
		"{step: 10}":                          `"minutes": 6,`,
		"{step: 60}":                          `"minutes": 32,`,
		"{user_turn: 600}":                    `"minutes": 320,`,
		"{step: 60, agent_turn: 60}":          `"minutes": 64,`,
		"{user_turn: 100000000, step: 1e100}": `"minutes": 527040,`,
	} {
		got := said(variantOf(loadConsent(t, edit(t, consentScenario, "{step: 60}", clock))).GetSetup().GetUserScript())[1]
		if strings.Contains(got, want) == (want == `"minutes": 6,`) {
			t.Errorf("%s: got %s, want %s and no minutes up to the default of 10", clock, got, want)
		}
	}
}

// TestConfirmationVariantConditions makes the variant where the scenario gives its starting
// messages, where the oracle calls nothing that needs consent, and not where there is nothing to
// allow.
func TestConfirmationVariantConditions(t *testing.T) {
	text := edit(t, testScenario, "extra_tools: [set_wifi_status]", "extra_tools: [remove_contact]")
	made := variantOf(loadConsent(t, text))
	if got := made.GetSetup(); got.GetMaxMessages() != 34 || !slices.Contains(got.GetCategories(), "SINGLE_USER_TURN") || len(got.GetOracleScript()) != 2 {
		t.Errorf("nothing to ask: got %d messages, %v, %v, want 34, SINGLE_USER_TURN and the oracle as it is",
			got.GetMaxMessages(), got.GetCategories(), said(got.GetOracleScript()))
	}
	given := edit(t, text, "user:\n  goal: Wifi off.\n  says: Wifi off!\n",
		"messages:\n  - {from: SYSTEM, to: USER, content: Want wifi off.}\n  - {from: AGENT, to: USER, content: Hello.}\nuser: {script: [{say: Wifi off!}]}\n")
	given = edit(t, given, "oracle:\n", "oracle:\n  - remove_contact: {person_id: b}\n")
	made = variantOf(loadConsent(t, edit(t, given, "[SINGLE_TOOL_CALL]", "[MULTIPLE_TOOL_CALL]")))
	if got, want := made.GetSetup().GetMessages()[0].GetText(), "Want wifi off.\n"+allowText; got != want {
		t.Errorf("what the user is told: got %q, want %q", got, want)
	}
	want := []string{"Wifi off!", `<allow_action {"action": "remove a contact", "arguments": {"person_id": "b"}}>`, "Yes, you may.", "<end_conversation {}>"}
	if diff := cmp.Diff(want, said(made.GetSetup().GetUserScript())); diff != "" {
		t.Errorf("the user who speaks first (-want +got):\n%s", diff)
	}
	for name, text := range map[string]string{
		"no such tool":      testScenario,
		"taken away":        edit(t, text, "extra_tools: [remove_contact]\n", "extra_tools: all\nwithout_tools: [remove_contact, add_contact]\n"),
		"own augmentations": "augmentations: [CONFIRMATION]\n" + text,
	} {
		if got := variantOf(loadConsent(t, text)); got != nil {
			t.Errorf("%s: got %s, want no such variant", name, got.GetSetup().GetName())
		}
	}
}

// TestBadConsent names what is wrong with consents in a scenario.
func TestBadConsent(t *testing.T) {
	gated := "augmentations: [CONFIRMATION]\n" + edit(t, edit(t, testScenario, "extra_tools: [set_wifi_status]", "extra_tools: [remove_contact]"),
		"  says: Wifi off!\n", "  says: Wifi off!\n  script: [{allow_action: {action: remove a contact}}]\n")
	if got := loadConsent(t, gated).GetSetup(); !world.HasConsent(got.GetSchema()) || len(got.GetConsentTools()) != 2 {
		t.Errorf("a scenario's own augmentation: got %v, want the table and two tools", got)
	}
	for _, test := range []struct{ name, old, replacement, want string }{
		{"unknown action", "{action: remove a contact}", "{action: remove a contcat}",
			`a.yaml:9:29: one.user.script[0].allow_action: nothing is called "remove a contcat"; did you mean "remove a contact"?`},
		{"unknown argument", "{action: remove a contact}", "{action: remove a contact, arguments: {person: b}}",
			`a.yaml:9:29: one.user.script[0].allow_action: remove_contact has no argument "person"; expected one of person_id`},
		{"argument of another type", "{action: remove a contact}", "{action: remove a contact, arguments: {person_id: 5}}", "argument person_id of remove_contact is 5, expected a string"},
		{"no arguments", "{action: remove a contact}", "{action: remove a contact, arguments: person_id}", "allow_action: argument arguments of allow_action is \"person_id\", expected an object"},
		{"unknown row", "{action: remove a contact}", "{action: remove a contact, arguments: {person_id: $nobody}}", `no row of contact is called "nobody"`},
		{"no gate", "augmentations: [CONFIRMATION]\n", "", "the user has allow_action only where a tool of the agent needs consent; write @confirm in front of one"},
		{"nothing to allow", "extra_tools: [remove_contact]", "without_tools: [remove_contact, add_contact]",
			"CONFIRMATION changes nothing: the agent has no tool that needs consent"},
		{"the agent's", "extra_tools: [remove_contact]", "extra_tools: [allow_action]", "the user has allow_action by default if tools need consent; remove it"},
		{"the agent calls it", "- calls: [{tool: set_wifi_status, arguments: {on: false}}]", "- allow_action: {action: remove a contact}",
			"the agent cannot call allow_action, only the user can"},
	} {
		_, err := readPack(files(edit(t, gated, test.old, test.replacement), testWorld), consentOptions())
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q in it", test.name, err, test.want)
		}
	}
	pack := files(testScenario, testWorld)
	pack["schema.yaml"] = &fstest.MapFile{Data: []byte("tables: [{name: consent, columns: [{name: id, type: text}]}]\n")}
	if _, err := readPack(pack, consentOptions()); err == nil || !strings.Contains(err.Error(), "schema.yaml:1:10: tables[0]: consent is the table of what the user allows") {
		t.Errorf("a table of that name: got %v, want a mistake", err)
	}
	made := variantOf(loadConsent(t, consentScenario))
	for name, change := range map[string]func(*setupv1.Setup){
		"no table":     func(s *setupv1.Setup) { s.Schema = nil },
		"no tools":     func(s *setupv1.Setup) { s.ConsentTools = nil },
		"twice":        func(s *setupv1.Setup) { s.ConsentTools = append(s.GetConsentTools(), s.GetConsentTools()[0]) },
		"unknown tool": func(s *setupv1.Setup) { s.ConsentTools[0].Tool = "nope" },
		"no action":    func(s *setupv1.Setup) { s.ConsentTools[0].Action = "" },
		"own text":     func(s *setupv1.Setup) { s.Tools.Descriptions = []*setupv1.ToolDescription{{Tool: world.AllowTool}} },
	} {
		wrong := proto.CloneOf(made)
		change(wrong.GetSetup())
		if problems := scenario.Validate(wrong, consentOptions()); len(problems) == 0 {
			t.Errorf("%s: got no problem, want one", name)
		}
	}
}

// TestConsentOfBrokenTools checks that a mistake in a file of tools, one of which may need consent,
// is the only one.
func TestConsentOfBrokenTools(t *testing.T) {
	const want = "tools/lend.py:3:1: lend: is broken"
	opts := consentOptions()
	opts.Compile = func(*setupv1.Setup) ([]*toolhostv1.ToolInfo, []*setupv1.ConsentTool, document.Errors) {
		return nil, nil, document.Errors{{File: "tools/lend.py", Line: 3, Column: 1, Field: "lend", Reason: "is broken"}}
	}
	for name, text := range map[string]string{
		"script":        edit(t, testScenario, "  says: Wifi off!\n", "  says: Wifi off!\n  script: [{allow_action: {action: lend}}]\n"),
		"demonstration": edit(t, testScenario, "  says: Wifi off!\n", "  says: Wifi off!\n  demonstrations: [{calls: [{allow_action: {action: lend}, answer: None}]}]\n"),
	} {
		pack := files(text, testWorld)
		pack["tools/lend.py"] = &fstest.MapFile{Data: []byte("def lend(): pass\n")}
		if _, err := readPack(pack, opts); errorText(err) != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}
