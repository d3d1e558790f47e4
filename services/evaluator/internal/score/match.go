package score

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
)

// sumTolerance is the difference below which two sums of similarities are equal. It exceeds the
// rounding of a sum and is below any other difference between 32-bit similarities.
const sumTolerance = 1e-11

const (
	// maxWork is the maximum work of one matching. BenchmarkHeavy measures what that takes.
	maxWork = 1 << 20
	// cheap is the number of additions or multiplications that take as long as a considered candidate.
	cheap = 8
	// pairWork is the work of a comparison with a reference, besides that of its words and rows.
	pairWork = 4
	// effortPerWork is the number of compared words, rows or bytes that take as long.
	effortPerWork = 16
	// maxCached is the maximum number of cached similarities of one matching, 8 bytes each.
	maxCached = 1 << 23
)

// ErrWork means that matching needs too much work: the trajectory is too long for the dependences
// between the graph's nodes.
var ErrWork = errors.New("matching takes too much work")

// workError returns ErrWork with its size and remedy.
func (m *matcher) workError() error {
	return fmt.Errorf("%w: %d nodes and %d messages need more than %d steps or %d MiB; "+
		"let each node refer to one directly before it or to the start, split the graph into chains, or lower max_messages",
		ErrWork, len(m.graph.nodes), len(m.trajectory.Messages), maxWork, maxCached*8>>20)
}

// unknown is a similarity that has not been evaluated.
const unknown = -1

// matcher finds the best matching of a graph with a trajectory. assigned holds the indices of
// matched nodes in the current partial matching. Nodes without an index are open. Offsets are
// candidate indices, counted from the first user message.
type matcher struct {
	*preparedTrajectory
	graph *Graph
	// candidateCount is the number of candidate indices: first, first+1, …
	candidateCount int
	assigned       [maxNodes]int
	// cache holds constraint similarities by constraint number, referenceClass (0 without a reference)
	// and cacheColumn.
	cache [][][]float64
	// completions[constraint number] are the known completion classes of references.
	completions [][]int32
	// classes are those of nodes' dependences.
	classes [][]*classes
	// guardClasses are those of automatic guardrails, by the set of their tables.
	guardClasses map[uint64]*guardClasses
	bounds       bounds
	sums         map[string]outcome
	key          []byte
	// stack holds the candidates of active searches.
	stack []candidate
	// work counts the considered candidates. It approximates the running time.
	work int
	// cached counts the cached similarities.
	cached int
}

// candidate is a node and an index for the next step. In a search, similarity is an upper bound of
// the sum of the node and its descendants.
type candidate struct {
	similarity float64
	node       int32
	index      int32
}

// better orders candidates: best similarity first, then lower node, then lower index.
func better(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.similarity, a.similarity), cmp.Compare(a.node, b.node), cmp.Compare(a.index, b.index))
}

// newMatcher prepares matching. The trajectory must have a first user message.
func newMatcher(w *preparedTrajectory, g *Graph) *matcher {
	m := &matcher{
		preparedTrajectory: w, graph: g, candidateCount: len(w.trajectory.Messages) - w.first,
		cache: make([][][]float64, g.constraintCount), completions: make([][]int32, g.constraintCount),
		classes:      make([][]*classes, len(g.nodes)),
		guardClasses: make(map[uint64]*guardClasses), sums: make(map[string]outcome),
	}
	m.prepareBounds()
	return m
}

// match returns the index of each node, −1 if it is not matched. The error is ErrWork.
func (m *matcher) match() ([]int, error) {
	indices := make([]int, len(m.graph.nodes))
	for i := range indices {
		indices[i] = -1
	}
	open, last := m.graph.matched, m.first
	remaining := m.bestSum(open, last, unknown)
	for open != 0 {
		next := m.nextStep(open, last, remaining)
		if m.work > maxWork {
			return nil, m.workError()
		}
		last = int(next.index)
		m.assigned[next.node], indices[next.node] = last, last
		open &^= 1 << next.node
		remaining -= next.similarity
	}
	return indices, nil
}

// nextStep returns the first step, in the original's order, after which the remaining nodes can
// still reach the remaining sum.
func (m *matcher) nextStep(open uint64, last int, remaining float64) candidate {
	m.stack = m.stack[:0]
	m.pushSteps(open, last, remaining-sumTolerance)
	var step candidate
	best := float64(unknown)
	for from := range len(m.stack) {
		untried := m.stack[from:]
		m.work += len(untried) / cheap
		first := 0
		for i := range untried {
			if better(untried[i], untried[first]) < 0 {
				first = i
			}
		}
		untried[0], untried[first] = untried[first], untried[0]
		c := untried[0]
		m.assigned[c.node] = int(c.index)
		sum := c.similarity + m.bestSum(open&^(1<<c.node), int(c.index), remaining-sumTolerance-c.similarity)
		if sum > best {
			step, best = c, sum
		}
		if sum > remaining-sumTolerance || m.work > maxWork {
			break
		}
	}
	return step
}

