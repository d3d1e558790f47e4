package view

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/telemetry"
	"github.com/toolsandbox/toolsandbox/internal/world"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/explain"
)

// transcriptPage is the number of messages on one page of a transcript.
const transcriptPage = 500

// rolloutBody is the content of a rollout's page.
type rolloutBody struct {
	Rollout analysis.Rollout
	Score   string
	Class   string
	// Verdict says what the score is made of, Remark why the recorded one is another.
	Verdict, Remark, Problem string
	// Failure is the error that ended it, empty without one.
	Failure text
	Causes  []cause
	// Grades are both verdicts on a record of EuroEval, Quirk why they differ.
	Grades           []explain.Verdict
	Quirk            string
	Answer, Expected text
	Facts            []fact
	Graphs           []*graph
	// Aside are the cards that stand at no message.
	Aside    []node
	Messages []message
	Count    int
	Pages    []link
	// Worlds: there are pages with the world at each message.
	Worlds   bool
	Scenario string
	// Trace is the address of the rollout's trace, empty for none.
	Trace string
	Forks *forks // nil if the rollout cannot be forked
	Tree  *forkNode
	// here is the path of the first page, size the number of messages on a page.
	here   string
	size   int
	static bool
}

// cause is a cause in words, with the path of its message.
type cause struct {
	Text, Path string
	User       bool
}

// fact is a fact about a rollout.
type fact struct{ Name, Text string }

// rolloutPage fills the page of a rollout. number is that of the page of its transcript, from 0.
func (v *Viewer) rolloutPage(ctx context.Context, p *page, letter, name string, number int, query url.Values) error {
	r, i, told, err := v.explainedRollout(ctx, letter, name)
	if err != nil {
		return err
	}
	return v.toldPage(p, r, i, told, number, query)
}

// toldPage is rolloutPage of an explained rollout.
func (v *Viewer) toldPage(p *page, r *run, i int, told explained, number int, query url.Values) error {
	body, err := v.rolloutBody(p, r, r.rollouts[i], told, number)
	if err != nil {
		return err
	}
	p.template, p.Title, p.Section, p.Body = "rollout", r.rollouts[i].Name, "rollouts", body
	if p.Whole == nil {
		p.Over = []link{{"run " + r.Letter, "index.html"}, {"rollouts", "rollouts.html" + v.state(query)}}
		p.Keys = v.neighbours(r, i, query)
	}
	return nil
}

func (v *Viewer) rolloutBody(p *page, r *run, rollout analysis.Rollout, told explained, number int) (*rolloutBody, error) {
	body := &rolloutBody{Rollout: rollout, Problem: told.Problem, Score: "no score", Class: "none", Count: len(told.Messages), Facts: facts(r, rollout), size: transcriptPage, static: p.Static}
	if told.Recorded != nil {
		body.Score, body.Class = explain.Number(*told.Recorded), scoreClass(*told.Recorded)
	}
	if trace := rollout.Entry.Traceback; trace != nil {
		lines := strings.Split(strings.TrimSpace(*trace), "\n")
		body.Failure = newText(lines[len(lines)-1], foldAt)
	}
	if p.Whole != nil {
		body.size = max(len(told.Messages), 1)
	}
	pages := pagesOf(len(told.Messages), body.size)
	if number < 0 || number >= pages {
		return nil, errNoPage
	}
	body.here = rolloutPath(r.Letter, rollout.Name)
	if pages > 1 {
		for i := range pages {
			body.Pages = append(body.Pages, link{fmt.Sprintf("%d–%d", i*body.size, min((i+1)*body.size, len(told.Messages))-1), ""})
			if i != number {
				body.Pages[i].Path = body.page(i)
			}
		}
	}
	for _, line := range told.CauseLines() {
		c := cause{Text: shorten(line.Text), User: line.User}
		if line.Message >= 0 {
			c.Path = body.At(number, line.Message)
		}
		body.Causes = append(body.Causes, c)
	}
	if shown := v.shownScenario(rollout); shown != "" && p.Whole == nil {
		body.Scenario = scenarioPath(shown)
	}
	if rollout.Outcome != nil && v.traceUI != "" {
		body.Trace = telemetry.TraceAddress(v.traceUI, rollout.Outcome.ID, rollout.Outcome.Round)
	}
	if told.Explanation != nil {
		body.Worlds = p.Whole == nil
		result := told.Explanation.GetResult()
		if grade := result.GetCallGrade(); grade != nil {
			body.Grades, body.Quirk = explain.Verdicts(grade)
			body.Answer, body.Expected = newText(grade.GetPrediction(), foldAt), newText(told.Evaluation.GetFunctionCalling().GetAnswersJson(), foldAt)
		}
		body.Remark = told.Remark()
		body.Verdict = fmt.Sprintf("similarity %s (milestones %s, minefields %s), %d messages", explain.Number(result.GetSimilarity()),
			explain.Number(result.GetMilestoneSimilarity()), explain.Number(result.GetMinefieldSimilarity()), result.GetMessageCount())
	}
	body.transcript(told, rollout, number)
	body.Forks = v.forks(r, rollout, told)
	if p.Whole == nil {
		body.Tree = v.forkTree(p.Root, rollout)
	}
	return body, nil
}

// pagesOf is the number of pages of a transcript.
func pagesOf(messages, size int) int { return max((messages+size-1)/size, 1) }

// page is the path of a page of the transcript, from 0.
func (b *rolloutBody) page(number int) string {
	return subPath(b.here, "page", strconv.Itoa(number+1), b.static)
}

