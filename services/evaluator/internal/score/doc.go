// Package score scores finished trajectories against milestone and minefield graphs.
//
// NewGraph prepares a graph that package evaluation compiled and checked, once per scenario. Score
// then matches both graphs with a trajectory. The package is pure: it has no clock, randomness,
// input or output.
//
// # Similarity
//
// A ColumnMeasure compares a cell with its target; its result has 32 bits. The similarity of a row
// is the geometric mean over the target's columns. That of a version is the best geometric mean
// over all pairings of its rows with the target's. That of a node is the geometric mean of its
// constraints, times its guardrails, all at the same message.
//
// The package computes what the original, Apple's ToolSandbox in Python, computes. Equality of a
// null cell and a value has no result. The row's mean counts such a column as 1. Alone, it makes
// the constraint 0. A message without a list of readers is not a turn. Null under ROUGE-L, where
// the original crashes, gives 0.
//
// # Matching
//
// A matching is a sequence of steps (node, index). It contains every node of the graph once,
// predecessors first, with non-decreasing indices. Its value is the sum of its similarities. The
// original walks all sequences depth first. At each step it tries the possible (node, index) by
// similarity, highest first, then by node, then by index. It keeps the first sequence whose value
// no later one exceeds. Call its result the first best sequence.
//
// This package finds the same sequence without walking them all. It knows V, the largest sum that
// the remaining nodes can add. It takes the first step in the original's order after which that sum
// can still be reached. V is then smaller by the step's similarity, and so on. The result is the
// first best sequence: sequences with a common prefix are adjacent in the original's walk. The
// first best continuation of a prefix starts with the first step, in order, with which some best
// continuation starts.
//
// It remains to compute V for given matched nodes and a last index. V does not depend on the order
// of steps: any indices that do not decrease along edges and references can be put into a sequence.
// So V is the largest sum over all choices of an index per node, from the last index, that respect
// edges and references. It is computed as follows.
//
//   - Open nodes that no edge or reference connects, directly or through other open nodes, are
//     separate components. V is the sum over the components.
//   - The best sum of a component depends on its nodes, on the first possible index of each, and on
//     their comparisons with matched nodes: table versions, and the values that an extractor finds
//     in a message. Matches that a node cannot tell apart are one class. For automatic guardrails
//     this is only the version that all of a node's guardrails require, or that they require
//     different ones. Each such state is solved once.
//   - If each node of a component depends on at most one other open node, the component is a
//     forest. V is then the sum of the best sums of its trees, computed from the leaves by the
//     index of the parent.
//   - Otherwise the search chooses a forest. It replaces each other dependence by its best case
//     over the other node's indices. This gives an upper bound of V for each index of a root. The
//     search tries the indices of one node in the order of these bounds, until the next bound does
//     not exceed the best sum found. It omits an index if an earlier one gives at least the same
//     similarity and the other nodes of the component see the same versions there.
//
// Sums are compared with a tolerance of 1e-11. This is far below any difference between sums of
// 32-bit similarities except rounding, so the order of addition does not matter for equal sums.
//
// The number of states of a component is the product of what its nodes distinguish at matched
// nodes. For a given graph it is polynomial in the number of messages. Package evaluation limits
// the degree when the graph is compiled. A search that still needs too much work fails with
// ErrWork. Work counts steps of the same trajectory and graph alike on every machine. It does not
// count the comparisons without references, whose number is that of nodes times messages.
//
// The original fails if it tries a node before its reference, when the reference is not a
// predecessor. In this package such a reference is a predecessor for matching, but not for the
// derived guardrails.
package score
