package score

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	"github.com/toolsandbox/toolsandbox/internal/world"
)

// adversarialCases generates cases in which no match is good, so that bounds prune little. Every
// text is a little similar to every other, and the tables change at every message.
type adversarialCases struct {
	*rand.Rand
	seed uint64
}

func newAdversarialCases(seed uint64) adversarialCases {
	return adversarialCases{rand.New(rand.NewPCG(seed, 5)), seed}
}

// of returns cases of their own for a table or column, so that further columns of the built-in
// tables change no others.
func (a adversarialCases) of(name string) adversarialCases {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name)) // it never fails
	return adversarialCases{rand.New(rand.NewPCG(a.seed, hash.Sum64())), a.seed}
}

func (a adversarialCases) words(n int) string {
	var text strings.Builder
	for range n {
		fmt.Fprintf(&text, "w%c%c ", 'a'+a.IntN(5), 'a'+a.IntN(3))
	}
	return text.String()
}

func (a adversarialCases) trajectory(length int) *Trajectory {
	t := &Trajectory{Messages: make([]Message, length)}
	for i := range t.Messages {
		t.Messages[i] = Message{Sender: Agent, Recipient: User, Content: new(a.words(6)), VisibleTo: []Role{User, Agent}}
		if a.IntN(2) == 0 {
			t.Messages[i].Traces = toolTraces(fmt.Sprintf(
				`{"tool_name": "t", "arguments": {"timestamp_0": %d}, "result": %d}`, a.IntN(4), a.IntN(4)))
		}
	}
	t.Messages[0].Sender, t.Messages[0].Recipient = User, Agent
	t.Tables = make(map[string][]Version)
	for _, table := range world.Builtin().StoredTables() {
		changes := a.of(table.Name)
		var cells []adversarialCases
		for _, column := range table.Columns {
			cells = append(cells, a.of(table.Name+"."+column.Name))
		}
		var rows [][]Value
		for i := range length {
			if i > 0 && changes.IntN(2) == 0 {
				continue
			}
			rows = slices.Clone(rows)
			if len(rows) > 0 && changes.IntN(3) == 0 {
				rows = rows[1:]
			}
			rows = append(rows, adversarialRow(table, cells))
			t.Tables[table.Name] = append(t.Tables[table.Name], Version{Index: i, Rows: rows})
		}
	}
	return t
}

// adversarialRow returns a row whose columns have their own cases.
func adversarialRow(table world.Table, cells []adversarialCases) []Value {
	row := make([]Value, len(table.Columns))
	for j, column := range table.Columns {
		a := cells[j]
		switch column.Kind { // stored tables hold no other
		case world.KindText:
			row[j] = String(a.words(4))
		case world.KindBool:
			row[j] = Bool(a.IntN(2) == 0)
		default:
			row[j] = Number(float64(a.IntN(3)))
		}
	}
	return row
}

func (a adversarialCases) constraint(reference int) Constraint {
	table, measure := world.Contact, Addition
	switch a.IntN(5) {
	case 0:
	case 1:
		table = world.Messaging
	case 2:
		table, measure = world.Reminder, Update
	case 3:
		return Constraint{
			Table: world.Sandbox, Measure: ToolTraceDependant, Reference: &reference, FillTo: "tool_trace", Extractor: "result_to_timestamp0_extractor",
			Target: [][]Cell{{{"content", String(a.words(6))}, {"tool_trace", String(`{"tool_name": "t", "arguments": {}}`)}}},
		}
	case 4:
		return Constraint{
			Table: world.Sandbox, Measure: ToolTraceDependant, Reference: &reference, FillTo: "content", Extractor: "result_to_timestamp0_extractor",
			Target: [][]Cell{{{"content", String(a.words(4) + "{timestamp_0} " + a.words(3))}}},
		}
	}
	column := "content"
	if table == world.Contact {
		column = "relationship"
	}
	return Constraint{Table: table, Measure: measure, Reference: &reference, Target: [][]Cell{{{column, String(a.words(4))}}}}
}

// shape is the form of a graph: width is the number of parallel chains.
type shape struct {
	name         string
	nodes, width int
	// cross adds edges between the chains. guarded keeps the automatic guardrails.
	cross, guarded bool
	// join puts one node after all others instead of before them.
	join bool
	// refer returns the reference of a node, one of its predecessors.
	refer func(a adversarialCases, i, width int, before []int) int
}

// previous returns the previous node of the same chain. ancestor returns any predecessor.
func previous(_ adversarialCases, i, width int, _ []int) int  { return max(i-width, 0) }
func ancestor(a adversarialCases, _, _ int, before []int) int { return before[a.IntN(len(before))] }
func nothing(adversarialCases, int, int, []int) int           { return FirstUserMessage }
func (a adversarialCases) compile(tb testing.TB, s *shape) *Graph {
	tb.Helper()
	graph, err := compileDefinition(a.definition(s))
	if err != nil {
		tb.Fatalf("%s: Compile: %v", s.name, err)
	}
	return graph
}

