package results

import (
	"net"
	"slices"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	// maxInstances bounds Player.Instances. The last one stands for all further ones.
	maxInstances = 100
	// OtherInstances is the id of that one. No process can choose it.
	OtherInstances = "(others)"
)

// Instance is a process that answered turns as an attached agent. It is what the process and its
// connection say, and nothing reproducible depends on it.
type Instance struct {
	// ID is the id that the process chose.
	ID string `json:"instance"`
	// Peer is the address of the connection with its first answer.
	Peer string `json:"peer"`
	// Certificate is the subject of its verified certificate, Software its SDK.
	Certificate string `json:"certificate,omitempty"`
	Software    string `json:"software,omitempty"`
	// Rollouts and Turns count what it answered.
	Rollouts int `json:"rollouts"`
	Turns    int `json:"turns"`
}

// Answered is what the processes of attached agents answered in a rollout, by role.
type Answered struct {
	Agent []InstanceTurns `json:"agent,omitempty"`
	User  []InstanceTurns `json:"user,omitempty"`
}

// InstanceTurns are the turns of one process in a rollout.
type InstanceTurns struct {
	// Instance is the position of the process in Player.Instances.
	Instance int `json:"instance"`
	Turns    int `json:"turns"`
	// First and Last are the indices of the first messages of its first and last turn.
	First int32 `json:"first"`
	Last  int32 `json:"last"`
}

// roleInstances collects the instances of one role.
type roleInstances struct {
	list  []Instance
	known map[Instance]int
}

// setInstances sets which processes answered: the players' Instances, and AnsweredBy of the
// outcomes, which belong to rollouts of these, in their order.
func (r *Run) setInstances(rollouts []Rollout) {
	agent, user := roleInstances{known: map[Instance]int{}}, roleInstances{known: map[Instance]int{}}
	next := 0
	for _, rollout := range rollouts {
		answered := Answered{
			Agent: agent.add(rollout.Answered, worldv1.Role_ROLE_AGENT), User: user.add(rollout.Answered, worldv1.Role_ROLE_USER),
		}
		if next == len(r.Rollouts) || r.Rollouts[next].ID != rollout.Result.GetRollout().GetId() {
			continue // RunFile does not list it
		}
		if answered.Agent != nil || answered.User != nil {
			r.Rollouts[next].AnsweredBy = &answered
		}
		next++
	}
	r.Agent.Instances, r.User.Instances = agent.list, user.list
}

// add adds the turns of a rollout, and returns those of the role by instance.
func (r *roleInstances) add(turns []*busv1.AnsweredTurn, role worldv1.Role) []InstanceTurns {
	var answered []InstanceTurns
	for _, turn := range turns {
		if turn.GetRole() != role {
			continue
		}
		n := r.number(turn)
		at := slices.IndexFunc(answered, func(a InstanceTurns) bool { return a.Instance == n })
		if at < 0 {
			at = len(answered)
			answered = append(answered, InstanceTurns{Instance: n, First: turn.GetIndex()})
			r.list[n].Rollouts++
		}
		answered[at].Turns++
		answered[at].Last = turn.GetIndex()
		r.list[n].Turns++
	}
	return answered
}

// number returns the number of the process that answered a turn. A process with an id keeps its
// number when it connects again from the same host.
func (r *roleInstances) number(turn *busv1.AnsweredTurn) int {
	i := turn.GetInstance()
	process := Instance{ID: i.GetId(), Peer: i.GetPeer(), Certificate: i.GetCertificate(), Software: i.GetSoftware()}
	key := process
	if host, _, err := net.SplitHostPort(i.GetPeer()); err == nil && i.GetId() != "" {
		key.Peer = host
	}
	n, ok := r.known[key]
	if ok {
		return n
	}
	if len(r.list) >= maxInstances {
		return maxInstances - 1
	}
	if len(r.list) == maxInstances-1 {
		process = Instance{ID: OtherInstances}
		key = process
	}
	n = len(r.list)
	r.known[key] = n
	r.list = append(r.list, process)
	return n
}
