package resultfile

import (
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/row"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// transcript converts a rollout's messages to chat messages.
type transcript struct {
	schema *world.Schema
	Rollout
	milestones, minefields *graphWriter
}

// Conversation returns the content of conversation.json.
func Conversation(r Rollout) ([]byte, error) { return encodeDocument(conversation(r), "  ") }

// conversation returns the chat of a rollout: the messages that the agent could see, as
// OpenAI chat messages. Consecutive calls become one message. Each message has the table versions
// and matches of its index. The user's next text has those of the user's own calls, which the agent
// cannot see.
func conversation(r Rollout) []any {
	schema := world.SchemaOrBuiltin(r.Scenario.GetSetup().GetSchema())
	t := transcript{
		Rollout:    r,
		schema:     schema,
		milestones: newGraphText(schema, r.Scenario.GetEvaluation().GetMilestones()),
		minefields: newGraphText(schema, r.Scenario.GetEvaluation().GetMinefields()),
	}
	out := []any{}
	var done []*worldv1.Message // the user's calls since its last text
	for i := 0; i < len(r.Messages); i++ {
		m := r.Messages[i]
		if !world.VisibleTo(m, worldv1.Role_ROLE_AGENT) {
			if len(r.Scenario.GetSetup().GetTools().GetUser()) > 0 && m.GetSender() == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT {
				done = append(done, m)
			}
			continue
		}
		switch sender, recipient := m.GetSender(), m.GetRecipient(); {
		case sender == worldv1.Role_ROLE_SYSTEM && recipient == worldv1.Role_ROLE_AGENT:
			out = append(out, t.chat("system", "system_details", m))
		case sender == worldv1.Role_ROLE_USER && recipient == worldv1.Role_ROLE_AGENT:
			out = append(out, t.withDetails(object{{"role", "user"}, {"content", content(m)}}, "user_details", append(done, m)...))
			done = nil
		case sender == worldv1.Role_ROLE_AGENT && recipient == worldv1.Role_ROLE_USER:
			out = append(out, t.chat("assistant", "assistant_details", m))
		case sender == worldv1.Role_ROLE_AGENT && recipient == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT:
			calls := 1
			for i+calls < len(r.Messages) && isCall(r.Messages[i+calls]) {
				calls++
			}
			out = append(out, t.calls(r.Messages[i:i+calls]))
			i += calls - 1
		case sender == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT && recipient == worldv1.Role_ROLE_AGENT && m.GetResult() == nil:
			out = append(out, t.withDetails(object{{"role", "user"}, {"name", "notification"}, {"content", content(m)}}, "notification_details", m))
		case sender == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT && recipient == worldv1.Role_ROLE_AGENT:
			out = append(out, t.withDetails(object{
				{"tool_call_id", m.GetResult().Id}, {"role", "tool"}, {"name", m.GetResult().Name}, {"content", content(m)},
			}, "tool_details", m))
		}
	}
	return out
}

func isCall(m *worldv1.Message) bool {
	return m.GetSender() == worldv1.Role_ROLE_AGENT && m.GetRecipient() == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
}

func (t *transcript) chat(role, details string, m *worldv1.Message) object {
	return t.withDetails(object{{"role", role}, {"content", content(m)}}, details, m)
}

// content returns nil for a null content.
func content(m *worldv1.Message) *string { return row.Of(m).Content }

// callArguments returns the arguments of a call as JSON text, and code verbatim.
func callArguments(m *worldv1.Message) string {
	call := m.GetCall()
	if call == nil {
		return messagetext.Content(m)
	}
	value, err := messagetext.Arguments(call)
	if err != nil {
		value = python.Str(call.GetArgumentsText())
	}
	return python.JSON(value)
}

// calls returns one message for the calls of one turn.
func (t *transcript) calls(messages []*worldv1.Message) object {
	var calls []any
	for _, m := range messages {
		id, name := messagetext.Answering(m)
		calls = append(calls, object{
			{"id", id},
			{"function", object{{"arguments", callArguments(m)}, {"name", name}}},
			{"type", "function"},
		})
	}
	return t.withDetails(object{{"role", "assistant"}, {"content", ""}, {"tool_calls", calls}}, "assistant_details", messages...)
}

// withDetails appends the events at the messages' indices, if there are any.
func (t *transcript) withDetails(chat object, key string, messages ...*worldv1.Message) object {
	var indices []int32
	for _, m := range messages {
		indices = append(indices, m.GetIndex())
	}
	var details object
	if update := t.update(indices); len(update) > 0 {
		details = append(details, member{"database_update", update})
	}
	if found := t.matches(t.milestones, "milestone", t.Result.GetMilestones(), indices); len(found) > 0 {
		details = append(details, member{"milestone_matches", found})
	}
	if found := t.matches(t.minefields, "minefield", t.Result.GetMinefields(), indices); len(found) > 0 {
		details = append(details, member{"minefield_matches", found})
	}
	if len(details) > 0 {
		chat = append(chat, member{key, details})
	}
	return chat
}

// update returns the table versions stored at the given indices.
func (t *transcript) update(indices []int32) object {
	var update object
	for _, schema := range t.schema.Tables() {
		for _, version := range versionsOf(t.Tables, schema.Name) {
			if !slices.Contains(indices, version.GetIndex()) {
				continue
			}
			rows := []any{}
			for _, row := range version.GetRows() {
				rows = append(rows, rowObject(schema, row))
			}
			update = append(update, member{schema.Name, rows})
		}
	}
	return update
}

// matches returns the nodes that were matched at the given indices.
func (t *transcript) matches(graph *graphWriter, word string, matches []*busv1.Match, indices []int32) []any {
	var out []any
	for _, m := range matches {
		if !slices.Contains(indices, m.GetIndex()) || int(m.GetNode()) >= len(graph.nodes) || m.GetNode() < 0 {
			continue
		}
		out = append(out, object{
			{word + "_index", m.GetNode()},
			{word, graph.node(int(m.GetNode()))},
			{word + "_similarity", similarityOf(m.GetSimilarity())},
		})
	}
	return out
}

// graphWriter converts the nodes of a graph.
type graphWriter struct {
	schema *world.Schema
	nodes  []*evaluationv1.Node
	edges  []*evaluationv1.Edge
}

func newGraphText(schema *world.Schema, g *evaluationv1.Graph) *graphWriter {
	return &graphWriter{schema: schema, nodes: g.GetNodes(), edges: g.GetEdges()}
}

// node returns a node with its automatic guardrails.
func (g *graphWriter) node(i int) object {
	node := g.nodes[i]
	constraints := []any{}
	for _, c := range node.GetConstraints() {
		constraints = append(constraints, g.constraint(c))
	}
	for _, c := range g.guardrails(i) {
		constraints = append(constraints, g.constraint(c))
	}
	guardable := g.guardable(node)
	var excluded []string
	for _, schema := range g.schema.Tables() {
		if !slices.Contains(guardable, schema.Name) {
			excluded = append(excluded, schema.Name)
		}
	}
	return object{
		{"snapshot_constraints", constraints},
		{"guardrail_database_list", append([]string{}, guardable...)},
		{"guardrail_database_exclusion_list", nullIfEmpty(excluded)},
	}
}

// guardable returns the tables with guardrails at a node, including SANDBOX, as in the original.
func (g *graphWriter) guardable(node *evaluationv1.Node) []string {
	var tables []string
	for _, schema := range g.schema.Tables() {
		if (!node.GetRestrictGuardrails() || slices.Contains(node.GetGuardrailTables(), schema.Name)) &&
			!slices.Contains(node.GetUnguardedTables(), schema.Name) {
			tables = append(tables, schema.Name)
		}
	}
	return tables
}

// guardrails returns the automatic guardrails of a node. For each node that it refers to or
// follows, each guardable table must be unchanged since, unless a constraint of either node names
// it. A reference to the first user message also considers the last node's constraints.
func (g *graphWriter) guardrails(i int) []*evaluationv1.Constraint {
	var since []int32
	for _, c := range g.nodes[i].GetConstraints() {
		if c.Reference != nil {
			since = append(since, c.GetReference())
		}
	}
	for _, edge := range g.edges {
		if int(edge.GetAfter()) == i {
			since = append(since, edge.GetBefore())
		}
	}
	slices.Sort(since)
	since = slices.Compact(since)
	named := map[string]bool{world.Sandbox: true}
	for _, number := range append([]int32{int32(i)}, since...) {
		if number < 0 {
			number = int32(len(g.nodes) - 1)
		}
		if int(number) >= len(g.nodes) {
			continue
		}
		for _, c := range g.nodes[number].GetConstraints() {
			named[c.GetTable()] = true
		}
	}
	tables := g.guardable(g.nodes[i])
	var out []*evaluationv1.Constraint
	for _, reference := range since {
		for _, table := range g.guardrailOrder() {
			if slices.Contains(tables, table) && !named[table] {
				out = append(out, &evaluationv1.Constraint{
					Table: table, Measure: evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_GUARDRAIL, Reference: &reference,
				})
			}
		}
	}
	return out
}

// guardrailOrder is the order of guardrails in the file. The original's order depends on hashing;
// this is the most frequent one. Tables of packs are last.
func (g *graphWriter) guardrailOrder() []string {
	order := []string{world.Setting, world.Reminder, world.Messaging, world.Contact}
	for _, table := range g.schema.StoredTables() {
		if !slices.Contains(order, table.Name) {
			order = append(order, table.Name)
		}
	}
	return order
}
