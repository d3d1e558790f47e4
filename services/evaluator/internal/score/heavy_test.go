package score

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	"github.com/toolsandbox/toolsandbox/internal/world"
)

// heavy generates a graph and a trajectory whose similarities defeat the bounds of the search.
type heavy struct {
	nodes, width, messages int
	// edges, references, weights and tables are among the values below.
	edges, references, weights, tables string
	// guarded keeps the automatic guardrails.
	guarded bool
	seed    uint64
}

var (
	// heavyEdges are the forms of graphs. All are behind node 0, but "random" and "tree" have others.
	heavyEdges = []string{"chains", "layers", "diamonds", "random", "grid", "crossed", "crown", "fan", "tree"}
	// heavyReferences say to which nodes a node refers.
	heavyReferences = []string{"start", "previous", "any", "two", "none", "root"}
	// heavyWeights say how the similarity of a node with a message depends on both.
	heavyWeights = []string{"ties", "ascending", "descending", "random", "near", "saw", "peaks", "sparse"}
	// heavyTables say what references compare: contacts, contacts and messages, traces of four values,
	// or traces that are all different.
	heavyTables = []string{"contacts", "both", "traces", "wide"}
)

func (h *heavy) String() string {
	return fmt.Sprintf("%s, references %s, weights %s, tables %s, guarded %v", h.edges, h.references, h.weights, h.tables, h.guarded)
}

func (h *heavy) edgeList(r *rand.Rand) []Edge {
	var edges []Edge
	for i := 1; i < h.nodes; i++ {
		above := max(i-h.width, 0)
		before := []int{above}
		switch beyond := i > h.width; h.edges {
		case "layers":
			if layer := (i - 1) / h.width; layer > 0 {
				before = evaluation.List((1<<h.width - 1) << (1 + (layer-1)*h.width))
			}
		case "diamonds":
			before = []int{i / (h.width + 1) * (h.width + 1)}
			if before[0] == i {
				before = evaluation.List((1<<h.width - 1) << above)
			}
		case "random":
			before = []int{max(0, i-1-r.IntN(h.width+1)), max(0, i-1-r.IntN(h.width+1))}
		case "grid":
			if (i-1)%h.width > 0 {
				before = append(before, i-1)
			}
		case "crossed":
			if beyond && r.IntN(3) == 0 {
				before = append(before, 1+(i-1)/h.width*h.width-h.width+r.IntN(h.width))
			}
		case "crown":
			if beyond && h.width > 1 {
				before = append(before, above-(above-1)%h.width+above%h.width)
			}
		case "fan":
			before = []int{0}
		case "tree":
			before = []int{(i - 1) / 2}
		}
		for _, b := range before {
			edges = append(edges, Edge{max(b, 0), i})
		}
	}
	return edges
}

func (h *heavy) constraints(i, reference int, r *rand.Rand) []Constraint {
	word := "n" + strconv.Itoa(i) + " "
	text := say(strings.Repeat(word, 8))
	switch {
	case h.references == "none":
		return []Constraint{text}
	case h.tables == "contacts" || h.tables == "both" && r.IntN(2) == 0:
		return []Constraint{text, h.addition(world.Contact, "relationship", reference, r)}
	case h.tables == "both":
		return []Constraint{text, h.addition(world.Messaging, "content", reference, r)}
	}
	return []Constraint{{
		Table: world.Sandbox, Measure: ToolTraceDependant, Reference: &reference, FillTo: "content", Extractor: "result_to_timestamp0_extractor",
		Target: [][]Cell{{{"content", String(strings.Repeat(word, 4) + "{timestamp_0} " + word)}}},
	}}
}

func (h *heavy) addition(table, column string, reference int, r *rand.Rand) Constraint {
	return Constraint{Table: table, Measure: Addition, Reference: &reference, Target: [][]Cell{{{column, h.phrase(r)}}}}
}

// phrase returns one of nine texts that are a little similar.
func (*heavy) phrase(r *rand.Rand) Value { return String(fmt.Sprintf("v%d v%d", r.IntN(3), r.IntN(3))) }

