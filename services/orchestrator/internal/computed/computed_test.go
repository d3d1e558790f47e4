package computed

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/turn"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	agent = worldv1.Role_ROLE_AGENT
	user  = worldv1.Role_ROLE_USER
)

// scrambled returns two tools under scrambled names.
func scrambled() *turn.Tools {
	return turn.NewTools([]*worldv1.Tool{
		{Name: "setting_9", ExecutionName: "set_wifi_status", Description: "Turns wifi on or off.",
			ParametersJson: `{"type":"object","properties":{"on":{"type":"boolean"}},"required":["on"]}`},
		{Name: "contact_3", ExecutionName: "search_contacts",
			ParametersJson: `{"type":"object","properties":{"name":{"type":"string"},"latitude":{"type":"number"},"days":{"type":"integer"},"x":{}},"required":["name","hidden"]}`},
	})
}

func wifiView() []*worldv1.Message {
	return []*worldv1.Message{{Body: &worldv1.Message_Text{Text: "Turn off wifi and text Fredrik at +12453344098, it is 20.5 degrees"}}}
}

func wifiOff() *worldv1.ToolCall {
	return &worldv1.ToolCall{Id: proto.String("call_1"), Tool: "set_wifi_status", ArgumentsJson: `{"on": false}`}
}

func script(source agentgwv1.Scripted_Source, turns ...*worldv1.ScriptTurn) *agentgwv1.Player {
	return &agentgwv1.Player{Name: "script", Kind: &agentgwv1.Player_Scripted{Scripted: &agentgwv1.Scripted{Source: source, Turns: turns}}}
}

func unhelpful() *agentgwv1.Player {
	return &agentgwv1.Player{Name: "unhelpful", Kind: &agentgwv1.Player_Unhelpful{Unhelpful: &agentgwv1.Unhelpful{}}}
}

func randomly(seed int64) *agentgwv1.Player {
	return &agentgwv1.Player{Name: "random", Kind: &agentgwv1.Player_Random{Random: &agentgwv1.Random{Seed: seed}}}
}

