// Package score scores finished trajectories against milestone and minefield graphs.
//
// Compile turns a Definition into a Graph once per scenario: it checks it, derives the automatic guardrails and prepares
// target texts and traces. Score then matches both graphs in a trajectory. Everything is pure: no clock, no randomness, no
// input or output.
//
// # Similarity
//
// A cell is compared with its target by a ColumnMeasure and kept with 32 bits; a row by the geometric mean over the
// target's columns; a version by the pairing of its rows with the target's that has the best geometric mean; a node by the
// geometric mean of its constraints, times its guardrails, all at the same message.
//
// What the original computes, rather than what one would expect: equality of a null cell and a value has no result,
// which leaves the column out of the row's mean if there are others and makes the constraint 0 if there are none. A
// message without a list of readers is no turn. Null under ROUGE-L, where the original crashes, gives 0.
//
// # Matching
//
// A matching is a sequence of steps (node, index): every node of the graph once, predecessors first, indices not
// decreasing. Its value is the sum of its similarities. The original walks all sequences depth first. At each step it
// tries the possible (node, index) by similarity, highest first, then by node, then by index, and keeps the first
// sequence whose value no later one exceeds. Call its result the first best sequence.
//
// This package finds the same sequence without walking them all. The state of a partial sequence is the set of nodes that
// are left, the last index, and what nodes that are left read of the matched ones: for each such pair the table versions
// (or the message) at the matched index. Three facts make the result equal:
//
//   - Which steps are possible, their similarities and hence their order depend on the state alone: the last index bounds
//     the indices, the set decides which nodes have no open predecessor, and a similarity reads its own index and what its
//     references show, all of which the state holds. So two partial sequences with the same state have the same
//     continuations, in the same order.
//   - The first best sequence is made of first best continuations. Let p be a partial sequence that the first best
//     sequence begins with. All sequences that begin with p lie together in the original's walk and their values are
//     that of p plus that of the continuation, so the first of the best among them has the first best continuation of
//     p's state. It is enough to know, per state, the first best continuation: its first step is the first one in order
//     whose similarity plus the best value of the state after it is maximal. By induction on the nodes left, solve returns
//     it, and each state is solved once.
//   - What solve leaves out changes nothing. A step is skipped if its similarity plus what the nodes left can reach at most
//     (each its best over all later indices, references that are not fixed counted as 1) does not exceed the best found
//     before it in the order, so it could not replace that; the rest is skipped once the best found equals such a bound for
//     the whole state. A step is also skipped if an earlier index, with the same versions of all that the nodes left read
//     there, gives the same node at least the same similarity: every continuation of the later one continues the earlier
//     one, which the order tries first.
//
// Sums are compared with a margin of 1e-12, far below any difference between sums of 32-bit similarities that is not
// rounding, so the order of addition does not decide between equals.
//
// The number of states is at most the number of node sets that are closed under predecessors, times the messages, times
// the combinations of versions that nodes left can tell apart: for a given graph polynomial in messages.
//
// A reference to a node that is no predecessor makes the original fail when it tries the node before that reference is
// matched. Here such a reference is a predecessor for matching, though not for the derived guardrails.
package score
