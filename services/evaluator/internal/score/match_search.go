package score

import (
	"encoding/binary"
	"math/bits"

	"github.com/toolsandbox/toolsandbox/internal/graphwidth"
	"github.com/toolsandbox/toolsandbox/internal/world"
)

// slack is the minimum excess of a bound over the best known sum. It exceeds the rounding of a sum.
const slack = 1e-13

// outcome is the best sum of a part, exact or an upper bound.
type outcome struct {
	sum   float64
	exact bool
}

// part is a set of open nodes without open neighbours outside.
type part struct {
	outcome
	nodes uint64
}

// value returns the largest sum of similarities of the nodes of left, from index last. Other nodes
// to which they refer have their index. If that sum does not exceed threshold, the result is only
// an upper bound of at most threshold.
func (m *matcher) value(left uint64, last int, threshold float64) float64 {
	var buffer [8]part
	parts := buffer[:0]
	sum := 0.0
	for left != 0 {
		p := part{nodes: graphwidth.Connected(m.graph.neighbours, left)}
		left &^= p.nodes
		p.outcome = m.estimate(p.nodes, last)
		sum += p.sum
		parts = append(parts, p)
	}
	for i := range parts {
		p := &parts[i]
		if sum <= threshold+slack {
			return threshold
		}
		if !p.exact {
			sum += m.search(p.nodes, last, threshold-(sum-p.sum)) - p.sum
		}
	}
	if sum <= threshold+slack {
		return threshold
	}
	return sum
}

// estimate returns the outcome of a part without a search.
func (m *matcher) estimate(part uint64, last int) outcome {
	if known, ok := m.solved[string(m.state(part, last))]; ok {
		return known
	}
	var f forest
	m.buildForest(&f, part)
	o := outcome{exact: f.exact}
	for set := f.roots; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		o.sum += m.rootBounds(&f, i).best[m.firstIndex(i, part, last)-m.first]
	}
	return o
}

// firstIndex returns the first possible index of an open node with regard to nodes outside left.
func (m *matcher) firstIndex(i int, left uint64, last int) int {
	for set := m.graph.nodes[i].directBefore &^ left; set != 0; set &= set - 1 {
		last = max(last, m.at[bits.TrailingZeros64(set)])
	}
	return last
}

// search returns the best sum of a part, as value does. It tries the indices of one node in the
// order of their bounds.
func (m *matcher) search(part uint64, last int, threshold float64) float64 {
	i := graphwidth.Branch(m.graph.before, m.graph.neighbours, part)
	others := m.expand(part, last, i)
	start := len(m.stack) - others.count
	best := threshold
	for from := start; from < len(m.stack); from++ {
		top := from
		for c := from + 1; c < len(m.stack); c++ {
			if m.stack[c].similarity > m.stack[top].similarity {
				top = c
			}
		}
		m.stack[from], m.stack[top] = m.stack[top], m.stack[from]
		c := m.stack[from]
		if c.similarity+others.bound <= best+slack {
			break
		}
		m.at[i] = int(c.index)
		similarity := m.node(&m.graph.nodes[i], int(c.index))
		best = max(best, similarity+m.value(part&^(1<<i), last, best-similarity))
		if m.work > maxWork {
			break
		}
	}
	m.stack = m.stack[:start]
	m.solved[string(m.state(part, last))] = outcome{best, best > threshold}
	return best
}

// expansion describes the candidates that expand pushed.
type expansion struct {
	// count is the number of candidates.
	count int
	// bound is the upper bound of the nodes that are not bounded together with the candidates' node.
	bound float64
}

// expand pushes the possible indices of node i, each with the bound of the node and its
// descendants. It omits an index if an earlier one has at least the same similarity and the rest of
// the part sees the same versions there: every continuation of the later index also continues the
// earlier one.
func (m *matcher) expand(part uint64, last, i int) expansion {
	var f forest
	m.buildForest(&f, part)
	var others expansion
	for set := f.roots &^ (1 << i); set != 0; set &= set - 1 {
		j := bits.TrailingZeros64(set)
		others.bound += m.rootBounds(&f, j).best[m.firstIndex(j, part, last)-m.first]
	}
	r := m.rootBounds(&f, i)
	seen := m.read(part, i)
	best, low := float64(unknown), m.firstIndex(i, part, last)
	for index := low; index < m.first+m.count; index++ {
		m.work++
		if index > low && !m.sameVersions(seen, index-1, index) {
			best = unknown
		}
		if offset := index - m.first; r.node[offset] > best {
			best = r.node[offset]
			others.count++
			m.stack = append(m.stack, candidate{r.sum[offset], int32(i), int32(index)})
		}
	}
	return others
}

// read returns the tables that the other nodes of left compare at the match of node i.
func (m *matcher) read(left uint64, i int) tableSet {
	var tables tableSet
	for set := left & m.graph.neighbours[i]; set != 0; set &= set - 1 {
		for _, need := range m.graph.nodes[bits.TrailingZeros64(set)].dependences {
			if need.node == i {
				tables = tables.union(need.tables)
			}
		}
	}
	return tables
}

// state returns a key for everything that the best sum of a part depends on: its nodes, the first
// index of each, and their comparisons with matched nodes. It is valid until the next call of state
// or boundsKey.
func (m *matcher) state(part uint64, last int) []byte {
	key := binary.LittleEndian.AppendUint64(m.key[:0], part)
	for set := part; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		n := &m.graph.nodes[i]
		if n.before&part == 0 || n.directBefore&^part != 0 {
			key = binary.LittleEndian.AppendUint32(key, uint32(m.firstIndex(i, part, last)))
		}
		key = m.appendSeen(key, n, part)
	}
	m.key = key
	return key
}

// appendSeen appends a node's comparisons with nodes outside left to a key. For automatic
// guardrails this is only the version that all of them require, or that they require different
// ones. In the latter case the node's similarity is 0.
func (m *matcher) appendSeen(key []byte, n *node, left uint64) []byte {
	if n.reads&^left == 0 {
		return key
	}
	start := len(key)
	key = append(key, 0)
	for _, need := range n.dependences {
		if left&(1<<need.node) != 0 {
			continue
		}
		index := m.at[need.node]
		if need.compared.has(sandbox) {
			key = binary.LittleEndian.AppendUint32(key, uint32(index))
		}
		for rest := uint64(need.compared) &^ (1 << sandbox); rest != 0; rest &= rest - 1 {
			at := m.tables[bits.TrailingZeros64(rest)].at
			key = binary.LittleEndian.AppendUint32(key, uint32(at[index]))
		}
	}
	var wanted [world.MaxTables]int32
	for _, guard := range n.guards {
		if guard.reference < 0 || left&(1<<guard.reference) != 0 {
			continue
		}
		class := m.classOf(guard.table, m.at[guard.reference]) + 1
		if known := &wanted[guard.table]; *known == 0 {
			*known = class
			key = binary.LittleEndian.AppendUint32(key, uint32(class))
		} else if *known != class {
			return append(key[:start], 1)
		}
	}
	return key
}
