package toolhost

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	theUser  = worldv1.Role_ROLE_USER
	theAgent = worldv1.Role_ROLE_AGENT

	refusal  = "PermissionError: The user has to allow this first."
	allowed  = "None"
	send     = `send_message_with_phone_number {"phone_number": "+14085551111", "content": "Hi"}`
	remove   = `remove_contact {"person_id": "a"}`
	allow    = `allow_action {"action": "send a text message"}`
	allowAll = `allow_action {"action": "send a text message", "scope": "conversation"}`
)

// callMessage returns the message of a call: a tool with its arguments, or code.
func callMessage(index int32, sender worldv1.Role, source string) *worldv1.Message {
	m := call(index, sender, source)
	if tool, arguments, stated := strings.Cut(source, " {"); stated && !strings.Contains(tool, " ") {
		m.Body = &worldv1.Message_Call{Call: &worldv1.ToolCall{Id: proto.String("call_1"), Tool: tool, ArgumentsJson: "{" + arguments}}
	}
	return m
}

// gatedSetup is smallSetup with built-in tools that need consent.
func gatedSetup() *setupv1.Setup {
	setup := smallSetup("gated")
	setup.ConsentTools = ConsentTools()
	setup.Schema = []*worldv1.TableSchema{world.ConsentSchema()}
	setup.Tables = append(setup.Tables, &worldv1.Table{Name: world.Consent})
	return setup
}

// talk executes successive calls in a session.
type talk struct {
	testing.TB

	client toolhostv1.ToolHostServiceClient
	id     string
	next   int32 // index of the next call
}

// begin returns a talk in a new session.
func begin(tb testing.TB, client toolhostv1.ToolHostServiceClient, id string, setup *setupv1.Setup) *talk {
	tb.Helper()
	create(tb, client, id, setup)
	return &talk{TB: tb, client: client, id: id, next: 2}
}

// execute executes a batch and returns the results of its calls.
func (k *talk) execute(sender worldv1.Role, sources ...string) []string {
	k.Helper()
	calls := make([]*worldv1.Message, len(sources))
	for i, source := range sources {
		calls[i] = callMessage(k.next+int32(i), sender, source)
	}
	k.next += int32(len(sources))
	response := run(k, k.client, k.id, k.next, calls...)
	k.next += int32(len(sources))
	var answers []string
	for _, answer := range response.GetAnswers() {
		answers = append(answers, messagetext.Content(answer))
	}
	return answers
}

// consents returns the rows of CONSENT at the last message, without the times.
func (k *talk) consents() []string {
	k.Helper()
	response, err := k.client.ReadTables(k.Context(), &toolhostv1.ReadTablesRequest{SessionId: k.id, Index: k.next - 1, Tables: []string{world.Consent}})
	if err != nil {
		k.Fatalf("read consents of %s: %v", k.id, err)
	}
	var rows []string
	for _, row := range response.GetTables()[0].GetRows() {
		cells := row.GetCells()
		rows = append(rows, fmt.Sprintf("%s %s %s %v", cells[0].GetText(), cells[1].GetText(), cells[2].GetText(), cells[4].GetBoolean()))
	}
	return rows
}

// refuse checks that a call of the agent fails.
func (k *talk) refuse(what, source string) {
	k.Helper()
	if got := k.execute(theAgent, source)[0]; !strings.HasPrefix(got, refusal) {
		k.Errorf("%s: got %q, want a PermissionError", what, got)
	}
}

// accept checks that a call succeeds.
func (k *talk) accept(what string, sender worldv1.Role, source string) {
	k.Helper()
	if got := k.execute(sender, source)[0]; strings.Contains(got, "Error") {
		k.Errorf("%s: got %q, want no error", what, got)
	}
}

