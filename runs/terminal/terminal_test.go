package terminal_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"go.uber.org/goleak"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/terminal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const schema = `{"type":"object","properties":{"name":{"type":"string","description":"Whose\nname."},"on":{"type":"boolean"},` +
	`"days":{"type":"integer"},"at":{"type":"number"},"any":{"description":"Anything."}},"required":["name","on","bare"]}`

func request() *agentv1.ActRequest {
	return &agentv1.ActRequest{
		ConversationId: "c",
		Messages: []*agentv1.Message{
			{Speaker: agentv1.Speaker_SPEAKER_SYSTEM, Text: "help"},
			{Speaker: agentv1.Speaker_SPEAKER_USER, Text: "hello\nyou"},
			{Speaker: agentv1.Speaker_SPEAKER_AGENT, Calls: []*agentv1.ToolCall{{Name: "lamp", ArgumentsJson: `{"on": true}`}}},
			{Speaker: agentv1.Speaker_SPEAKER_TOOL, Text: "ValueError: no", ToolName: "lamp", Failed: true},
		},
		Tools: []*agentv1.Tool{
			{Name: "lamp", Description: "Switches a lamp.", ParametersJson: schema},
			{Name: "lamp_off", ParametersJson: `{"type":"object","properties":{},"required":[]}`},
			{Name: "end_conversation", ParametersJson: `{}`},
		},
	}
}

