// Package describe describes a scenario in words: its world, what its user wants, its solution and
// its score.
package describe

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/timezone"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// Subject is a scenario with its origin.
type Subject struct {
	// Scenario is the described scenario.
	Scenario *scenariov1.Scenario
	// Position is its position, file:line:column.
	Position string
	// World is the name of its initial world, and Base are that world's tables; empty if unknown.
	World string
	Base  []*worldv1.Table
}

// Write writes the description. The error is that of w.
func Write(w io.Writer, subject Subject) error {
	setup := subject.Scenario.GetSetup()
	p := &printer{zone: zone(setup), schema: world.SchemaOrBuiltin(setup.GetSchema())}
	p.line("%s", setup.GetName())
	p.pair("written at", subject.Position)
	if l := subject.Scenario.GetLineage(); l != nil {
		p.pair("extends", fmt.Sprintf("%s; %s from the seed %s", l.GetExtends(), scenario.Kind(subject.Scenario), l.GetSeed()))
	}
	p.pair("categories", strings.Join(setup.GetCategories(), " "))
	p.pair("notes", subject.Scenario.GetNotes())
	clock := p.time(setup.GetClock().GetNow()) + " " + setup.GetClock().GetTimeZone()
	if step := setup.GetClock().GetStep(); step > 0 {
		clock += fmt.Sprintf(", %s s later with each message", number(step))
	}
	for _, of := range []struct {
		role    string
		seconds float64
	}{{"user", setup.GetClock().GetUserTurn()}, {"agent", setup.GetClock().GetAgentTurn()}} {
		if of.seconds > 0 {
			clock += fmt.Sprintf(", %s s for each turn of the %s", number(of.seconds), of.role)
		}
	}
	p.pair("clock", clock)
	p.pair("limit", fmt.Sprintf("%d messages", setup.GetMaxMessages()))
	p.tools(setup)
	p.world(subject)
	p.user(subject.Scenario)
	p.heading("Oracle")
	p.turns("  ", setup.GetOracleScript())
	p.record(subject.Scenario)
	p.graph("Milestones", subject.Scenario.GetEvaluation().GetMilestones(), func(int) {})
	p.graph("Minefields", subject.Scenario.GetEvaluation().GetMinefields(), func(i int) { p.minefield(subject.Scenario, i) })
	p.proof(subject.Scenario)
	_, err := io.WriteString(w, p.out.String())
	return err
}

// printer collects lines.
type printer struct {
	out    strings.Builder
	zone   *time.Location
	schema *world.Schema
}

func (p *printer) line(format string, args ...any) { fmt.Fprintf(&p.out, format+"\n", args...) }

// pair writes a fact, unless it is empty.
func (p *printer) pair(name, text string) {
	if text = strings.TrimSpace(text); text != "" {
		p.line("  %-12s%s", name, strings.ReplaceAll(text, "\n", "\n              "))
	}
}

func (p *printer) heading(text string) { p.line("\n%s", text) }

func zone(setup *setupv1.Setup) *time.Location {
	found, err := timezone.Load(setup.GetClock().GetTimeZone())
	if err != nil {
		return time.UTC
	}
	return found
}