// TestConsent checks which calls a consent permits.
func TestConsent(t *testing.T) {
	k := begin(t, start(t), "s", gatedSetup())
	k.refuse("without consent", send)
	if got := k.execute(theUser, allow)[0]; got != allowed {
		t.Fatalf("the user's consent: got %q, want %q", got, allowed)
	}
	k.refuse("with a consent for another tool", remove)
	if got := k.execute(theAgent, `send_message_with_phone_number {"phone_number": "+14085551111", "content": 5}`)[0]; !strings.HasPrefix(got, "TypeError") {
		t.Errorf("wrong arguments: got %q, want a TypeError", got)
	}
	k.accept("off", theAgent, `set_cellular_service_status {"on": false}`)
	if got := k.execute(theAgent, send)[0]; !strings.HasPrefix(got, "ConnectionError") {
		t.Errorf("a call that fails: got %q, want a ConnectionError", got)
	}
	k.accept("on", theAgent, `set_cellular_service_status {"on": true}`)
	if diff := cmp.Diff([]string{"consent_1 send_message_with_phone_number once false"}, k.consents()); diff != "" {
		t.Errorf("after calls that failed (-want +got):\n%s", diff)
	}
	k.accept("with consent", theAgent, send)
	k.refuse("a second time", send)
	k.accept("in other letters", theUser, `allow_action {"action": " Send a  TEXT message. ", "minutes": 10}`)
	k.accept("again", theAgent, send)
	want := []string{"consent_1 send_message_with_phone_number once true", "consent_2 send_message_with_phone_number once true"}
	if diff := cmp.Diff(want, k.consents()); diff != "" {
		t.Errorf("consents (-want +got):\n%s", diff)
	}
	k.accept("for the conversation", theUser, allowAll)
	k.accept("once", theAgent, send)
	k.accept("twice", theAgent, send)
	if got := k.consents()[2]; got != "consent_3 send_message_with_phone_number conversation false" {
		t.Errorf("a consent for the conversation: got %q, want it unused", got)
	}
}

// TestConsentExpires checks the expiry of a consent by the virtual clock, which each message
// advances by a minute.
func TestConsentExpires(t *testing.T) {
	client, setup := start(t), gatedSetup()
	setup.Clock.Step = 60
	for minutes, want := range map[int]bool{0: false, 2: false, 3: true} {
		k := begin(t, client, fmt.Sprintf("m%d", minutes), setup)
		k.accept("consent", theUser, fmt.Sprintf(`allow_action {"action": "remove a contact", "scope": "conversation", "minutes": %d}`, minutes))
		if got := k.execute(theAgent, remove)[0]; (got == allowed) != want {
			t.Errorf("two messages after a consent for %d minutes: got %q, want it allowed: %v", minutes, got, want)
		}
	}
}

// TestAgentCannotConsent checks that an agent cannot consent.
func TestAgentCannotConsent(t *testing.T) {
	client := start(t)
	restricted := gatedSetup()
	restricted.Tools = &setupv1.ToolSelection{Allow: []string{"send_message_with_phone_number", "end_conversation"}}
	for id, setup := range map[string]*setupv1.Setup{"open": gatedSetup(), "restricted": restricted} {
		k := begin(t, client, id, setup)
		for _, source := range []string{allow, "for _ in range(2):\n    allow_action('send a text message')", "f = allow_action\nf('send a text message')"} {
			if got := k.execute(theAgent, source)[0]; !strings.Contains(got, "NameError: name 'allow_action' is not defined") {
				t.Errorf("%s: the agent's %q: got %q, want a NameError", id, source, got)
			}
		}
		k.refuse(id, send)
		for _, source := range []string{
			"allow_action('fly')", "allow_action('send a text message', 'for ever')", `allow_action {"action": "send a text message", "minutes": -1}`,
		} {
			if got := k.execute(theUser, source)[0]; !strings.HasPrefix(got, "ValueError") {
				t.Errorf("%s: the user's %q: got %q, want a ValueError", id, source, got)
			}
		}
		if got := k.consents(); got != nil {
			t.Errorf("%s: consents: got %v, want none", id, got)
		}
	}
	plain := begin(t, client, "plain", smallSetup("plain"))
	if got := plain.execute(theUser, allow)[0]; !strings.Contains(got, "NameError") {
		t.Errorf("without a gate: got %q, want a NameError", got)
	}
	plain.accept("without a gate", theAgent, send)
}

// TestConsentInBatches gives one consent for two calls: of one message, and of one program. The
// first call in the given order uses it up.
func TestConsentInBatches(t *testing.T) {
	client := start(t)
	k := begin(t, client, "batch", gatedSetup())
	k.accept("consent", theUser, allow)
	answers := k.execute(theAgent, send, send, "get_wifi_status {}")
	if strings.Contains(answers[0], "Error") || !strings.HasPrefix(answers[1], refusal) || answers[2] != "True" {
		t.Errorf("two calls with one consent: got %q, want an id, a PermissionError and True", answers)
	}
	k.accept("consents", theUser, allow)
	k.accept("consents", theUser, allow)
	for i, answer := range k.execute(theAgent, send, send) {
		if strings.Contains(answer, "Error") {
			t.Errorf("call %d of two with two consents: got %q, want an id", i, answer)
		}
	}
	k.accept("for the conversation", theUser, allowAll)
	for i, answer := range k.execute(theAgent, slices.Repeat([]string{send}, 20)...) {
		if strings.Contains(answer, "Error") {
			t.Errorf("call %d of twenty with a consent for the conversation: got %q, want an id", i, answer)
		}
	}

	program := begin(t, client, "program", gatedSetup())
	program.accept("consent", theUser, allow)
	source := "for n in range(2):\n    try:\n        print(len(send_message_with_phone_number('+14085551111', 'Hi')))\n    except PermissionError as e:\n        print('refused')"
	if got, want := program.execute(theAgent, source)[0], "36\nrefused"; got != want {
		t.Errorf("a program that calls twice: got %q, want %q", got, want)
	}
}

