package agentgw

import (
	"fmt"
	"testing"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// TestHistoryHoldsWaitingRollouts: ten thousand rollouts that take their turns in the same order
// find all their earlier turns.
func TestHistoryHoldsWaitingRollouts(t *testing.T) {
	h := newTestHistory(t)
	const rollouts, turns = 10000, 10
	for index := range int32(turns) {
		for i := range rollouts {
			id := fmt.Sprintf("sweep.%d", i)
			for earlier := range index {
				if h.get(turnKey{id, earlier}) == nil {
					t.Fatalf("rollout %d: turn %d is forgotten at turn %d", i, earlier, index)
				}
			}
			h.add(turnKey{id, index}, &agentgwv1.Reply{})
		}
	}
}

// TestHistoryForgetsTheOldest: native turns of more than historyBytes push out the rollouts that
// were used least recently, and a turn that is recorded again counts once.
func TestHistoryForgetsTheOldest(t *testing.T) {
	h := newTestHistory(t)
	reply := &agentgwv1.Reply{Provider: "p", Native: make([]byte, historyBytes/4)}
	for i := range 4 {
		h.add(turnKey{fmt.Sprint(i), 0}, reply)
		h.add(turnKey{fmt.Sprint(i), 0}, reply)
	}
	h.get(turnKey{"0", 0})
	h.add(turnKey{"4", 1}, reply)
	for id, want := range map[string]bool{"0": true, "1": false, "2": true, "3": true} {
		if got := h.get(turnKey{id, 0}) != nil; got != want {
			t.Errorf("rollout %s is there: %t, want %t", id, got, want)
		}
	}
	if turn := h.get(turnKey{"4", 1}); turn == nil || turn.Provider != "p" || len(turn.Native) != len(reply.GetNative()) {
		t.Error("the last turn is not there as it was added")
	}
	h.add(turnKey{"large", 0}, &agentgwv1.Reply{Native: make([]byte, historyBytes+1)})
	h.add(turnKey{"5", 0}, reply)
	if h.bytes != len(reply.GetNative()) {
		t.Errorf("counts %d bytes, want %d", h.bytes, len(reply.GetNative()))
	}
}

func newTestHistory(t *testing.T) *history {
	t.Helper()
	h, err := newHistory()
	if err != nil {
		t.Fatal(err)
	}
	return h
}
