package rollout

import (
	"math/rand/v2"
	"slices"

	"google.golang.org/protobuf/proto"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// failingShare is the probability that a call of the agent fails by chance, that of HAL's study
// (arXiv 2602.16666).
const failingShare = 0.2

// retrySuffix makes the id of a repeated call of a script unique.
const retrySuffix = "_retry"

// Failing returns the positions of the trailing calls that fail by chance, none unless the tools of
// the agent fail. It is a function of the log. A call does not fail if its last attempt, the same
// tool with the same arguments, did: an agent that repeats each failed call once loses nothing.
func (s *State) Failing(setup *setupv1.Setup) []int32 {
	calls := s.Calls()
	if len(calls) == 0 || calls[0].GetSender() != worldv1.Role_ROLE_AGENT ||
		!slices.Contains(setup.GetTools().GetAugmentations(), setupv1.Augmentation_AUGMENTATION_FAILING_TOOLS) {
		return nil
	}
	var failing []int32
	for i, call := range calls {
		if fails(failingSeed(s.rollout), call.GetIndex()) && !s.lastFailed(call, calls[:i], failing) {
			failing = append(failing, int32(i))
		}
	}
	return failing
}

// failingSeed returns the seed by which the calls of a rollout fail. A fork repeats the failures of
// its origin, so that it gets to its first turn of its own as its origin did.
func failingSeed(rollout *busv1.Rollout) int64 {
	if rollout.GetFork() != nil {
		return rollout.GetFailingSeed()
	}
	return rollout.GetSeed()
}

// fails draws whether a call fails, from the seed and the index of its message.
func fails(seed int64, index int32) bool {
	return rand.New(rand.NewPCG(uint64(seed), uint64(index))).Float64() < failingShare
}

// lastFailed reports whether the last attempt of a call failed by chance. earlier are the calls
// before it in its batch, of which failing fail.
func (s *State) lastFailed(call *worldv1.Message, earlier []*worldv1.Message, failing []int32) bool {
	isAttempt := func(m *worldv1.Message) bool { return m.GetSender() == call.GetSender() && sameContent(m, call) }
	for i, m := range slices.Backward(earlier) {
		if isAttempt(m) {
			return slices.Contains(failing, int32(i))
		}
	}
	for _, execution := range slices.Backward(s.executed) {
		for i, m := range slices.Backward(execution.GetCalls()) {
			if isAttempt(m) {
				return slices.Contains(execution.GetOutcome().GetFailing(), int32(i))
			}
		}
	}
	return false
}

// Failed returns the indices of the calls that failed by chance, ascending.
func (s *State) Failed() []int32 {
	var failed []int32
	for _, execution := range s.executed {
		for i, call := range execution.GetCalls() {
			if slices.Contains(execution.GetOutcome().GetFailing(), int32(i)) {
				failed = append(failed, call.GetIndex())
			}
		}
	}
	return failed
}

// Scripted returns the next turn of a role that plays the script of its scenario, nil after its
// end. Calls that failed by chance are repeated before the script goes on.
func (s *State) Scripted(role worldv1.Role, script []*worldv1.ScriptTurn) *worldv1.ScriptTurn {
	next := 0
	var failing []int32 // of the calls of the role's last turn
	for _, turn := range s.turns {
		switch first := turn.GetMessages()[0]; {
		case first.GetSender() == role && len(failing) > 0:
			failing = nil
		case first.GetSender() == role:
			next++
		case first.GetSender() == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT && first.GetRecipient() == role:
			failing = append(failing, turn.GetFailing()...)
		}
	}
	switch {
	case len(failing) > 0 && next > 0 && next <= len(script):
		return retry(script[next-1], failing)
	case next < len(script):
		return script[next]
	default:
		return nil
	}
}

// retry returns a turn that repeats those calls of another one that failed.
func retry(turn *worldv1.ScriptTurn, failing []int32) *worldv1.ScriptTurn {
	again := &worldv1.ScriptTurn{}
	for i, call := range turn.GetCalls() {
		if slices.Contains(failing, int32(i)) {
			call = proto.CloneOf(call)
			if call.Id != nil {
				call.Id = proto.String(call.GetId() + retrySuffix)
			}
			again.Calls = append(again.Calls, call)
		}
	}
	return again
}
