package bus

import (
	"slices"
	"strconv"
	"strings"
)

// Role is a kind of process that connects to NATS. Its name is that of its NATS user.
type Role string

// These are the roles. The first four are the services. An operator makes the streams.
const (
	RoleOrchestrator Role = "orchestrator"
	RoleToolHost     Role = "toolhost"
	RoleAgentGateway Role = "agentgw"
	RoleEvaluator    Role = "evaluator"
	RoleOperator     Role = "operator"
)

// Roles lists all roles.
func Roles() []Role {
	return []Role{RoleOrchestrator, RoleToolHost, RoleAgentGateway, RoleEvaluator, RoleOperator}
}

// InboxPrefix returns the prefix of the subjects at which a role receives answers. No other role
// may subscribe to them.
func InboxPrefix(role Role) string { return "_INBOX." + string(role) }

// shardToken stands for the number of a shard in a Subject.
const shardToken = "<n>"

// Subject is a row of the table of subjects: who publishes and who reads. Permissions, their tests
// and docs/security.md are made from it. A new subject needs a row.
type Subject struct {
	// Name is the subject with NATS wildcards. shardToken stands for a shard.
	Name string
	// Stream is the stream that stores the messages, empty if they are not stored.
	Stream string
	// Content describes the messages.
	Content string
	// Publish are the roles that publish. Those of a stream may also read what they replace and remove
	// it, unless it only grows.
	Publish []Role
	// Get are the roles that read the newest message of a subject.
	Get []Role
	// Read are the roles that read all messages of the stream, or subscribe.
	Read []Role
	// Remove are further roles that remove messages.
	Remove []Role
	// Grows says that publishers of the stream read and remove nothing, unless Remove has them.
	Grows bool
	// Answered says that readers answer with a message.
	Answered bool
}

// Subjects is the table of all subjects.
func Subjects() []Subject {
	const o, h, g, e = RoleOrchestrator, RoleToolHost, RoleAgentGateway, RoleEvaluator
	return []Subject{
		{Name: "jobs.>", Stream: jobStream, Content: "what to run", Publish: []Role{o}, Read: []Role{o}},
		{Name: "member.*", Stream: memberStream, Content: "live tool hosts", Publish: []Role{h}, Read: []Role{o, h}},
		{Name: "bus.<n>.>", Stream: "BUS_<n>", Content: "logs of rollouts", Publish: []Role{o}, Read: []Role{o, h, e}},
		{Name: "snapshot.<n>.>", Stream: "SNAPSHOT_<n>", Content: "table versions", Publish: []Role{h}, Read: []Role{o, e}, Remove: []Role{o}, Grows: true},
		{Name: "result.>", Stream: resultStream, Content: "scores", Publish: []Role{e}, Read: []Role{o, e}, Remove: []Role{o}},
		{Name: "sweep.>", Stream: sweepStream, Content: "plans and control of sweeps", Publish: []Role{o}, Read: []Role{o, g, e}},
		{Name: "setup.*", Stream: setupStream, Content: "scenarios without their evaluation", Publish: []Role{o}, Get: []Role{o, h, e}},
		{Name: "tools.*", Stream: setupStream, Content: "tool lists of sessions", Publish: []Role{o}, Get: []Role{g}},
		{Name: "evaluation.*", Stream: evaluationStream, Content: "milestones and minefields", Publish: []Role{e}, Get: []Role{e}},
		{Name: "turn.>", Stream: recordingStream, Content: "answers of players", Publish: []Role{o, g}, Read: []Role{o, g}},
		{Name: "answer.>", Stream: recordingStream, Content: "answers of hosted services for a replay", Publish: []Role{o}, Read: []Role{o, g}},
		{Name: queuedSubject + "*", Content: "announcements of jobs", Publish: []Role{o}, Read: []Role{o}},
		{Name: loadSubject + "*", Content: "what processes do for a sweep", Publish: []Role{o}, Read: []Role{o, g}, Answered: true},
		{Name: scoreSubject, Content: "requests for results", Publish: []Role{o}, Read: []Role{e}, Answered: true},
		{Name: relaySubject + ">", Content: "turns that gateways forward", Publish: []Role{g}, Read: []Role{g}, Answered: true},
		{Name: replicaSubject("agentgw", "*"), Content: "heartbeats of gateways", Publish: []Role{g}, Read: []Role{g}},
		{Name: replicaSubject("toolhost", "*"), Content: "heartbeats of tool hosts", Publish: []Role{h}, Read: []Role{h}},
		{Name: replicaSubject("orchestrator", "*"), Content: "heartbeats of orchestrators", Publish: []Role{o}, Read: []Role{o}},
	}
}

// uses reports whether a role publishes or reads a subject.
func (s Subject) uses(role Role) bool {
	return slices.Contains(s.Publish, role) || slices.Contains(s.Get, role) || slices.Contains(s.Read, role)
}

// onShards returns the row for each shard, or the row itself if it has none.
func (s Subject) onShards(shards int) []Subject {
	if !strings.Contains(s.Name, shardToken) {
		return []Subject{s}
	}
	rows := make([]Subject, shards)
	for n := range rows {
		rows[n] = s
		rows[n].Name = strings.ReplaceAll(s.Name, shardToken, strconv.Itoa(n))
		rows[n].Stream = strings.ReplaceAll(s.Stream, shardToken, strconv.Itoa(n))
	}
	return rows
}

// streamsOf returns the names of the streams that any of the roles uses, in the order of the table.
func streamsOf(shards int, roles ...Role) []string {
	var names []string
	for _, row := range Subjects() {
		if row.Stream == "" || !slices.ContainsFunc(roles, row.uses) {
			continue
		}
		for _, row := range row.onShards(shards) {
			if !slices.Contains(names, row.Stream) {
				names = append(names, row.Stream)
			}
		}
	}
	return names
}
