// Package score scores finished trajectories against milestone and minefield graphs.
//
// Compile turns a Definition into a Graph once per scenario: it checks it, derives the automatic
// guardrails and prepares target texts and traces. Score then matches both graphs in a trajectory.
// Everything is pure: no clock, no randomness, no input or output.
//
// # Similarity
//
// A cell is compared with its target by a ColumnMeasure and kept with 32 bits; a row by the
// geometric mean over the target's columns; a version by the pairing of its rows with the target's
// that has the best geometric mean; a node by the geometric mean of its constraints, times its
// guardrails, all at the same message.
//
// What the original computes, rather than what one would expect: equality of a null cell and a
// value has no result, which leaves the column out of the row's mean if there are others and makes
// the constraint 0 if there are none. A message without a list of readers is no turn. Null under
// ROUGE-L, where the original crashes, gives 0.
//
// # Matching
//
// A matching is a sequence of steps (node, index): every node of the graph once, predecessors
// first, indices not decreasing. Its value is the sum of its similarities. The original walks all
// sequences depth first. At each step it tries the possible (node, index) by similarity, highest
// first, then by node, then by index, and keeps the first sequence whose value no later one
// exceeds. Call its result the first best sequence.
//
// This package finds the same sequence without walking them all. It knows V, the largest sum that
// the nodes left can add, and takes the first step in the original's order after which that sum can
// still be reached; then V is smaller by the step's similarity, and so on. That is the first best
// sequence: all sequences that begin alike lie together in the original's walk, and the first of
// the best among those after a given beginning starts with the first step in order that some best
// continuation starts with.
//
// What remains is V for given matched nodes and a last index. It does not depend on the order of
// steps: any indices that do not decrease along the edges and references can be brought into a
// sequence. So V is the largest sum over all choices of an index per node, at or behind the last
// index, that respect edges and references. It is found as follows.
//
//   - Open nodes that no edge or reference connects, not even by way of other open nodes, are parts
//     of their own: V is the sum over the parts.
//   - What a part can add depends on its nodes, on the first index that each may have, and on what
//     its nodes compare with at matched nodes: table versions, messages, and of automatic
//     guardrails only the version that all of a node's guardrails want, or that they want different
//     ones. Each such state is solved once.
//   - If each node of a part depends on one other open node at most, the part is a forest and V is
//     the sum over its roots of what a root and all that hangs on it can add, computed from the
//     leaves up by the index of the parent.
//   - Otherwise a forest is chosen, and each dependence beside it is replaced by its best case,
//     whatever the other node's index. That gives an upper bound of V for each index of a root. One
//     node is then tried at its indices in the order of these bounds until the bound of the next
//     one is not above the best sum found. An index is left out if an earlier one gives at least
//     the same similarity and the rest of the part sees the same versions there.
//
// Sums are compared with a margin of 1e-11, far below any difference between sums of 32-bit
// similarities that is not rounding, so the order of addition does not decide between equals.
//
// The number of states of a part is the product of what its nodes can tell apart at matched nodes:
// for a given graph polynomial in messages, of a degree that package tangle bounds when the graph
// is compiled. A search that takes too much work all the same is given up with ErrWork.
//
// A reference to a node that is no predecessor makes the original fail when it tries the node
// before that reference is matched. Here such a reference is a predecessor for matching, though not
// for the derived guardrails.
package score