// TestTurn plays turns of scripts and of the unhelpful agent.
func TestTurn(t *testing.T) {
	scenario := script(agentgwv1.Scripted_SOURCE_SCENARIO)
	inline := script(agentgwv1.Scripted_SOURCE_INLINE, &worldv1.ScriptTurn{Say: "a"}, &worldv1.ScriptTurn{Say: "b"})
	off := &worldv1.ScriptTurn{Calls: []*worldv1.ToolCall{wifiOff()}}
	unlisted := &worldv1.ScriptTurn{Calls: []*worldv1.ToolCall{wifiOff(), {Tool: "get_cellular_service_status"}}}
	const source = "call_1_parameters = {'on': False}\ncall_1_response = set_wifi_status(**call_1_parameters)\nprint(repr(call_1_response))"
	for name, test := range map[string]struct {
		player *agentgwv1.Player
		p      Position
		want   []string // "recipient name: content"
	}{
		"agent says":           {scenario, Position{Role: agent, Scripted: &worldv1.ScriptTurn{Say: "Done."}}, []string{"ROLE_USER : Done."}},
		"agent calls":          {scenario, Position{Role: agent, Scripted: off, Tools: scrambled()}, []string{"ROLE_EXECUTION_ENVIRONMENT setting_9: " + source}},
		"any tool":             {scenario, Position{Role: agent, Scripted: off}, []string{"ROLE_EXECUTION_ENVIRONMENT set_wifi_status: " + source}},
		"agent ends":           {scenario, Position{Role: agent}, []string{"ROLE_USER : I have nothing to add."}},
		"user says":            {scenario, Position{Role: user, Scripted: &worldv1.ScriptTurn{Say: "ok"}}, []string{"ROLE_AGENT : ok"}},
		"inline":               {inline, Position{Role: user, Turn: 1, Scripted: &worldv1.ScriptTurn{Say: "not this"}}, []string{"ROLE_AGENT : b"}},
		"inline, at its end":   {inline, Position{Role: agent, Turn: 2}, []string{"ROLE_USER : I have nothing to add."}},
		"the unhelpful agent":  {unhelpful(), Position{Role: agent}, []string{"ROLE_USER : Sorry, this is something I am unable to do for you."}},
		"random, at its end":   {randomly(0), Position{Role: agent, Turn: 5, Tools: scrambled()}, []string{"ROLE_USER : That is as far as I got."}},
		"random without tools": {randomly(0), Position{Role: agent}, []string{"ROLE_USER : That is as far as I got."}},
		"unlisted tool": {scenario, Position{Role: agent, Scripted: unlisted, Tools: scrambled()}, []string{
			"ROLE_EXECUTION_ENVIRONMENT setting_9: " + source,
			"ROLE_EXECUTION_ENVIRONMENT get_cellular_service_status: call_3_parameters = {}\ncall_3_response = get_cellular_service_status(**call_3_parameters)\nprint(repr(call_3_response))",
		}},
		"user ends": {scenario, Position{Role: user, Compat: true}, []string{
			"ROLE_EXECUTION_ENVIRONMENT end_conversation: call_end_parameters = {}\ncall_end_response = end_conversation(**call_end_parameters)\nprint(repr(call_end_response))",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := test.p
			p.Index = 2
			if p.Tools == nil {
				p.Tools = turn.AnyTools()
			}
			messages, err := Turn(test.player, &p)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i, m := range messages {
				got = append(got, m.GetRecipient().String()+" "+m.GetCall().GetName()+": "+messagetext.Content(m))
				if want := []worldv1.Role{p.Role, m.GetRecipient()}; m.GetIndex() != p.Index+int32(i) || m.GetSender() != p.Role || !cmp.Equal(want, m.GetVisibleTo()) {
					t.Errorf("message %d: got %v, want one of the %v, visible to %v", i, m, p.Role, want)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRefusedTurns plays a call that the original refuses, and roles that a player cannot play.
func TestRefusedTurns(t *testing.T) {
	unlisted := &worldv1.ScriptTurn{Calls: []*worldv1.ToolCall{{Tool: "get_cellular_service_status"}}}
	_, err := Turn(script(agentgwv1.Scripted_SOURCE_SCENARIO), &Position{Role: agent, Scripted: unlisted, Tools: scrambled(), Compat: true})
	mistake, ok := errors.AsType[*turn.Mistake](err)
	if !ok || mistake.Error() != `KeyError: tool "get_cellular_service_status" is not among the role's tools: setting_9, contact_3` {
		t.Errorf("unlisted tool: got %v, want a KeyError that names it", err)
	}
	for _, player := range []*agentgwv1.Player{unhelpful(), randomly(1)} {
		if got, err := Turn(player, &Position{Role: user, Tools: turn.AnyTools()}); err == nil || !strings.Contains(err.Error(), "cannot play the USER") {
			t.Errorf("%s as user: got %v, %v, want an error that says so", player.GetName(), got, err)
		}
	}
}

// TestPanickingTurn panics within a turn: that fails the rollout, and not the process.
func TestPanickingTurn(t *testing.T) {
	got, err := Turn(randomly(1), &Position{Role: agent, Tools: scrambled(), View: func() []*worldv1.Message { panic("no view") }})
	panicked, ok := errors.AsType[*PanicError](err)
	if !ok || got != nil || panicked.Player != "random" || panicked.Reason != "no view" || !strings.Contains(string(panicked.Stack), "TestPanickingTurn") {
		t.Errorf("got %v and %v, want the panic with its stack", got, err)
	}
}

// TestRandomIsDeterministic compares turns of the random agent: they depend on the sum of the seeds
// and on the position.
func TestRandomIsDeterministic(t *testing.T) {
	play := func(at int, seed, own int64) []*worldv1.Message {
		t.Helper()
		messages, err := Turn(randomly(own), &Position{Role: agent, Index: 2, Turn: at, View: wifiView, Tools: scrambled(), Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		return messages
	}
	different := make(map[string]bool)
	for at := range 5 {
		first := play(at, 7, 3)
		if diff := cmp.Diff(first, play(at, 0, 10), protocmp.Transform()); diff != "" {
			t.Errorf("turn %d, same sum of seeds:\n%s", at, diff)
		}
		for _, messages := range [][]*worldv1.Message{first, play(at, 8, 3)} {
			raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(&agentgwv1.Reply{Messages: messages})
			if err != nil {
				t.Fatal(err)
			}
			different[string(raw)] = true
		}
	}
	if len(different) < 8 {
		t.Errorf("different turns over 5 positions and 2 seeds: got %d, want at least 8 of 10", len(different))
	}
}