func (a adversarialCases) definition(s *shape) testDefinition {
	d := testDefinition{Name: "milestones"}
	before := make([]uint64, s.nodes)
	add := func(from, to int) {
		d.Edges = append(d.Edges, Edge{from, to})
		before[to] |= 1<<from | before[from]
	}
	for i := range s.nodes {
		switch {
		case s.join && i == s.nodes-1:
			for before := range i {
				add(before, i)
			}
		case s.join:
		case s.width == s.nodes && i > 0:
			add(0, i)
		case i >= s.width:
			add(i-s.width, i)
			if s.cross && a.IntN(3) == 0 {
				add((i/s.width-1)*s.width+a.IntN(s.width), i)
			}
		}
		reference := FirstUserMessage
		if before[i] != 0 {
			reference = s.refer(a, i, s.width, evaluation.List(before[i]))
		}
		node := Node{Constraints: []Constraint{a.constraint(reference)}}
		if a.IntN(2) == 0 {
			node.Constraints = append(node.Constraints, say(a.words(6)))
		}
		if !s.guarded {
			node.Guard.Mode = GuardOnly
		}
		d.Nodes = append(d.Nodes, node)
	}
	return d
}

// shapes are the graphs whose scoring time is bounded.
var shapes = []shape{
	{name: "width 4, references to the node before", nodes: 20, width: 4, refer: previous},
	{name: "width 4, guarded", nodes: 20, width: 4, guarded: true, refer: previous},
	{name: "width 4, references to any node before", nodes: 20, width: 4, refer: ancestor},
	{name: "width 4, references to the start", nodes: 20, width: 4, cross: true, refer: nothing},
	{name: "antichain of 16 behind one", nodes: 17, width: 17, refer: ancestor},
	{name: "antichain of 16 behind one, guarded", nodes: 17, width: 17, guarded: true, refer: ancestor},
	{name: "antichain of 16 before one", nodes: 17, width: 17, join: true, refer: ancestor},
	{name: "antichain of 16 before one, guarded", nodes: 17, width: 17, join: true, guarded: true, refer: ancestor},
	{name: "chain", nodes: 20, width: 1, refer: previous},
	{name: "crossed", nodes: 6, width: 3, cross: true, refer: ancestor},
	{name: "crossed, guarded", nodes: 6, width: 3, cross: true, guarded: true, refer: ancestor},
}

// BenchmarkAdversary scores trajectories of 60 messages. max-ns is the slowest case, each the best
// of several runs.
func BenchmarkAdversary(b *testing.B) {
	for i := range shapes {
		b.Run(shapes[i].name, func(b *testing.B) { benchmarkShape(b, &shapes[i], 60) })
	}
}

// BenchmarkCrossed scores graphs of width 4 with crossing edges and references, which only maxWork
// limits.
func BenchmarkCrossed(b *testing.B) {
	for _, s := range []shape{
		{name: "references to the node before", nodes: 20, width: 4, cross: true, refer: previous},
		{name: "references to any node before", nodes: 20, width: 4, cross: true, refer: ancestor},
	} {
		b.Run(s.name, func(b *testing.B) { benchmarkShape(b, &s, 60) })
	}
}

// BenchmarkLongAdversary scores trajectories of 120 messages.
func BenchmarkLongAdversary(b *testing.B) { benchmarkShape(b, &shapes[len(shapes)-2], 120) }

func benchmarkShape(b *testing.B, s *shape, messages int) {
	b.Helper()
	var trajectories []*Trajectory
	var graphs []*Graph
	slowest := time.Duration(0)
	for seed := range uint64(6) {
		a := newAdversarialCases(seed)
		trajectory, graph := a.trajectory(messages), a.compile(b, s)
		trajectories, graphs = append(trajectories, trajectory), append(graphs, graph)
		fastest := time.Hour
		for range 5 {
			start := time.Now()
			Score(trajectory, graph, nil)
			fastest = min(fastest, time.Since(start))
		}
		slowest = max(slowest, fastest)
	}
	b.ReportAllocs()
	for next := 0; b.Loop(); next++ {
		Score(trajectories[next%len(graphs)], graphs[next%len(graphs)], nil)
	}
	b.ReportMetric(float64(slowest.Nanoseconds()), "max-ns")
}

// work returns the work of matching.
func work(t *testing.T, trajectory *Trajectory, graph *Graph) int {
	t.Helper()
	m := newMatcher(prepare(trajectory), graph)
	if _, err := m.match(); err != nil {
		t.Fatalf("match: %v", err)
	}
	return m.work
}