// time returns POSIX seconds as local time.
func (p *printer) time(seconds float64) string {
	return time.UnixMilli(int64(seconds * 1000)).In(p.zone).Format("2006-01-02 15:04:05")
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// record writes the functions and the expected calls of a record of EuroEval's task.
func (p *printer) record(subject *scenariov1.Scenario) {
	record := subject.GetEvaluation().GetFunctionCalling()
	if record == nil {
		return
	}
	p.heading("Functions")
	for _, tool := range subject.GetSetup().GetFunctionCalling().GetFunctions() {
		p.line("  %s: %s", tool.GetExecutionName(), tool.GetDescription())
	}
	p.heading("Expected calls")
	p.line("  %s", record.GetAnswersJson())
}

func (p *printer) tools(setup *setupv1.Setup) {
	if setup.GetFunctionCalling() != nil {
		return
	}
	tools := setup.GetTools()
	p.pair("tools", cmp.Or(strings.Join(tools.GetAllow(), ", "), "all"))
	p.pair("without", strings.Join(tools.GetDeny(), ", "))
	p.pair("user's own", strings.Join(tools.GetUser(), ", "))
	var names []string
	for _, a := range tools.GetAugmentations() {
		names = append(names, strings.TrimPrefix(a.String(), "AUGMENTATION_"))
	}
	p.pair("shown with", strings.Join(names, " "))
	if count := len(tools.GetDescriptions()); count > 0 {
		p.pair("texts", fmt.Sprintf("of %d tools, by the pack", count))
	}
	if count := len(setup.GetRecordings()); count > 0 {
		p.pair("recordings", fmt.Sprintf("%d of external services", count))
	}
}

// user writes what the user wants, knows and says, or the starting messages if they are given
// literally.
func (p *printer) user(subject *scenariov1.Scenario) {
	setup, user := subject.GetSetup(), subject.GetEvaluation().GetUser()
	authored := user.GetGoal() != ""
	if authored {
		p.heading("The user wants")
		p.line("  %s", indented(user.GetGoal()))
		p.list("The user knows", user.GetKnowledge())
		p.list("The user does not know", user.GetUnknown())
	}
	p.heading("Starting messages")
	for i, m := range setup.GetMessages() {
		text := messagetext.Content(m)
		if call := m.GetCall(); call != nil {
			text = call.GetTool() + " " + call.GetArgumentsJson()
		}
		if authored && m.GetSender() == worldv1.Role_ROLE_SYSTEM {
			continue // the goal is written above, the others are the same everywhere
		}
		p.line("  %d. %s to %s: %s", i, world.RoleName(m.GetSender()), world.RoleName(m.GetRecipient()), indented(text))
	}
	p.heading("The scripted user continues")
	p.turns("  ", setup.GetUserScript())
}

// list writes items below a heading, nothing if there are none.
func (p *printer) list(heading string, items []string) {
	if len(items) == 0 {
		return
	}
	p.heading(heading)
	for _, item := range items {
		p.line("  - %s", indented(item))
	}
}

func indented(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}

// turns writes a script; a turn with several calls has one line per call.
func (p *printer) turns(indent string, turns []*worldv1.ScriptTurn) {
	if len(turns) == 0 {
		p.line("%snothing", indent)
	}
	for i, turn := range turns {
		if len(turn.GetCalls()) == 0 {
			p.line("%s%d. %q", indent, i+1, turn.GetSay())
		}
		for j, call := range turn.GetCalls() {
			mark := strconv.Itoa(i+1) + "."
			if j > 0 {
				mark = strings.Repeat(" ", len(mark))
			}
			p.line("%s%s %s %s", indent, mark, call.GetTool(), call.GetArgumentsJson())
		}
	}
}

// minefield writes a minefield's guardrails that disable it, and its trigger.
func (p *printer) minefield(s *scenariov1.Scenario, i int) {
	graph := s.GetEvaluation().GetMinefields()
	since := make(map[string][]string)
	var order []string
	for _, guard := range scenario.Guardrails(p.schema, graph, i) {
		when := guard.ReferenceText(graph)
		if since[when] == nil {
			order = append(order, when)
		}
		since[when] = append(since[when], guard.Table)
	}
	for _, when := range order {
		p.line("      counts only while these have not changed since %s: %s (automatic guardrails)", when, strings.Join(since[when], ", "))
	}
	for _, line := range scenario.DisablingGuardrails(s, i) {
		p.line("      %s", line)
	}
	for _, trigger := range s.GetProof().GetTriggers() {
		if int(trigger.GetMinefield()) == i {
			p.line("      triggered by")
			p.turns("        ", trigger.GetTurns())
		}
	}
}

// graph writes the nodes with their predecessors and further details.
func (p *printer) graph(heading string, graph *evaluationv1.Graph, more func(i int)) {
	if len(graph.GetNodes()) == 0 {
		return
	}
	p.heading(heading)
	for i, node := range graph.GetNodes() {
		var before []string
		for _, edge := range graph.GetEdges() {
			if int(edge.GetAfter()) == i {
				before = append(before, title(graph, int(edge.GetBefore())))
			}
		}
		text := title(graph, i)
		if len(before) > 0 {
			text += ", after " + strings.Join(before, " and ")
		}
		p.line("  %s", text)
		for _, line := range constraints(graph, node, p.zone) {
			p.line("      %s", line)
		}
		p.guardrails(node)
		more(i)
	}
}

func (p *printer) guardrails(node *evaluationv1.Node) {
	switch {
	case node.GetRestrictGuardrails() && len(node.GetGuardrailTables()) == 0:
		p.line("      guards no table")
	case node.GetRestrictGuardrails():
		p.line("      guards only %s", strings.Join(node.GetGuardrailTables(), ", "))
	}
	if len(node.GetUnguardedTables()) > 0 {
		p.line("      does not guard %s", strings.Join(node.GetUnguardedTables(), ", "))
	}
}

func (p *printer) proof(s *scenariov1.Scenario) {
	if s.GetProof() == nil {
		return
	}
	p.heading("Proof")
	p.line("  an agent that does nothing useful scores at most %s", number(s.GetProof().GetMaxIdleScore()))
	for _, order := range s.GetProof().GetOrders() {
		var turns []string
		for _, turn := range order.GetTurns() {
			turns = append(turns, strconv.Itoa(int(turn)+1))
		}
		p.line("  the oracle's turns may also come in the order %s", strings.Join(turns, ", "))
	}
}