// play runs one turn with the given input and returns the answer and the output.
func play(t *testing.T, role worldv1.Role, input string) (answer *agentv1.ActResponse, output string, err error) {
	t.Helper()
	var out bytes.Buffer
	ctx, left := context.WithCancel(t.Context())
	defer left()
	served, err := terminal.Serve(t.Context(), terminal.NewConsole(strings.NewReader(input), &out, left), role, "")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(served.Address(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	answer, err = agentv1.NewAgentServiceClient(conn).Act(ctx, request())
	if closeErr := conn.Close(); closeErr != nil {
		t.Error(closeErr)
	}
	if closeErr := served.Close(); closeErr != nil {
		t.Error(closeErr)
	}
	return answer, out.String(), err
}

func TestTurns(t *testing.T) {
	const agent, user = worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_USER
	call := func(name, arguments string) *agentv1.ActResponse {
		return &agentv1.ActResponse{Calls: []*agentv1.ToolCall{{Name: name, ArgumentsJson: arguments}}}
	}
	tests := map[string]struct {
		role  worldv1.Role
		input string
		want  *agentv1.ActResponse
		code  codes.Code
		shown string
	}{
		"says":                 {role: agent, input: "\nSure thing.\n", want: &agentv1.ActResponse{Text: "Sure thing."}, shown: "        user │ hello\n             │ you\n"},
		"says a command":       {role: agent, input: "'end\n", want: &agentv1.ActResponse{Text: "end"}},
		"says much":            {role: agent, input: "call me later please\n", want: &agentv1.ActResponse{Text: "call me later please"}},
		"sees its own calls":   {role: agent, input: "ok\n", want: &agentv1.ActResponse{Text: "ok"}, shown: "you │ lamp {\"on\": true}\n tool failed │ lamp → ValueError: no\n"},
		"lists tools":          {role: agent, input: "tools\nok\n", want: &agentv1.ActResponse{Text: "ok"}, shown: "lamp(name: string, on: boolean, [days: integer], [at: number], [any], bare)\n      Switches a lamp.\n"},
		"asks for help":        {role: agent, input: "help\nok\n", want: &agentv1.ActResponse{Text: "ok"}, shown: "fill in a call"},
		"asks what end does":   {role: agent, input: "help\nok\n", want: &agentv1.ActResponse{Text: "ok"}, shown: "without a score; --resume asks you again"},
		"user asks that":       {role: user, input: "help\nok\n", want: &agentv1.ActResponse{Text: "ok"}, shown: "end the conversation and score it"},
		"says another code":    {role: agent, input: "caf\xe9\ntea\n", want: &agentv1.ActResponse{Text: "tea"}, shown: "this line is not UTF-8"},
		"fills in other codes": {role: agent, input: "call \xe9\ncall lamp\n\xff\nBo\non\n\n\n\nx\n\xfe\n\n", want: call("lamp", `{"name": "Bo", "on": true, "bare": "x"}`), shown: "this line is not UTF-8"},
		"calls":                {role: agent, input: "call lamp\nBo\nyes\n3\n1.5\n[1, 2]\nx\n\n", want: call("lamp", `{"name": "Bo", "on": true, "days": 3, "at": 1.5, "any": [1, 2], "bare": "x"}`), shown: "# Whose name."},
		"leaves out":           {role: agent, input: "call lamp\n\"\"\noff\n\n\n\n7\n\n", want: call("lamp", `{"name": "", "on": false, "bare": 7}`)},
		"is told what is off":  {role: agent, input: "call lamp\n\n5\nperhaps\non\n1.5\n\nmuch\n2\n\nx\n\n", want: call("lamp", `{"name": "5", "on": true, "at": 2, "bare": "x"}`), shown: `"perhaps" is not true or false`},
		"begins a name":        {role: agent, input: "call lamp_\n\n", want: call("lamp_off", "{}")},
		"chooses a tool":       {role: agent, input: "call\nla\nlamp_off\n\n", want: call("lamp_off", "{}"), shown: `2 tools begin with "la"`},
		"gives up a call":      {role: agent, input: "call nothing\n\nok\n", want: &agentv1.ActResponse{Text: "ok"}},
		"calls two":            {role: agent, input: "call lamp_off\nend_conversation\n\n", want: &agentv1.ActResponse{Calls: []*agentv1.ToolCall{{Name: "lamp_off", ArgumentsJson: "{}"}, {Name: "end_conversation", ArgumentsJson: "{}"}}}},
		"gives up a further":   {role: agent, input: "call lamp_off\nnothing\n\n\n", want: call("lamp_off", "{}"), shown: "no tool begins with \"nothing\""},
		"then calls another":   {role: agent, input: "call lamp_off\nla\n\nend_conversation\n\n", want: &agentv1.ActResponse{Calls: []*agentv1.ToolCall{{Name: "lamp_off", ArgumentsJson: "{}"}, {Name: "end_conversation", ArgumentsJson: "{}"}}}},
		"agent leaves":         {role: agent, input: "end\n", code: codes.Aborted},
		"input ends":           {role: agent, input: "call lamp\nBo\n", code: codes.Canceled},
		"user ends":            {role: user, input: "end\n", want: call("end_conversation", "{}")},
		"user reads the agent": {role: user, input: "history\nThanks\n", want: &agentv1.ActResponse{Text: "Thanks"}, shown: "       agent │ hello\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, output, err := play(t, test.role, test.input)
			if status.Code(err) != test.code {
				t.Fatalf("error: got %v, want %v; shown:\n%s", err, test.code, output)
			}
			if diff := cmp.Diff(test.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("answer (-want +got):\n%s\nshown:\n%s", diff, output)
			}
			if !strings.Contains(output, test.shown) {
				t.Errorf("shown: got\n%s\nwant in it\n%s", output, test.shown)
			}
		})
	}
}

// TestBothRoles plays agent and user in turns. Each sees its new messages once, and none of the
// other's.
func TestBothRoles(t *testing.T) {
	const agent, user = worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_USER
	var out bytes.Buffer
	console := terminal.NewConsole(strings.NewReader("one\ntwo\nthree\nfour\nfive\n"), &out, func() {})
	clients := make(map[worldv1.Role]agentv1.AgentServiceClient)
	for _, role := range []worldv1.Role{agent, user} {
		served, err := terminal.Serve(t.Context(), console, role, "")
		if err != nil {
			t.Fatal(err)
		}
		conn, err := grpc.NewClient(served.Address(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(); _ = served.Close() }()
		clients[role] = agentv1.NewAgentServiceClient(conn)
	}
	message := func(texts ...string) (list []*agentv1.Message) {
		for _, text := range texts {
			list = append(list, &agentv1.Message{Speaker: agentv1.Speaker_SPEAKER_USER, Text: text})
		}
		return list
	}
	for _, turn := range []struct {
		role         worldv1.Role
		conversation string
		messages     []*agentv1.Message
		want         string
	}{
		{agent, "c", message("A"), "\n═══ a conversation, you are the agent ═══\n        user │ A\n(help lists the commands)\n> "},
		{user, "c", message("A", "B"), "\n═══ a conversation, you are the user ═══\n       agent │ A\n       agent │ B\n(help lists the commands)\n> "},
		{agent, "c", message("A", "C"), "\n─── you are the agent ───\n        user │ C\n> "},
		{agent, "c", message("A", "C", "D"), "        user │ D\n> "},
		{agent, "d", message("A"), "\n═══ a conversation, you are the agent ═══\n        user │ A\n(help lists the commands)\n> "},
	} {
		out.Reset()
		_, err := clients[turn.role].Act(t.Context(), &agentv1.ActRequest{ConversationId: turn.conversation, Messages: turn.messages})
		if diff := cmp.Diff(turn.want, out.String()); err != nil || diff != "" {
			t.Errorf("%s in %s: %v, shown (-want +got):\n%s", turn.role, turn.conversation, err, diff)
		}
	}
}

// TestExamples checks that a user sees the demonstrations before its instructions, and that they
// differ visibly from the conversation.
func TestExamples(t *testing.T) {
	var out bytes.Buffer
	served, err := terminal.Serve(t.Context(), terminal.NewConsole(strings.NewReader("history\nthe neighbour\nbye\n"), &out, func() {}), worldv1.Role_ROLE_USER, "")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(served.Address(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(); _ = served.Close() }()
	messages := []*agentv1.Message{
		{Speaker: agentv1.Speaker_SPEAKER_AGENT, Text: "Turn the lamp on"},
		{Speaker: agentv1.Speaker_SPEAKER_USER, Text: "Which one?"},
		{Speaker: agentv1.Speaker_SPEAKER_TOOL, Text: "None", ToolName: "lamp"},
		{Speaker: agentv1.Speaker_SPEAKER_AGENT, Text: "end_conversation()"},
		{Speaker: agentv1.Speaker_SPEAKER_SYSTEM, Text: "You want Mateo removed."},
		{Speaker: agentv1.Speaker_SPEAKER_AGENT, Text: "Remove Mateo"},
		{Speaker: agentv1.Speaker_SPEAKER_USER, Text: "Which Mateo?"},
	}
	const shown = "─── examples from other conversations: how to play the user ───\n" +
		"   e.g. user │ Turn the lamp on\n  e.g. agent │ Which one?\n   e.g. tool │ lamp → None\n   e.g. user │ end_conversation()\n" +
		"─── end of the examples; now it is your turn ───\n" +
		"instructions │ You want Mateo removed.\n         you │ Remove Mateo\n       agent │ Which Mateo?\n"
	for _, want := range []string{
		"\n═══ a conversation, you are the user ═══\n" + shown + "(help lists the commands)\n> " + shown + "> ",
		"       agent │ Done.\n> ",
	} {
		out.Reset()
		_, err := agentv1.NewAgentServiceClient(conn).Act(t.Context(), &agentv1.ActRequest{ConversationId: "c", Messages: messages})
		if diff := cmp.Diff(want, out.String()); err != nil || diff != "" {
			t.Errorf("%v, shown (-want +got):\n%s", err, diff)
		}
		messages = append(messages, &agentv1.Message{Speaker: agentv1.Speaker_SPEAKER_USER, Text: "Done."})
	}
}

// TestTurnCancelled cancels a turn that waits for a person.
func TestTurnCancelled(t *testing.T) {
	in, write := io.Pipe()
	defer func() { _ = write.Close() }()
	served, err := terminal.Serve(t.Context(), terminal.NewConsole(in, io.Discard, func() {}), worldv1.Role_ROLE_AGENT, "")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(served.Address(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := agentv1.NewAgentServiceClient(conn).Act(ctx, request())
		ended <- err
	}()
	cancel()
	if err := <-ended; status.Code(err) != codes.Canceled {
		t.Errorf("Act: got %v, want CANCELLED", err)
	}
	if err := served.Close(); err != nil {
		t.Error(err)
	}
}