// TestConsentForUserTools calls one of the user's own tools, which needs consent only for the
// agent.
func TestConsentForUserTools(t *testing.T) {
	setup := gatedSetup()
	setup.Tools = &setupv1.ToolSelection{
		Allow: []string{"remove_contact", "end_conversation"}, User: []string{"send_message_with_phone_number", "remove_contact"},
	}
	client := start(t)
	var shown []string
	for _, tool := range create(t, client, "hands", setup).GetUserTools() {
		shown = append(shown, tool.GetName())
		if tool.GetName() == "allow_action" && !strings.Contains(tool.GetParametersJson(), `"enum": ["remove a contact"]`) {
			t.Errorf("what the user may allow: got %s, want what the agent has: remove a contact", tool.GetParametersJson())
		}
	}
	want := []string{"remove_contact", "send_message_with_phone_number", "end_conversation", "allow_action"}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("the user's tools (-want +got):\n%s", diff)
	}
	k := &talk{TB: t, client: client, id: "hands", next: 2}
	k.accept("the user's own call", theUser, send)
	k.refuse("the agent's", remove)
	k.accept("the user's own call", theUser, remove)
}

// TestConsentScrambled checks the declarations with scrambled names: the agent's tools have other
// names, the actions of the user have the same.
func TestConsentScrambled(t *testing.T) {
	setup := gatedSetup()
	setup.Tools = &setupv1.ToolSelection{
		Allow: []string{"send_message_with_phone_number", "search_contacts", "end_conversation"},
		Augmentations: []setupv1.Augmentation{
			setupv1.Augmentation_AUGMENTATION_TOOL_NAME_SCRAMBLED, setupv1.Augmentation_AUGMENTATION_CONFIRMATION,
		},
	}
	client := start(t)
	created := create(t, client, "s", setup)
	for _, tool := range created.GetAgentTools() {
		asks := strings.HasSuffix(tool.GetDescription(), "Needs the user's permission: ask for it before the call.")
		if want := tool.GetExecutionName() == "send_message_with_phone_number"; asks != want || tool.GetName() == tool.GetExecutionName() {
			t.Errorf("the agent's tool %s: got %q, which speaks of permission: %v, want %v", tool.GetName(), tool.GetDescription(), asks, want)
		}
	}
	last := created.GetUserTools()[len(created.GetUserTools())-1]
	if last.GetName() != "allow_action" || !strings.Contains(last.GetParametersJson(), `"enum": ["send a text message"]`) {
		t.Errorf("the user's tool: got %v, want allow_action with the one action", last)
	}
	if strings.Contains(last.GetParametersJson(), "arguments") {
		t.Errorf("the user's tool: got %s, want it without the arguments of calls, which users do not know", last.GetParametersJson())
	}
	k := &talk{TB: t, client: client, id: "s", next: 2}
	k.refuse("without consent", send)
	k.accept("consent", theUser, `allow_action {"action": "send a text message", "arguments": {"phone_number": "+14085551111"}}`)
	k.accept("with consent", theAgent, send)
}

// TestConsentAfterForkAndRestore forks a session before and after a consent, restores it from its
// log on an empty host, and continues there. Uses of the consent in one session do not affect the
// others.
func TestConsentAfterForkAndRestore(t *testing.T) {
	nats := natstest.Start(t)
	client := serve(t, filepath.Join(t.TempDir(), storeFile), nats, ownsAll).client
	k := begin(t, client, "s", gatedSetup())
	k.accept("consent", theUser, allow) // messages 2 and 3
	k.accept("with consent", theAgent, send)
	for id, at := range map[string]int32{"before": 1, "behind": 3, "used": 5} {
		if _, err := client.ForkSession(t.Context(), &toolhostv1.ForkSessionRequest{SessionId: "s", Index: at, NewSessionId: id}); err != nil {
			t.Fatalf("fork at %d: %v", at, err)
		}
		fork := &talk{TB: t, client: client, id: id, next: at + 1}
		if id == "behind" {
			fork.accept(id, theAgent, send)
		}
		fork.refuse(id, send)
	}
	k.refuse("a second time", send)

	log := []*toolhostv1.Execution{}
	for index, source := range map[int32]string{3: allow, 5: send, 7: send} {
		calls := []*worldv1.Message{callMessage(index-1, map[bool]worldv1.Role{true: theUser, false: theAgent}[source == allow], source)}
		log = append(log, &toolhostv1.Execution{Index: index, Calls: calls, Outcome: run(t, client, "s", index, calls...)})
	}
	slices.SortFunc(log, func(a, b *toolhostv1.Execution) int { return int(a.GetIndex() - b.GetIndex()) })
	lost := serve(t, filepath.Join(t.TempDir(), storeFile), nats, ownsAll).client
	_, err := lost.RestoreSession(t.Context(), &toolhostv1.RestoreSessionRequest{
		Create: &toolhostv1.CreateSessionRequest{SessionId: "s", Setup: gatedSetup()}, Executions: log,
	})
	if err != nil {
		t.Fatalf("restore: %v", err)
	}
	if diff := cmp.Diff(versions(t, client, "s"), versions(t, lost, "s")); diff != "" {
		t.Errorf("versions (-first +restored):\n%s", diff)
	}
}

