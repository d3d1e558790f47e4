package score

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	"github.com/toolsandbox/toolsandbox/internal/world"
)

// originalSearch is the original's algorithm: it tries all sequences and returns the first best
// one.
type originalSearch struct {
	*matcher
	indices []int
	best    []int
	bestSum float64
}

// walk tries all continuations.
func (o *originalSearch) walk(left uint64, last int, sum float64) {
	if left == 0 {
		if o.best == nil || sum > o.bestSum+sumTolerance {
			o.best, o.bestSum = slices.Clone(o.indices), sum
		}
		return
	}
	var candidates []candidate
	for _, i := range evaluation.List(left) {
		if o.graph.nodes[i].before&left != 0 {
			continue
		}
		for index := last; index < len(o.trajectory.Messages); index++ {
			candidates = append(candidates, candidate{o.nodeSimilarity(&o.graph.nodes[i], index), int32(i), int32(index)})
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		switch {
		case a.similarity > b.similarity:
			return -1
		case a.similarity < b.similarity:
			return 1
		case a.node != b.node:
			return int(a.node - b.node)
		}
		return int(a.index - b.index)
	})
	for _, c := range candidates {
		o.assigned[c.node], o.indices[c.node] = int(c.index), int(c.index)
		o.walk(left&^(1<<c.node), int(c.index), sum+c.similarity)
	}
}

// randomCases generates cases with many ties. Texts have two of three tokens, so similarities of
// columns are 0, 0.5 and 1.
type randomCases struct{ *rand.Rand }

func (g randomCases) words() string {
	return fmt.Sprintf("%c %c", 'a'+g.IntN(3), 'a'+g.IntN(3))
}

func (g randomCases) text() Value { return String(g.words()) }

// contact returns one of a few rows.
func (g randomCases) contact(id int) []Value {
	return []Value{String(strconv.Itoa(id)), String("n"), String("p"), g.text(), Bool(false)}
}

func (g randomCases) trajectory(length int) *Trajectory {
	t := &Trajectory{Messages: make([]Message, length)}
	roles := []Role{User, Agent}
	for i := range t.Messages {
		from := g.IntN(2)
		t.Messages[i] = Message{
			Sender: roles[from], Recipient: roles[1-from], Content: new(g.words()), VisibleTo: []Role{User, Agent},
			Traces: toolTraces(fmt.Sprintf(`{"tool_name": "t", "arguments": {"timestamp_0": %d}, "result": %d}`, g.IntN(2), g.IntN(2))),
		}
	}
	t.Messages[0].Sender, t.Messages[0].Recipient = User, Agent
	var rows [][]Value
	for i := range length {
		if i > 0 && g.IntN(2) == 0 {
			continue
		}
		switch {
		case len(rows) > 0 && g.IntN(3) == 0:
			rows = slices.Clone(rows[1:])
		default:
			rows = append(slices.Clone(rows), g.contact(g.IntN(4)))
		}
		store(t, world.Contact, append(t.Tables[world.Contact], Version{Index: i, Rows: rows}))
	}
	return t
}

func (g randomCases) definition(nodes int) testDefinition {
	d := testDefinition{Name: "milestones"}
	for after := range nodes {
		for before := range after {
			if g.IntN(3) == 0 {
				d.Edges = append(d.Edges, Edge{before, after})
			}
		}
	}
	if len(d.Edges) == 0 {
		d.Edges = chain(nodes)
	}
	mentioned := map[int]bool{0: nodes == 1}
	for _, edge := range d.Edges {
		mentioned[edge.Before], mentioned[edge.After] = true, true
	}
	for i := range nodes {
		reference := g.IntN(i+1) - 1
		if reference >= 0 && !mentioned[reference] {
			reference = FirstUserMessage
		}
		node := Node{Constraints: []Constraint{g.constraint(reference)}}
		if g.IntN(3) == 0 {
			node.Constraints = append(node.Constraints, g.constraint(FirstUserMessage))
		}
		if g.IntN(2) == 0 {
			node.Guard = Guard{Mode: GuardMode(g.IntN(3)), Tables: []string{world.Contact}}
		}
		d.Nodes = append(d.Nodes, node)
	}
	return d
}

func (g randomCases) constraint(reference int) Constraint {
	text := []Cell{{"content", g.text()}}
	relation := [][]Cell{{{"relationship", g.text()}}}
	switch g.IntN(8) {
	case 3:
		return Constraint{Table: world.Contact, Measure: Update, Reference: &reference, Target: relation}
	case 4:
		return Constraint{Table: world.Contact, Measure: Guardrail, Reference: &reference}
	case 0:
		return Constraint{Table: world.Contact, Measure: Addition, Reference: &reference, Target: relation}
	case 1:
		return Constraint{Table: world.Contact, Measure: Removal, Reference: &reference, Target: relation}
	case 2:
		return Constraint{
			Table: world.Sandbox, Measure: ToolTraceDependant, Reference: &reference, FillTo: "tool_trace",
			Extractor: "result_to_timestamp0_extractor",
			Target:    [][]Cell{{{"tool_trace", String(`{"tool_name": "t", "arguments": {}}`)}}},
		}
	}
	return Constraint{Table: world.Sandbox, Measure: Snapshot, Target: [][]Cell{text}}
}

func TestMatchAgreesWithOriginalSearch(t *testing.T) {
	g := randomCases{rand.New(rand.NewPCG(7, 11))}
	for trial := range 4000 {
		// Some cases are as large as the original's search allows.
		nodes, length := 1+g.IntN(4), 1+g.IntN(6)
		if trial%20 == 0 {
			nodes, length = 5, 3
		}
		trajectory, definition := g.trajectory(length), g.definition(nodes)
		graph, err := compileDefinition(definition)
		if err != nil {
			t.Fatalf("trial %d: Compile: %v", trial, err)
		}
		search := originalSearch{matcher: newMatcher(prepare(trajectory), graph), indices: make([]int, graph.Len())}
		for i := range search.indices {
			search.indices[i] = -1
		}
		search.walk(graph.matched, search.first, 0)
		got, err := newMatcher(prepare(trajectory), graph).match()
		if err != nil {
			t.Fatalf("trial %d: match: %v", trial, err)
		}
		if diff := cmp.Diff(search.best, got); diff != "" {
			t.Fatalf("trial %d: edges %v: matched indices (-want +got):\n%s", trial, definition.Edges, diff)
		}
		result := Score(trajectory, graph, nil)
		if want := search.bestSum / float64(graph.Len()); math.Abs(result.Similarity-want) > sumTolerance {
			t.Fatalf("trial %d: similarity %v, want %v", trial, result.Similarity, want)
		}
	}
}

// store sets the versions of a table.
func store(t *Trajectory, table string, versions []Version) {
	if t.Tables == nil {
		t.Tables = make(map[string][]Version)
	}
	t.Tables[table] = versions
}

// chain returns the edges that order n nodes one after the other.
func chain(n int) []Edge {
	var edges []Edge
	for i := 1; i < n; i++ {
		edges = append(edges, Edge{Before: i - 1, After: i})
	}
	return edges
}
