package model

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/turn"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

func TestCallsInText(t *testing.T) {
	tools := turn.NewTools([]*worldv1.Tool{{Name: "set_wifi_status"}, {Name: "search_contacts"}})
	for text, want := range map[string]string{
		"<tool_call>\n{\"name\": \"set_wifi_status\", \"arguments\": {\"on\": false}}\n</tool_call>": "set_wifi_status",
		`{"tool": "search_contacts", "parameters": {}}`:                                              "search_contacts",
		"[set_wifi_status(on=False)]":                                                                "set_wifi_status",
		"```python\nprint(search_contacts(name='Ann'))\n```":                                         "search_contacts",
		"I used set_wifi_status for that.":                                                           "",
		`Her name is "search_contacts".`:                                                             "",
		`{"name": "another_tool", "arguments": {}}`:                                                  "",
		"reset_wifi_status(1)":                                                                       "",
		"":                                                                                           "",
	} {
		if got := calledInText(text, tools); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestRemarks(t *testing.T) {
	say := func(text string) []*worldv1.Message {
		return []*worldv1.Message{{Body: &worldv1.Message_Text{Text: text}}}
	}
	remark := func(kind agentgwv1.RemarkKind, detail string) []*agentgwv1.Remark {
		return []*agentgwv1.Remark{{Kind: kind, Detail: detail}}
	}
	for name, test := range map[string]struct {
		answer   *provider.Answer
		messages []*worldv1.Message
		want     []*agentgwv1.Remark
	}{
		"text":         {&provider.Answer{Text: "Done."}, say("Done."), nil},
		"empty":        {&provider.Answer{EmptyReason: "blocked\xff"}, say(""), remark(agentgwv1.RemarkKind_REMARK_KIND_EMPTY, "blocked?")},
		"refused":      {&provider.Answer{Text: "No.", Refusal: strings.Repeat("é", 301)}, say("No."), remark(agentgwv1.RemarkKind_REMARK_KIND_REFUSED, strings.Repeat("é", 300))},
		"only refused": {&provider.Answer{EmptyReason: "blocked", Refusal: "SAFETY"}, say(""), remark(agentgwv1.RemarkKind_REMARK_KIND_REFUSED, "SAFETY")},
		"cut": {
			&provider.Answer{Calls: []turn.Call{{Name: "f"}, {Name: "g", Truncated: true}}}, nil,
			remark(agentgwv1.RemarkKind_REMARK_KIND_CUT_OFF, "g"),
		},
		"call": {&provider.Answer{Text: "f()"}, say("f()"), remark(agentgwv1.RemarkKind_REMARK_KIND_CALL_AS_TEXT, "f")},
	} {
		got := remarks(test.answer, test.messages, turn.NewTools([]*worldv1.Tool{{Name: "f"}}))
		if diff := cmp.Diff(test.want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
