// Package statistics computes what a report of a run says about its scores: means with standard
// errors that respect clusters, intervals, rates of passes in several trials, and tests of paired
// differences. docs/statistics.md names the source of each formula.
//
// A cluster is what was drawn independently: a base scenario with all its variants and trials.
// Functions do not change their arguments. Those that draw random numbers draw the same ones for
// the same arguments.
package statistics

import "math/rand/v2"

// Confidence is the probability of every interval.
const Confidence = 0.95

// draws returns the random numbers of one computation.
func draws() *rand.Rand { return rand.New(rand.NewPCG(2408, 4682)) }