// TestWorkGrowsQuadratically checks that work grows with the pairs of a message and a
// reference: twice the messages need about four times the work.
func TestWorkGrowsQuadratically(t *testing.T) {
	for i := range shapes {
		s := &shapes[i]
		t.Run(s.name, func(t *testing.T) {
			a := newAdversarialCases(1)
			definition := a.definition(s)
			graph, err := compileDefinition(definition)
			if err != nil {
				t.Fatal(err)
			}
			var before int
			for _, messages := range []int{45, 90, 180} {
				got := work(t, newAdversarialCases(2).trajectory(messages), graph)
				pairs := s.nodes * messages * messages
				if got > 40*pairs || before > 0 && got > 16*before {
					t.Errorf("%d messages: got work %d, want at most %d and 16 times %d", messages, got, 40*pairs, before)
				}
				before = got
			}
		})
	}
}

// TestWorkOnEqualMessages checks the work on equal messages. Every step is then equally good, which
// is the worst case of a search.
func TestWorkOnEqualMessages(t *testing.T) {
	trajectory := newAdversarialCases(3).trajectory(120)
	for i := range trajectory.Messages[1:] {
		trajectory.Messages[i+1] = trajectory.Messages[1]
	}
	trajectory.Tables = nil
	for i := range shapes {
		graph := newAdversarialCases(4).compile(t, &shapes[i])
		if got, want := work(t, trajectory, graph), 40*shapes[i].nodes*120*120; got > want {
			t.Errorf("%s: got work %d, want at most %d", shapes[i].name, got, want)
		}
	}
}

// TestWorkIsBounded checks that matching stops after too much work.
func TestWorkIsBounded(t *testing.T) {
	s := shape{name: "far back", nodes: 20, width: 1, guarded: true, refer: func(_ adversarialCases, i, _ int, _ []int) int { return i / 2 }}
	trajectory, graph := newAdversarialCases(5).trajectory(400), newAdversarialCases(6).compile(t, &s)
	result := Score(trajectory, graph, nil)
	if !errors.Is(result.Err, ErrWork) {
		t.Errorf("Score: got error %v, want %v", result.Err, ErrWork)
	}
}

// TestMemoryIsBounded checks that matching stops if the similarities of all pairs of messages need
// too much memory.
func TestMemoryIsBounded(t *testing.T) {
	a := newAdversarialCases(7)
	trajectory := &Trajectory{Messages: make([]Message, 20_000)}
	for i := range trajectory.Messages {
		trajectory.Messages[i] = Message{
			Sender: Agent, Recipient: User, Content: new("a"), VisibleTo: []Role{User, Agent},
			Traces: toolTraces(fmt.Sprintf(`{"tool_name": "t", "arguments": {"timestamp_0": %d}, "result": %d}`, i, i)),
		}
	}
	trajectory.Messages[0].Sender, trajectory.Messages[0].Recipient = User, Agent
	d := testDefinition{Name: "milestones"}
	for i := range 4 {
		reference := max(i-1, FirstUserMessage)
		d.Nodes = append(d.Nodes, Node{Constraints: []Constraint{{
			Table: world.Sandbox, Measure: ToolTraceDependant, Reference: &reference, FillTo: "content", Extractor: "result_to_timestamp0_extractor",
			Target: [][]Cell{{{"content", String(a.words(4) + "{timestamp_0}")}}},
		}}})
		if i > 0 {
			d.Edges = append(d.Edges, Edge{i - 1, i})
		}
	}
	graph, err := compileDefinition(d)
	if err != nil {
		t.Fatal(err)
	}
	m := newMatcher(prepare(trajectory), graph)
	if _, err := m.match(); !errors.Is(err, ErrWork) {
		t.Errorf("match: got error %v, want %v", err, ErrWork)
	}
	kept := 0
	for _, tables := range slices.Concat(m.cache, slices.Concat(m.bounds.factors...)) {
		for _, table := range tables {
			kept += len(table)
		}
	}
	if kept > maxCached {
		t.Errorf("match: kept %d similarities, want at most %d", kept, maxCached)
	}
}

func TestCrossingReferencesAreRejected(t *testing.T) {
	d := testDefinition{Name: "milestones"}
	for i := range 32 {
		node := Node{Constraints: []Constraint{say("a")}}
		if i >= 16 {
			d.Edges = append(d.Edges, Edge{i - 16, i})
			for _, reference := range []int{i - 16, (i*5 + 3) % 16, (i*7 + 1) % 16, (i*3 + 5) % 16} {
				node.Constraints = append(node.Constraints, Constraint{
					Table: world.Contact, Measure: Addition, Reference: &reference, Target: [][]Cell{{{"name", String("x")}}},
				})
			}
		}
		d.Nodes = append(d.Nodes, node)
	}
	_, err := compileDefinition(d)
	if err == nil || !strings.Contains(err.Error(), ": too many references cross each other") {
		t.Errorf("Compile: got %v, want an error about references that cross each other", err)
	}
}