// TestConsentChangesNothingElse compares a result and the rows of sessions with and without
// consents. The ids are equal.
func TestConsentChangesNothingElse(t *testing.T) {
	client := start(t)
	plain, gated := begin(t, client, "plain", smallSetup("plain")), begin(t, client, "gated", gatedSetup())
	gated.accept("consent", theUser, allowAll)
	plain.accept("something else", theUser, "get_wifi_status {}")
	for _, source := range []string{send, `add_contact {"name": "Bob", "phone_number": "+14085551111"}`, send, `search_messages {"content": "Hi"}`} {
		if got, want := gated.execute(theAgent, source), plain.execute(theAgent, source); !slices.Equal(got, want) {
			t.Errorf("%s: got %q with a gate, want %q", source, got, want)
		}
	}
}

// TestPackConsent marks a read-only tool of a pack, so that its call writes the consent.
func TestPackConsent(t *testing.T) {
	setup := gatedSetup()
	setup.ToolModules = []*setupv1.ToolModule{{Name: "diary", Source: "@confirm\ndef read_diary() -> str:\n  '''Reads the diary.'''\n  return 'Dear'\n" +
		"def peek(table: str) -> int:\n  '''Counts rows.\n\n  Args:\n    table: A table.\n  '''\n  return len(world.rows(table))\n"}}
	_, confirm, mistakes := PackTools(setup)
	want := []*setupv1.ConsentTool{{Tool: "read_diary", Action: "read diary"}}
	if diff := cmp.Diff(want, confirm, protocmp.Transform()); diff != "" || mistakes != nil {
		t.Fatalf("the pack's tools that need consent, mistakes %v (-want +got):\n%s", mistakes, diff)
	}
	setup.ConsentTools = confirm
	k := begin(t, start(t), "s", setup)
	k.refuse("without consent", "read_diary {}")
	k.accept("a built-in tool", theAgent, send)
	k.accept("consent", theUser, `allow_action {"action": "read diary"}`)
	if got := k.execute(theAgent, "read_diary {}", "read_diary {}"); got[0] != "'Dear'" || !strings.HasPrefix(got[1], refusal) {
		t.Errorf("two calls with one consent: got %q, want 'Dear' and a PermissionError", got)
	}
	if got := k.execute(theAgent, `peek {"table": "consent"}`)[0]; got != "KeyError: 'consent'" {
		t.Errorf("a pack's tool that looks at consents: got %q, want a KeyError", got)
	}
}

// TestInvalidConfirmedTools creates sessions with invalid tools that need consent.
func TestInvalidConfirmedTools(t *testing.T) {
	client := start(t)
	for _, test := range []struct {
		name   string
		change func(*setupv1.Setup)
	}{
		{"no table", func(s *setupv1.Setup) { s.Schema, s.Tables = nil, s.GetTables()[:3] }},
		{"another table", func(s *setupv1.Setup) { s.Schema[0].Columns[4].Name = "gone" }},
		{"unknown tool", func(s *setupv1.Setup) { s.ConsentTools[0].Tool = "nope" }},
		{"tool of the user", func(s *setupv1.Setup) { s.ConsentTools[0].Tool = "end_conversation" }},
		{"tool twice", func(s *setupv1.Setup) { s.ConsentTools[0].Tool = s.GetConsentTools()[1].GetTool() }},
		{"action twice", func(s *setupv1.Setup) { s.ConsentTools[0].Action = strings.ToUpper(s.GetConsentTools()[1].GetAction()) }},
		{"no action", func(s *setupv1.Setup) { s.ConsentTools[0].Action = "" }},
	} {
		setup := proto.CloneOf(gatedSetup())
		test.change(setup)
		_, err := client.CreateSession(t.Context(), &toolhostv1.CreateSessionRequest{SessionId: "bad", Setup: setup})
		wantCode(t, test.name, err, codes.InvalidArgument)
	}
}
