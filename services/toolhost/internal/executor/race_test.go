//go:build race

package executor

// rounds is how many random batches are compared with all their orders: a few with the race
// detector, which makes each several times as dear.
const rounds = 2_200