// World is the path of the world at a message.
func (b *rolloutBody) World(message int) string {
	return subPath(b.here, "world", strconv.Itoa(message), b.static)
}

// At is the path of a message, as seen from a page of the transcript: a fragment on the same page.
func (b *rolloutBody) At(number, message int) string {
	return b.link(number, message, fmt.Sprintf("m%d", message))
}

// link is the path of an element at a message. A path that begins with # is on the same page.
func (b *rolloutBody) link(number, message int, id string) string {
	if at := message / b.size; at != number {
		return b.page(at) + "#" + id
	}
	return "#" + id
}

// transcript fills messages, cards and graphs.
func (b *rolloutBody) transcript(told explained, rollout analysis.Rollout, number int) {
	first := number * b.size
	last := min(first+b.size, len(told.Messages))
	for i, m := range told.Messages[first:last] {
		b.Messages = append(b.Messages, newMessage(first+i, m))
		if turn, ok := told.Turns[first+i]; ok {
			b.Messages[i].Reasoning, b.Messages[i].Usage = newText(turn.Reasoning, foldAt), tokens(turn.Usage)
		}
	}
	if rollout.Outcome != nil {
		for _, flag := range rollout.Outcome.UserFlags {
			if flag.Index >= first && flag.Index < last {
				m := &b.Messages[flag.Index-first]
				m.Flags = append(m.Flags, shorten(flag.Rule+": "+flag.Evidence))
			}
		}
	}
	if told.Explanation == nil {
		return
	}
	schema := world.SchemaOrBuiltin(told.Evaluation.GetSchema())
	for at, changes := range changesBy(schema, told.Tables) {
		if at >= first && at < last {
			b.Messages[at-first].Changes = changes
		}
	}
	n := nodes{told.Report, schema}
	milestones := n.graph("milestone", told.Evaluation.GetMilestones(), told.Explanation.GetMilestones())
	minefields := n.graph("minefield", told.Evaluation.GetMinefields(), told.Explanation.GetMinefields())
	for _, drawn := range []*graph{draw("Milestones", told.Evaluation.GetMilestones(), milestones), draw("Minefields", told.Evaluation.GetMinefields(), minefields)} {
		if drawn != nil {
			b.Graphs = append(b.Graphs, drawn)
		}
	}
	for _, card := range slices.Concat(milestones, minefields) {
		switch {
		case card.Message < 0 || card.Message >= len(told.Messages):
			b.Aside = append(b.Aside, card)
		case card.Message >= first && card.Message < last:
			m := &b.Messages[card.Message-first]
			m.Nodes = append(m.Nodes, card)
		}
		b.target(number, card)
	}
}

// target lets a box of a graph lead to its card, which may be on another page.
func (b *rolloutBody) target(number int, card node) {
	for _, drawn := range b.Graphs {
		for i := range drawn.Boxes {
			if drawn.Boxes[i].Target == card.ID {
				drawn.Boxes[i].Target = "#" + card.ID
				if card.Message >= 0 && card.Message < b.Count {
					drawn.Boxes[i].Target = b.link(number, card.Message, card.ID)
				}
			}
		}
	}
}

// tokens are the usage of a turn in words, empty where none was reported.
func tokens(u *agentgwv1.Usage) string {
	if u == nil {
		return ""
	}
	in, out := fmt.Sprintf("%d tokens in", u.GetInputTokens()), fmt.Sprintf("%d out", u.GetOutputTokens())
	if u.GetCachedTokens() > 0 {
		in += fmt.Sprintf(" (%d cached)", u.GetCachedTokens())
	}
	if u.GetReasoningTokens() > 0 {
		out += fmt.Sprintf(" (%d for reasoning)", u.GetReasoningTokens())
	}
	return in + ", " + out
}

// facts are what the run recorded of a rollout.
func facts(r *run, rollout analysis.Rollout) []fact {
	list := []fact{{"agent", r.Agent}, {"user", r.User}, {"variant", rollout.Variant}, {"turns", strconv.Itoa(rollout.Turns)}}
	o := rollout.Outcome
	if o == nil {
		return slices.DeleteFunc(list, func(f fact) bool { return f.Text == "" })
	}
	if rollout.Calls != nil {
		list = append(list, fact{"calls", strconv.Itoa(*rollout.Calls)})
	}
	list = append(list, fact{"end", strings.ReplaceAll(o.End, "_", " ")}, fact{"seed", strconv.FormatInt(o.Seed, 10)})
	if rollout.Seconds != nil {
		list = append(list, fact{"time", fmt.Sprintf("%.2f s", *rollout.Seconds)})
	}
	if o.Usage != nil && o.Usage.Agent != nil {
		if in, out, ok := o.Usage.Agent.Tokens(); ok {
			list = append(list, fact{"tokens", fmt.Sprintf("%d in, %d out", in, out)})
		}
	}
	if o.Usage != nil && o.Usage.Agent != nil && o.Usage.Agent.CostUSD != nil {
		list = append(list, fact{"cost", fmt.Sprintf("%.4f USD", *o.Usage.Agent.CostUSD)})
	}
	if o.FailureClass != "" {
		list = append(list, fact{"failure", o.FailureClass})
	}
	if rollout.Entry.ExceptionType != nil {
		list = append(list, fact{"exception", *rollout.Entry.ExceptionType})
	}
	if o.Damage != "" {
		list = append(list, fact{"damage", o.Damage})
	}
	return list
}
