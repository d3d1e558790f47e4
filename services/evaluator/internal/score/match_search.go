package score

import (
	"encoding/binary"
	"math/bits"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	"github.com/toolsandbox/toolsandbox/internal/world"
)

// minGain is the minimum excess of a bound over the best known sum. It exceeds the rounding of a
// sum.
const minGain = 1e-13

// outcome is the best sum of a component, exact or an upper bound.
type outcome struct {
	sum   float64
	exact bool
}

// component is a set of open nodes without open neighbours outside.
type component struct {
	outcome
	nodes uint64
}

// bestSum returns the largest sum of similarities of open nodes, from index last. Other nodes
// to which they refer have their index. If that sum does not exceed threshold, the result is only
// an upper bound of at most threshold.
func (m *matcher) bestSum(open uint64, last int, threshold float64) float64 {
	var buffer [8]component
	components := buffer[:0]
	sum := 0.0
	for open != 0 {
		p := component{nodes: evaluation.Connected(m.graph.neighbours, open)}
		open &^= p.nodes
		p.outcome = m.estimate(p.nodes, last)
		sum += p.sum
		components = append(components, p)
	}
	for i := range components {
		p := &components[i]
		if sum <= threshold+minGain {
			return threshold
		}
		if !p.exact {
			sum += m.search(p.nodes, last, threshold-(sum-p.sum)) - p.sum
		}
	}
	if sum <= threshold+minGain {
		return threshold
	}
	return sum
}

// estimate returns the outcome of a component without a search.
func (m *matcher) estimate(component uint64, last int) outcome {
	if cached, ok := m.sums[string(m.stateKey(component, last))]; ok {
		return cached
	}
	var f forest
	m.buildForest(&f, component)
	o := outcome{exact: f.exact}
	for set := f.roots; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		o.sum += m.rootBounds(&f, i).suffixMax[m.firstIndex(i, component, last)-m.first]
	}
	return o
}

// firstIndex returns the first possible index of an open node with regard to nodes that are not
// open.
func (m *matcher) firstIndex(i int, open uint64, last int) int {
	for set := m.graph.nodes[i].directBefore &^ open; set != 0; set &= set - 1 {
		last = max(last, m.assigned[bits.TrailingZeros64(set)])
	}
	return last
}

// search returns the best sum of a component, as bestSum does. It tries the indices of one node in
// the order of their bounds.
func (m *matcher) search(component uint64, last int, threshold float64) float64 {
	i := evaluation.Branch(m.graph.before, m.graph.neighbours, component)
	others := m.expand(component, last, i)
	start := len(m.stack) - others.count
	best := threshold
	for from := start; from < len(m.stack); from++ {
		m.work += (len(m.stack) - from) / cheap
		top := from
		for c := from + 1; c < len(m.stack); c++ {
			if m.stack[c].similarity > m.stack[top].similarity {
				top = c
			}
		}
		m.stack[from], m.stack[top] = m.stack[top], m.stack[from]
		c := m.stack[from]
		if c.similarity+others.bound <= best+minGain {
			break
		}
		m.assigned[i] = int(c.index)
		similarity := m.nodeSimilarity(&m.graph.nodes[i], int(c.index))
		best = max(best, similarity+m.bestSum(component&^(1<<i), last, best-similarity))
		if m.work > maxWork {
			break
		}
	}
	m.stack = m.stack[:start]
	m.sums[string(m.stateKey(component, last))] = outcome{best, best > threshold}
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
// descendants. It omits an index if an earlier one has at least the same similarity and the other
// nodes of the component see the same versions there: every continuation of the later index also
// continues the earlier one.
func (m *matcher) expand(component uint64, last, i int) expansion {
	var f forest
	m.buildForest(&f, component)
	var others expansion
	for set := f.roots &^ (1 << i); set != 0; set &= set - 1 {
		j := bits.TrailingZeros64(set)
		others.bound += m.rootBounds(&f, j).suffixMax[m.firstIndex(j, component, last)-m.first]
	}
	r := m.rootBounds(&f, i)
	seen := m.comparisons(component, i)
	best := make(map[string]float64) // by what the other nodes see
	for offset := m.firstIndex(i, component, last) - m.first; offset < m.candidateCount; offset++ {
		m.work++
		key := m.key[:0]
		for _, k := range seen {
			key = binary.LittleEndian.AppendUint32(key, uint32(k.full[offset]))
		}
		m.key = key
		if earlier, ok := best[string(key)]; !ok || r.node[offset] > earlier {
			best[string(key)] = r.node[offset]
			others.count++
			m.stack = append(m.stack, candidate{r.sum[offset], int32(i), int32(m.first + offset)})
		}
	}
	return others
}

// comparisons returns the classes by which the other open nodes distinguish matches of node i.
func (m *matcher) comparisons(open uint64, i int) []*classes {
	var seen []*classes
	for set := open & m.graph.neighbours[i]; set != 0; set &= set - 1 {
		j := bits.TrailingZeros64(set)
		for d, dep := range m.graph.nodes[j].dependences {
			if k := m.classesOf(j, d); dep.node == i && len(k.first) > 1 {
				seen = append(seen, k)
			}
		}
	}
	return seen
}

// stateKey returns a key for everything that the best sum of a component depends on: its nodes, the
// first index of each, and their comparisons with matched nodes. It is valid until the next call of
// stateKey or boundsKey.
func (m *matcher) stateKey(component uint64, last int) []byte {
	m.work += bits.OnesCount64(component)
	key := binary.LittleEndian.AppendUint64(m.key[:0], component)
	for set := component; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		n := &m.graph.nodes[i]
		if n.before&component == 0 || n.directBefore&^component != 0 {
			key = binary.LittleEndian.AppendUint32(key, uint32(m.firstIndex(i, component, last)))
		}
		key = m.appendReferences(key, i, component)
	}
	m.key = key
	return key
}

// appendReferences appends a node's comparisons with matched nodes to a key. For automatic
// guardrails this is only the version that all of them require, or that they require different
// ones. In the latter case the node's similarity is 0.
func (m *matcher) appendReferences(key []byte, i int, open uint64) []byte {
	n := &m.graph.nodes[i]
	if n.reads&^open == 0 {
		return key
	}
	start := len(key)
	key = append(key, 0)
	for d, dep := range n.dependences {
		if open&(1<<dep.node) == 0 && dep.compared {
			key = binary.LittleEndian.AppendUint32(key, uint32(m.classesOf(i, d).compared[m.assigned[dep.node]-m.first]))
		}
	}
	var classes [world.MaxTables]int32
	for _, guard := range n.guards {
		if guard.Reference < 0 || open&(1<<guard.Reference) != 0 {
			continue
		}
		class := m.classOf(guard.Table, m.assigned[guard.Reference]) + 1
		if required := &classes[guard.Table]; *required == 0 {
			*required = class
			key = binary.LittleEndian.AppendUint32(key, uint32(class))
		} else if *required != class {
			return append(key[:start], 1)
		}
	}
	return key
}
