package probe

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// The values of a setting.
const (
	unknown = agentgwv1.ProbePlayerResponse_SETTING_UNSPECIFIED
	kept    = agentgwv1.ProbePlayerResponse_SETTING_KEPT
	differs = agentgwv1.ProbePlayerResponse_SETTING_DIFFERS
	refused = agentgwv1.ProbePlayerResponse_SETTING_REFUSED
	unsent  = agentgwv1.ProbePlayerResponse_SETTING_UNSENT
)

const (
	// filler is a sentence that makes a prompt longer. It stands there fillers times.
	filler  = "Take your time, and think about the garden behind the old house. "
	fillers = 20
	// minFiller and maxFiller are the tokens that the sentences have in any tokenizer.
	minFiller, maxFiller = fillers * 6, fillers * len(filler)
	// minTool is the least that a tool adds to a prompt in tokens.
	minTool = 12
	// maxShown bounds the part of a text that a reason shows, in characters.
	maxShown = 60
)

// judgeCall judges how a call came back in the answer to a request with a tool. A model that knows
// the tool's name has seen the tool.
func (p *prober) judgeCall(r *reply) {
	names := make([]string, len(r.answer.Calls))
	for i, call := range r.answer.Calls {
		names[i] = call.Name
	}
	text := r.answer.Text
	knows := strings.Contains(r.said, toolName)
	switch {
	case len(names) > 0 && (names[0] == toolName || !p.Prompted):
		p.found.Calls = agentgwv1.ProbePlayerResponse_CALLS_CALL
	case len(names) > 0:
		p.found.CallsReason = "the call in the answer has no known form: " + shown(r.said)
	case lenient.LooksLikeCall(text, toolName):
		p.found.Calls, p.found.CallsReason = agentgwv1.ProbePlayerResponse_CALLS_TEXT, shown(text)
	case r.said == "" && r.answer.EmptyReason != "":
		p.found.CallsReason = strings.ToValidUTF8(r.answer.EmptyReason, "?")
	case r.said == "":
		p.found.CallsReason = "the answer is empty, or reasoning only"
	default:
		p.found.CallsReason = "the model did not call its tool"
	}
	if knows {
		p.found.Tools, p.found.ToolsReason = agentgwv1.ProbePlayerResponse_TOOLS_REACH, "the model wrote the name of one"
	}
}

// shown returns the beginning of a text, quoted.
func shown(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > maxShown {
		runes = append(runes[:maxShown-1], '…')
	}
	return fmt.Sprintf("%q", string(runes))
}

// judgeCounts judges by the tokens of equal prompts with and without a tool whether tools reach the
// model. Equal counts show that they do not if the server counts a longer prompt as longer, and if
// no call came back: some servers count messages only.
func (p *prober) judgeCounts(ctx context.Context, base question, tool, plain *reply) {
	if plain == nil {
		return
	}
	with, without := tool.prompted, plain.prompted
	switch {
	case with == 0 || without == 0:
		p.found.ToolsReason = "the server does not count the tokens of prompts"
	case with >= without+minTool:
		p.found.Tools = agentgwv1.ProbePlayerResponse_TOOLS_REACH
		p.found.ToolsReason = fmt.Sprintf("%d prompt tokens with a tool, %d without", with, without)
	case with != without || p.found.GetCalls() != agentgwv1.ProbePlayerResponse_CALLS_UNSPECIFIED:
		p.found.ToolsReason = fmt.Sprintf("%d prompt tokens with a tool, %d without", with, without)
	default:
		base.long = true
		longer := p.ask(ctx, base)
		if longer == nil {
			return
		}
		if more := longer.prompted - without; more < minFiller || more > int64(maxFiller) {
			p.found.ToolsReason = fmt.Sprintf("the server counts %d prompt tokens with and without a tool, and %d for a longer prompt", with, longer.prompted)
			return
		}
		p.found.Tools = agentgwv1.ProbePlayerResponse_TOOLS_DROPPED
		p.found.ToolsReason = fmt.Sprintf("%d prompt tokens with and without a tool, %d for a longer prompt", with, longer.prompted)
	}
}

// judgeTemplate judges by the server's chat template whether tools reach the model, which nothing
// else has shown.
func (p *prober) judgeTemplate(said description) {
	switch {
	case said.takesTools == nil || !p.answered:
	case *said.takesTools:
		p.found.Tools, p.found.ToolsReason = agentgwv1.ProbePlayerResponse_TOOLS_REACH, "its chat template takes them (/props)"
	case p.found.GetCalls() == agentgwv1.ProbePlayerResponse_CALLS_UNSPECIFIED:
		p.found.Tools, p.found.ToolsReason = agentgwv1.ProbePlayerResponse_TOOLS_DROPPED, "its chat template takes none (/props)"
	}
}

// judgeSettings repeats a question whose answer it has. If the answer is the same, another seed and
// another temperature should change it. If it is not, the seed has no effect, and a temperature of
// 0 should have equal answers.
func (p *prober) judgeSettings(ctx context.Context, base question, first *reply) {
	if base.seed == nil && base.temperature == nil || first.said == "" {
		return
	}
	again := p.ask(ctx, base)
	if again == nil {
		return
	}
	isEqual := again.said == first.said
	if base.seed != nil && isEqual {
		other := base
		other.seed = new(otherSeed)
		if r := p.ask(ctx, other); r != nil && r.said != first.said {
			p.found.Seed = kept
		}
	} else if base.seed != nil {
		p.found.Seed = differs
	}
	if base.temperature == nil {
		return
	}
	base.temperature = new(cold)
	last := p.ask(ctx, base)
	switch {
	case last == nil && p.refuses("temperature"):
		p.found.Temperature = refused
	case last == nil:
	case isEqual && last.said != first.said:
		p.found.Temperature = kept
	case !isEqual:
		if r := p.ask(ctx, base); r != nil && r.said == last.said {
			p.found.Temperature = kept
		}
	}
}
