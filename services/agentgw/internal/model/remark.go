package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/turn"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"
)

// maxRemark bounds the characters of a remark's detail.
const maxRemark = 300

// remarks returns what was special about an answer and its messages.
func remarks(answer *provider.Answer, messages []*worldv1.Message, tools *turn.Tools) (list []*agentgwv1.Remark) {
	add := func(kind agentgwv1.RemarkKind, detail string) {
		list = append(list, &agentgwv1.Remark{Kind: kind, Detail: fmt.Sprintf("%.*s", maxRemark, strings.ToValidUTF8(detail, "?"))})
	}
	for _, call := range answer.Calls {
		if call.Truncated {
			add(agentgwv1.RemarkKind_REMARK_KIND_CUT_OFF, call.Name)
		}
	}
	if answer.Refusal != "" {
		add(agentgwv1.RemarkKind_REMARK_KIND_REFUSED, answer.Refusal)
	}
	if len(answer.Calls) > 0 || len(messages) == 0 {
		return list
	}
	text := messages[0].GetText()
	if text == "" && answer.Refusal == "" {
		add(agentgwv1.RemarkKind_REMARK_KIND_EMPTY, answer.EmptyReason)
	}
	if tool := calledInText(text, tools); tool != "" {
		add(agentgwv1.RemarkKind_REMARK_KIND_CALL_AS_TEXT, tool)
	}
	return list
}

// calledInText returns the first tool that a text calls, empty if it calls none.
func calledInText(text string, tools *turn.Tools) string {
	for _, name := range lenient.CalledInText(text) {
		if slices.ContainsFunc(tools.List(), func(tool *worldv1.Tool) bool { return tool.GetName() == name }) {
			return name
		}
	}
	return ""
}