func (h *heavy) definition() testDefinition {
	r := rand.New(rand.NewPCG(h.seed, 1))
	d := testDefinition{Name: "milestones", Edges: h.edgeList(r)}
	before, direct := make([]uint64, h.nodes), make([]uint64, h.nodes)
	for _, e := range d.Edges {
		direct[e.After] |= 1 << e.Before
		before[e.After] |= 1<<e.Before | before[e.Before]
	}
	if h.nodes == 1 {
		d.Edges = nil
	}
	for i := range h.nodes {
		references := []int{FirstUserMessage}
		if earlier := evaluation.List(before[i]); len(earlier) > 0 {
			switch h.references {
			case "previous":
				references = evaluation.List(direct[i])[:1]
			case "any":
				references = []int{earlier[r.IntN(len(earlier))]}
			case "two":
				references = []int{earlier[r.IntN(len(earlier))], earlier[r.IntN(len(earlier))]}
			case "root":
				references = earlier[:1]
			}
		}
		node := Node{}
		for _, reference := range references {
			node.Constraints = append(node.Constraints, h.constraints(i, reference, r)...)
		}
		if !h.guarded {
			node.Guard.Mode = GuardOnly
		}
		d.Nodes = append(d.Nodes, node)
	}
	return d
}

// weight returns how often message x says the word of node i, 0 to 2.
func (h *heavy) weight(i, x int, r *rand.Rand) int {
	switch h.weights {
	case "ascending":
		return 3 * x / h.messages
	case "descending":
		return 2 - 3*x/h.messages
	case "random":
		return r.IntN(3)
	case "near":
		return 1 + r.IntN(2)
	case "saw":
		return (x + 2*i) % 3
	case "peaks": // each node prefers messages before those of its predecessors
		peak := (h.nodes - 1 - i) * h.messages / h.nodes
		return max(0, 2-max(x-peak, peak-x)/8)
	case "sparse":
		return r.IntN(h.nodes) / max(h.nodes-1, 1)
	}
	return 1
}

func (h *heavy) trajectory() *Trajectory {
	r := rand.New(rand.NewPCG(h.seed, 2))
	t := &Trajectory{Messages: make([]Message, h.messages), Tables: make(map[string][]Version)}
	values := 4
	if h.tables == "wide" {
		values = h.messages
	}
	for x := range t.Messages {
		var text strings.Builder
		words := 0
		for i := range h.nodes {
			k := h.weight(i, x, r)
			text.WriteString(strings.Repeat("n"+strconv.Itoa(i)+" ", k))
			words += k
		}
		text.WriteString(strconv.Itoa(r.IntN(values)) + strings.Repeat(" pad", max(0, 5*h.nodes/2-words)))
		t.Messages[x] = Message{Sender: Agent, Recipient: User, Content: new(text.String()), VisibleTo: []Role{User, Agent}}
		if r.IntN(2) == 0 {
			t.Messages[x].Traces = toolTraces(fmt.Sprintf(`{"tool_name": "t", "arguments": {"timestamp_0": %d}, "result": %d}`, r.IntN(values), r.IntN(values)))
		}
	}
	t.Messages[0].Sender, t.Messages[0].Recipient = User, Agent
	for _, table := range world.Builtin().StoredTables() {
		t.Tables[table.Name] = h.versions(table, r)
	}
	return t
}

// versions returns versions of a table that change at a third of the messages.
func (h *heavy) versions(table world.Table, r *rand.Rand) []Version {
	var versions []Version
	var rows [][]Value
	for x := range h.messages {
		if x > 0 && r.IntN(3) > 0 {
			continue
		}
		rows = slices.Clone(rows)
		if len(rows) > 8 || len(rows) > 0 && r.IntN(2) == 0 {
			rows = rows[1:]
		}
		row := make([]Value, len(table.Columns))
		for j, column := range table.Columns {
			switch column.Kind { // stored tables hold no other
			case world.KindText:
				row[j] = h.phrase(r)
			case world.KindBool:
				row[j] = Bool(r.IntN(2) == 0)
			default:
				row[j] = Number(float64(r.IntN(3)))
			}
		}
		rows = append(rows, row)
		versions = append(versions, Version{Index: x, Rows: rows})
	}
	return versions
}

// mutate changes one property.
func (h heavy) mutate(r *rand.Rand) heavy {
	pick := func(of []string) string { return of[r.IntN(len(of))] }
	switch r.IntN(7) {
	case 0:
		h.edges = pick(heavyEdges)
	case 1:
		h.references = pick(heavyReferences)
	case 2:
		h.weights = pick(heavyWeights)
	case 3:
		h.tables = pick(heavyTables)
	case 4:
		h.guarded = !h.guarded
	case 5:
		h.width = 1 + r.IntN(min(25, max(h.nodes-1, 1)))
	default:
		h.seed = r.Uint64N(1000)
	}
	return h
}

func randomHeavy(r *rand.Rand, nodes, messages int) heavy {
	h := heavy{nodes: nodes, width: 1 + r.IntN(min(25, max(nodes-1, 1))), messages: messages, edges: "chains", references: "any", weights: "ties", tables: "both"}
	for range 20 {
		h = h.mutate(r)
	}
	return h
}

