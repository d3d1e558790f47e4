package results

import (
	"fmt"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func answeredTurn(role worldv1.Role, index int32, id, peer string) *busv1.AnsweredTurn {
	return &busv1.AnsweredTurn{Role: role, Index: index, Instance: &agentgwv1.Instance{Id: id, Peer: peer, Certificate: "CN=c", Software: "s"}}
}

// TestInstances sums up turns of processes that connect again, share an id or have none.
func TestInstances(t *testing.T) {
	const agent, user = worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_USER
	run := &Run{Sessions: []Session{{}}}
	run.End(time.Time{}, 3, []Rollout{
		{Answered: []*busv1.AnsweredTurn{
			answeredTurn(user, 1, "u", "10.0.0.9:1"),
			answeredTurn(agent, 2, "a", "10.0.0.1:1"), answeredTurn(agent, 4, "b", "10.0.0.1:2"), answeredTurn(agent, 6, "a", "10.0.0.1:3"),
		}},
		{},
		{Answered: []*busv1.AnsweredTurn{
			answeredTurn(agent, 2, "a", "10.0.0.2:1"), answeredTurn(agent, 4, "", "10.0.0.1:4"), answeredTurn(agent, 6, "", "10.0.0.1:5"), answeredTurn(agent, 8, "a", "10.0.0.1:1"),
		}},
	})
	of := func(id, peer string, rollouts, turns int) Instance {
		return Instance{ID: id, Peer: peer, Certificate: "CN=c", Software: "s", Rollouts: rollouts, Turns: turns}
	}
	want := []Instance{of("a", "10.0.0.1:1", 2, 3), of("b", "10.0.0.1:2", 1, 1), of("a", "10.0.0.2:1", 1, 1), of("", "10.0.0.1:4", 1, 1), of("", "10.0.0.1:5", 1, 1)}
	if diff := gocmp.Diff(want, run.Agent.Instances); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff([]Instance{of("u", "10.0.0.9:1", 1, 1)}, run.User.Instances); diff != "" {
		t.Errorf("users (-want +got):\n%s", diff)
	}
	got := []*Answered{run.Rollouts[0].AnsweredBy, run.Rollouts[1].AnsweredBy, run.Rollouts[2].AnsweredBy}
	if diff := gocmp.Diff([]*Answered{
		{Agent: []InstanceTurns{{0, 2, 2, 6}, {1, 1, 4, 4}}, User: []InstanceTurns{{0, 1, 1, 1}}},
		nil,
		{Agent: []InstanceTurns{{2, 1, 2, 2}, {3, 1, 4, 4}, {4, 1, 6, 6}, {0, 1, 8, 8}}},
	}, got); diff != "" {
		t.Errorf("answered by (-want +got):\n%s", diff)
	}
}

// TestManyInstances records more processes than the list holds.
func TestManyInstances(t *testing.T) {
	run := &Run{Sessions: []Session{{}}}
	var turns []*busv1.AnsweredTurn
	for i := range int32(150) {
		turns = append(turns, answeredTurn(worldv1.Role_ROLE_AGENT, i, fmt.Sprint("i", i), "10.0.0.1:1"))
	}
	run.End(time.Time{}, 1, []Rollout{{Answered: append(turns, turns[3])}})
	list := run.Agent.Instances
	if n := len(list); n != maxInstances || list[n-1].ID != OtherInstances || list[n-1].Turns != 51 || list[n-1].Rollouts != 1 || list[3].Turns != 2 {
		t.Errorf("got %d instances, the fourth %+v and the last %+v, want %d, the last for 51", n, list[3], list[n-1], maxInstances)
	}
}
