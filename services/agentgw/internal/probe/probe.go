// Package probe finds out what a model's server does with tools and settings, before anything is
// played. It sends a few short requests in the form of a model's turns. What their answers do not
// show stays unknown.
package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/httpclient"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	// Timeout bounds a probe.
	Timeout = 10 * time.Second
	// maxRequests bounds the requests to the model, maxTokens the tokens of each answer, and fewTokens
	// those of an answer whose text does not matter. Providers take no smaller limit.
	maxRequests = 4
	maxTokens   = 64
	fewTokens   = 16
	// seed and otherSeed are the seeds of requests. hot makes the same request vary by the seed alone,
	// cold does not.
	seed, otherSeed int64 = 20_011, 41
	hot, cold             = 1.0, 0.0
	// toolName is the tool of the probe. No prompt names it, so a model that does knows the tool.
	toolName = "jot_down_words"
	prompt   = "Call your tool with six random English words, and say nothing else. If you have no tool, answer with six random English words."
)

// Target is a model behind a server.
type Target struct {
	Client   *httpclient.Client
	Endpoint provider.Endpoint
	Codec    provider.Codec
	Model    *agentgwv1.Model
	// Prompted: the codec writes the tools into the prompt.
	Prompted bool
}

// Probe asks the server. It returns after at most Timeout, or when ctx is done.
func (t Target) Probe(ctx context.Context) *agentgwv1.ProbePlayerResponse {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	p := &prober{Target: t, found: &agentgwv1.ProbePlayerResponse{Usage: &agentgwv1.Usage{}}}
	var said description
	var group sync.WaitGroup
	if !t.Endpoint.Official {
		group.Go(func() { said = t.describe(ctx) })
	}
	p.converse(ctx)
	group.Wait()
	if said.context == 0 && !t.Endpoint.Official {
		said.context = t.loadedContext(ctx)
	}
	p.found.Slots, p.found.ContextTokens = said.slots, said.context
	if p.found.GetTools() == agentgwv1.ProbePlayerResponse_TOOLS_UNSPECIFIED {
		p.judgeTemplate(said)
	}
	return p.found
}

// prober is one probe. It is not safe for concurrent use.
type prober struct {
	Target
	found   *agentgwv1.ProbePlayerResponse
	refusal *provider.Failure // of the last request, nil if it was answered
	// answered: the model has answered a request.
	answered bool
	// timed is the number of tokens behind found.TokensPerSecond.
	timed int64
}

// question is one request to the model.
type question struct {
	tools, long bool
	// Nil sends none, or the player's temperature.
	seed        *int64
	temperature *float64
}

// reply is the model's answer to a question.
type reply struct {
	answer *provider.Answer
	// said is its text and calls, without ids. prompted are the tokens of the prompt, 0 if they are
	// not reported.
	said     string
	prompted int64
}

// encode returns the request of a question.
func (t Target) encode(q question) (*provider.Request, error) {
	model := proto.CloneOf(t.Model)
	most, text := int32(maxTokens), prompt
	if q.long { // first, so that no cached beginning hides it
		most, text = fewTokens, strings.Repeat(filler, fillers)+prompt
	}
	most += model.GetThinkingBudget() // some providers count thinking as part of the answer
	if limit := model.GetMaxTokens(); limit == 0 || limit > most {
		model.MaxTokens = most
	}
	if q.temperature != nil {
		model.Temperature = q.temperature
	}
	query := &provider.Query{
		Model: model, Official: t.Endpoint.Official, Seed: q.seed,
		Transcript: []conversation.Entry{{Kind: conversation.User, Text: text}},
	}
	if q.tools {
		query.Tools = []*worldv1.Tool{{
			Name: toolName, ExecutionName: toolName, Description: "Writes English words into the user's notebook, for a crossword.",
			ParametersJson: `{"type":"object","properties":{"words":{"type":"string","description":"The words, with blanks between them."}},"required":["words"]}`,
		}}
	}
	return t.Codec.Encode(query)
}

// ask sends a question, unless the probe has used up its requests or its time. It returns nil if
// nothing was answered.
func (p *prober) ask(ctx context.Context, q question) *reply {
	deadline, _ := ctx.Deadline()
	if p.found.GetRequests() == maxRequests || ctx.Err() != nil {
		return nil
	}
	request, err := p.encode(q)
	if err != nil {
		p.fail(&provider.Failure{Detail: err.Error()})
		return nil
	}
	p.found.Requests++
	body, err := p.Client.Send(ctx, p.Endpoint, request, time.Until(deadline))
	if err == nil {
		body = httpclient.Redact(body, p.Endpoint.Secret)
		var answer *provider.Answer
		if answer, err = p.Codec.Decode(body); err == nil {
			p.refusal, p.found.Problem, p.answered = nil, "", true
			return p.read(answer, body)
		}
		err = httpclient.DecodeFailure(body, err, p.Endpoint)
	}
	failure, ok := errors.AsType[*provider.Failure](err)
	if !ok || failure.Timeout { // the probe's time is over
		failure = &provider.Failure{Detail: fmt.Sprintf("no answer within %s", Timeout)}
	}
	p.fail(failure)
	return nil
}