// TestHeavyAgreesWithOriginalSearch compares small cases with the search of all sequences.
func TestHeavyAgreesWithOriginalSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		h := randomHeavy(r, 1+r.IntN(4), 1+r.IntN(6))
		if r.IntN(10) == 0 {
			h.nodes, h.messages = 5, 4
		}
		graph, err := compileDefinition(h.definition())
		if err != nil {
			t.Fatalf("%+v: Compile: %v", h, err)
		}
		trajectory := h.trajectory()
		search := originalSearch{matcher: newMatcher(prepare(trajectory), graph), indices: slices.Repeat([]int{-1}, graph.Len())}
		search.walk(graph.matched, search.first, 0)
		got, err := newMatcher(prepare(trajectory), graph).match()
		if err != nil {
			t.Fatalf("%+v: match: %v", h, err)
		}
		if diff := cmp.Diff(search.best, got); diff != "" {
			t.Fatalf("%+v: matched indices (-want +got):\n%s", h, diff)
		}
		result := Score(trajectory, graph, nil)
		if want := search.bestSum / float64(graph.Len()); math.Abs(result.Similarity-want) > sumTolerance {
			t.Fatalf("%+v: similarity %v, want %v", h, result.Similarity, want)
		}
	}
}

// TestHeavyWorkIsBounded looks for the graph and trajectory with the most work, by steps that keep
// what is worse, and checks that each ends within the limits or names them.
func TestHeavyWorkIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 4 {
		worst, most := randomHeavy(r, 64, 400), 0
		for range 12 {
			h := worst.mutate(r)
			graph, err := compileDefinition(h.definition())
			if err != nil {
				if !strings.Contains(err.Error(), "too many references cross each other") {
					t.Fatalf("%+v: Compile: %v", h, err)
				}
				continue
			}
			if got := h.checkLimits(t, graph); got >= most {
				worst, most = h, got
			}
		}
	}
}

// checkLimits matches, checks the limits and returns the work.
func (h *heavy) checkLimits(t *testing.T, graph *Graph) int {
	t.Helper()
	m := newMatcher(prepare(h.trajectory()), graph)
	_, err := m.match()
	if err != nil && (!errors.Is(err, ErrWork) || !strings.Contains(err.Error(), fmt.Sprintf("%d nodes and %d messages need more than", h.nodes, h.messages))) {
		t.Fatalf("%+v: match: got %v, want no error or %v with its size", h, err, ErrWork)
	}
	if limited := m.work > maxWork; limited != (err != nil) || m.work > 2*maxWork || m.cached > 2*maxCached {
		t.Fatalf("%+v: match: got work %d and %d cached similarities with error %v, want at most %d and %d or an error, and never twice as much",
			h, m.work, m.cached, err, maxWork, maxCached)
	}
	return m.work
}

// worstCases are the slowest cases that a search over all properties has found with 64 nodes, an
// antichain of 25 and 2,000 messages. limited ones end with ErrWork.
var worstCases = []struct {
	heavy

	limited bool
}{
	{heavy{edges: "chains", references: "start", weights: "near", tables: "wide"}, true},
	{heavy{edges: "chains", references: "start", weights: "ties", tables: "both"}, false},
	{heavy{edges: "diamonds", references: "start", weights: "random", tables: "contacts"}, true},
	{heavy{edges: "crossed", references: "start", weights: "sparse", tables: "traces", guarded: true}, true},
	{heavy{edges: "fan", references: "none", weights: "random", tables: "contacts"}, true},
	{heavy{edges: "layers", references: "root", weights: "ascending", tables: "wide", guarded: true}, true},
	{heavy{edges: "layers", references: "root", weights: "sparse", tables: "both", guarded: true}, true},
	{heavy{edges: "layers", references: "none", weights: "ties", tables: "contacts", guarded: true}, true},
	{heavy{edges: "fan", references: "previous", weights: "peaks", tables: "wide", guarded: true}, true},
	{heavy{edges: "tree", references: "two", weights: "random", tables: "traces", guarded: true}, true},
	{heavy{edges: "chains", references: "two", weights: "random", tables: "both"}, true},
}

// BenchmarkHeavy scores the worst cases.
func BenchmarkHeavy(b *testing.B) {
	for _, c := range worstCases {
		h := c.heavy
		h.nodes, h.width, h.messages, h.seed = 64, 25, 2000, 1
		graph, err := compileDefinition(h.definition())
		if err != nil {
			b.Fatalf("%s: Compile: %v", &h, err)
		}
		trajectory := h.trajectory()
		b.Run(h.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if result := Score(trajectory, graph, nil); errors.Is(result.Err, ErrWork) != c.limited {
					b.Fatalf("Score: got error %v, want a limit: %v", result.Err, c.limited)
				}
			}
		})
	}
}