// pushSteps pushes the steps after which the bounds allow a sum above threshold.
func (m *matcher) pushSteps(open uint64, last int, threshold float64) {
	var f forest
	m.buildForest(&f, open)
	sums := m.zeros(m.candidateCount)
	var rows [maxNodes]*subtreeBounds
	for set := f.roots; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		rows[i] = m.rootBounds(&f, i)
		for offset, best := range rows[i].suffixMax {
			sums[offset] += best
		}
	}
	for set := f.roots; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		n := &m.graph.nodes[i]
		if n.before&open != 0 {
			continue
		}
		m.work += m.candidateCount / cheap
		for offset := last - m.first; offset < m.candidateCount; offset++ {
			if rows[i].sum[offset]+sums[offset]-rows[i].suffixMax[offset] > threshold {
				index := m.first + offset
				m.work++
				m.stack = append(m.stack, candidate{m.nodeSimilarity(n, index), int32(i), int32(index)})
			}
		}
	}
}

// nodeSimilarity returns the similarity of a node at an index: the geometric mean of its
// constraints, times its guardrails.
func (m *matcher) nodeSimilarity(n *node, index int) float64 {
	for _, guard := range n.guards {
		if !m.equal(guard.Table, index, m.resolve(guard.Reference)) {
			return 0
		}
	}
	scored, guarded := 1.0, 1.0
	for i := range n.constraints {
		c := &n.constraints[i]
		similarity := m.constraintSimilarity(c, index)
		if similarity == 0 {
			return 0
		}
		if c.measure == Guardrail {
			guarded *= similarity
		} else {
			scored *= similarity
		}
	}
	return nthRoot(scored, n.scored) * guarded
}

// resolve returns the message index of a reference.
func (m *matcher) resolve(reference int) int {
	if reference < 0 {
		return m.first
	}
	return m.assigned[reference]
}

// constraintSimilarity returns the similarity of a constraint at an index.
func (m *matcher) constraintSimilarity(c *constraint, index int) float64 {
	if c.measure == Snapshot {
		return m.cachedSimilarity(c, index, -1)
	}
	return m.cachedSimilarity(c, index, m.resolve(c.reference))
}

// cachedSimilarity returns the similarity of a constraint at an index with a reference, −1 without
// one. It uses the cache.
func (m *matcher) cachedSimilarity(c *constraint, index, reference int) float64 {
	row := 0
	if reference >= 0 {
		row = m.referenceClass(c, reference)
	}
	for row >= len(m.cache[c.number]) {
		m.cache[c.number] = append(m.cache[c.number], nil)
	}
	cache := m.cache[c.number][row]
	column, size := m.cacheColumn(c, index)
	if cache == nil {
		if !m.reserve(size) {
			return 0
		}
		cache = m.zeros(size)
		for i := range cache {
			cache[i] = unknown
		}
		m.cache[c.number][row] = cache
	}
	if cache[column] == unknown {
		effort := m.effort
		cache[column] = m.evaluate(c, index, reference)
		if c.measure != Snapshot && c.reference >= 0 {
			m.work += pairWork
			m.chargeEffort(effort)
		}
		if m.packMeasures.failure != nil { // stop matching
			m.work = maxWork + 1
		}
	}
	return cache[column]
}

// chargeEffort adds the work of what was compared or made since effort.
func (m *matcher) chargeEffort(effort int) { m.work += (m.effort - effort) / effortPerWork }

// reserve reports whether count more similarities may be cached. Otherwise matching stops.
func (m *matcher) reserve(count int) bool {
	m.work += count / cheap
	if m.cached += count; m.cached > maxCached {
		m.work = maxWork + 1
	}
	return m.work <= maxWork
}

// cacheColumn returns the column of an index in a constraint's cache, and the number of columns.
// Similarities of stored tables depend only on the versions.
func (m *matcher) cacheColumn(c *constraint, index int) (column, size int) {
	if c.table == sandbox {
		return index - m.first, m.candidateCount
	}
	h := &m.tables[c.table]
	return int(h.versionAt[index]), len(h.versions)
}
