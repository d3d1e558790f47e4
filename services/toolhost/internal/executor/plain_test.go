//go:build !race

package executor

// rounds is how many random batches are compared with all their orders.
const rounds = 22_000