func (p *prober) fail(failure *provider.Failure) {
	p.refusal, p.found.Problem = failure, strings.ToValidUTF8(failure.Error(), "?")
}

// read returns the reply of an answer, and adds its usage and speed to what is found.
func (p *prober) read(answer *provider.Answer, body []byte) *reply {
	_, said := lenient.SplitThinking(answer.Text)
	for _, call := range answer.Calls {
		said += " " + call.Name + " " + call.Arguments
	}
	if used := answer.Usage; used != nil {
		sum := p.found.GetUsage()
		sum.InputTokens += used.GetInputTokens()
		sum.CachedTokens += used.GetCachedTokens()
		sum.OutputTokens += used.GetOutputTokens()
		sum.ReasoningTokens += used.GetReasoningTokens()
	}
	var measured struct {
		Timings struct {
			Tokens int64   `json:"predicted_n"`
			Speed  float64 `json:"predicted_per_second"`
		} `json:"timings"`
	}
	if json.Unmarshal(body, &measured) == nil && measured.Timings.Tokens > p.timed && plausibleSpeed(measured.Timings.Speed) {
		p.timed, p.found.TokensPerSecond = measured.Timings.Tokens, measured.Timings.Speed
	}
	return &reply{answer: answer, said: strings.TrimSpace(said), prompted: answer.Usage.GetInputTokens()}
}

// plausibleSpeed reports whether a server may answer so many tokens a second.
func plausibleSpeed(speed float64) bool { return speed > 0 && speed < 1e6 }

// converse asks the model with a tool, without one if its name does not come back, and with the
// settings varied.
func (p *prober) converse(ctx context.Context) {
	base := question{tools: true, seed: new(seed), temperature: new(hot)}
	p.omitUnsent(&base)
	first, problem := p.ask(ctx, base), ""
	for first == nil && p.omitRefused(&base) {
		problem = p.found.GetProblem() // the last one is about tools, if the server refuses them
		first = p.ask(ctx, base)
	}
	if first == nil {
		p.found.Seed, p.found.Temperature = unknown, unknown
		return
	}
	if !base.tools {
		p.found.Tools, p.found.ToolsReason = agentgwv1.ProbePlayerResponse_TOOLS_REFUSED, problem
	} else {
		p.judgeCall(first)
	}
	switch {
	case p.Prompted:
		p.found.Tools, p.found.ToolsReason = agentgwv1.ProbePlayerResponse_TOOLS_PROMPTED, ""
	case p.found.GetTools() == agentgwv1.ProbePlayerResponse_TOOLS_UNSPECIFIED:
		base.tools = false
		plain := p.ask(ctx, base)
		p.judgeCounts(ctx, base, first, plain)
		first = plain
	}
	if first != nil {
		p.judgeSettings(ctx, base, first)
	}
}

// omitUnsent takes settings from a question that its codec does not send.
func (p *prober) omitUnsent(q *question) {
	sends := func(with question) bool {
		one, err := p.encode(with)
		other, otherErr := p.encode(*q)
		return err != nil || otherErr != nil || string(one.Body) != string(other.Body)
	}
	with := *q
	if with.seed = nil; !sends(with) {
		q.seed, p.found.Seed = nil, unsent
	}
	with = *q
	if with.temperature = new(cold); !sends(with) {
		q.temperature, p.found.Temperature = nil, unsent
	}
}

// omitRefused takes from a question what the last error names as refused. It returns false if that
// is nothing.
func (p *prober) omitRefused(q *question) bool {
	switch {
	case q.seed != nil && p.refuses("seed"):
		q.seed, p.found.Seed = nil, refused
	case q.temperature != nil && p.refuses("temperature"):
		q.temperature, p.found.Temperature = nil, refused
	case q.tools && !p.Prompted && p.refuses("tool"):
		q.tools = false
	default:
		return false
	}
	return true
}

// refuses reports whether the server refused the last request with an error about a word. The
// address in the error does not count.
func (p *prober) refuses(word string) bool {
	if p.refusal == nil {
		return false
	}
	switch p.refusal.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusNotImplemented:
		detail, _, _ := strings.Cut(p.refusal.Detail, " (at ")
		return strings.Contains(strings.ToLower(detail), word)
	default:
		return false
	}
}
