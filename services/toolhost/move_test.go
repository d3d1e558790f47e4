package toolhost

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// appendLog stores the log of a rollout with executions.
func appendLog(t *testing.T, b *bus.Bus, rollout *busv1.Rollout, executions []*toolhostv1.Execution) {
	t.Helper()
	start := &busv1.Start{Rollout: rollout, Messages: smallSetup("small").GetMessages()}
	entry := &busv1.LogEntry{Start: start}
	for _, execution := range executions {
		outcome := execution.GetOutcome()
		entry.Turns = append(entry.Turns, &busv1.Turn{Messages: execution.GetCalls()}, &busv1.Turn{
			Messages: outcome.GetAnswers(), Versions: outcome.GetVersions(), SessionDigest: outcome.GetSessionDigest(),
		})
	}
	if _, err := b.Append(t.Context(), rollout.GetId(), entry, bus.Position{}); err != nil {
		t.Fatal(err)
	}
}

// moved is a session that moved from an old owner to a new one and back.
type moved struct {
	bus       *bus.Bus
	old, next toolhostv1.ToolHostServiceClient
	log       []*toolhostv1.Execution
}

// execute repeats an execution of the log, as the orchestrator does.
func (m *moved) execute(t *testing.T, at toolhostv1.ToolHostServiceClient, id string, n int) (*toolhostv1.ExecuteResponse, error) {
	t.Helper()
	return at.Execute(t.Context(), &toolhostv1.ExecuteRequest{
		SessionId: id, Index: m.log[n].GetIndex(), Calls: m.log[n].GetCalls(), SessionDigest: m.log[n-1].GetOutcome().GetSessionDigest(),
	})
}

// move plays the first half of the log, and further calls, at the old owner, and the second half at
// the new one, which rebuilds the session from the log.
func (m *moved) move(t *testing.T, id string, more ...*worldv1.Message) {
	t.Helper()
	create(t, m.old, id, smallSetup("small"))
	for _, execution := range m.log[:2] {
		run(t, m.old, id, execution.GetIndex(), execution.GetCalls()...)
	}
	if len(more) > 0 {
		run(t, m.old, id, m.log[2].GetIndex(), more...)
	}
	_, err := m.execute(t, m.next, id, 2)
	wantCode(t, "the next call, at the new owner", err, codes.NotFound)
	restore(t, m.next, id, m.log[:2])
	for n := 2; n < len(m.log); n++ {
		m.same(t, m.next, id, n)
	}
	appendLog(t, m.bus, &busv1.Rollout{Id: id}, m.log)
}

// same repeats an execution of the log and expects its outcome.
func (m *moved) same(t *testing.T, at toolhostv1.ToolHostServiceClient, id string, n int) {
	t.Helper()
	response, err := m.execute(t, at, id, n)
	if diff := cmp.Diff(m.log[n].GetOutcome(), response, protocmp.Transform()); err != nil || diff != "" {
		t.Errorf("call %d: %v (-want +got):\n%s", n, err, diff)
	}
}

// answers are the calls that the owner with the older copy answers as the log says.
func (m *moved) answers() map[string]func(t *testing.T, id string) {
	return map[string]func(t *testing.T, id string){
		"GetSession": func(t *testing.T, id string) {
			t.Helper()
			response, err := m.old.GetSession(t.Context(), &toolhostv1.GetSessionRequest{SessionId: id})
			if got, want := response.GetSession().GetDigest(), m.log[3].GetOutcome().GetSessionDigest(); err != nil || !bytes.Equal(got, want) {
				t.Errorf("digest: got %x, %v, want %x", got, err, want)
			}
		},
		"ReadTables": func(t *testing.T, id string) {
			t.Helper()
			if got := names(t, m.old, id, 9); len(got) != 3 {
				t.Errorf("contacts: got %q, want three", got)
			}
		},
		"ListVersions": func(t *testing.T, id string) {
			t.Helper()
			if diff := cmp.Diff(versions(t, m.old, "calm"), versions(t, m.old, id)); diff != "" {
				t.Errorf("versions (-want +got):\n%s", diff)
			}
		},
		"ForkSession": func(t *testing.T, id string) {
			t.Helper()
			if _, err := m.old.ForkSession(t.Context(), &toolhostv1.ForkSessionRequest{SessionId: id, Index: 9, NewSessionId: id + ".fork"}); err != nil {
				t.Error(err)
			}
		},
		"Execute without a digest": func(t *testing.T, id string) {
			t.Helper()
			response := run(t, m.old, id, m.log[3].GetIndex(), m.log[3].GetCalls()...)
			if diff := cmp.Diff(m.log[3].GetOutcome(), response, protocmp.Transform()); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
		},
	}
}

// TestMovedSession moves a session to an empty tool host and back to the one with its older copy.
// The first rebuilds it from the log, and the second never answers from its copy.
func TestMovedSession(t *testing.T) {
	m := &moved{bus: natstest.Start(t)}
	m.old = serve(t, filepath.Join(t.TempDir(), storeFile), m.bus, ownsAll).client
	m.next = serve(t, filepath.Join(t.TempDir(), storeFile), m.bus, ownsAll).client
	m.log = history(t, m.old, "calm")
	for copied, more := range map[string][]*worldv1.Message{
		"behind":   nil,
		"diverged": {call(6, worldv1.Role_ROLE_AGENT, "add_contact('Eve', '+14085554444')")},
	} {
		number := 0
		for name, answer := range m.answers() {
			id := fmt.Sprintf("%s.%d", copied, number)
			number++
			t.Run(copied+"/"+name, func(t *testing.T) {
				m.move(t, id, more...)
				_, err := m.execute(t, m.old, id, 3)
				wantCode(t, "the last call again, at the owner with the older copy", err, codes.FailedPrecondition)
				answer(t, id)
				m.same(t, m.old, id, 3)
			})
		}
	}
}

// TestAheadOfLog reads a session whose last execution is not in the log yet. The read leaves it
// alone.
func TestAheadOfLog(t *testing.T) {
	b := natstest.Start(t)
	client := serve(t, filepath.Join(t.TempDir(), storeFile), b, ownsAll).client
	log := history(t, client, "s")
	appendLog(t, b, &busv1.Rollout{Id: "s"}, log[:2])
	if got := names(t, client, "s", 9); len(got) != 3 {
		t.Errorf("contacts: got %q, want three", got)
	}
}

// TestRebuiltByRead reads the session of a rollout at a tool host that never had it. It is rebuilt
// from the log, unless it was deleted there or replays what its log does not have.
func TestRebuiltByRead(t *testing.T) {
	b := natstest.Start(t)
	old := serve(t, filepath.Join(t.TempDir(), storeFile), b, ownsAll).client
	next := serve(t, filepath.Join(t.TempDir(), storeFile), b, ownsAll).client
	log := history(t, old, "s")
	digest, err := b.PutSetup(t.Context(), smallSetup("small"))
	if err != nil {
		t.Fatal(err)
	}
	appendLog(t, b, &busv1.Rollout{Id: "s", SetupDigest: digest}, log)
	appendLog(t, b, &busv1.Rollout{Id: "replay", SetupDigest: digest, Replay: true}, log)
	get := func(id string) ([]byte, error) {
		response, err := next.GetSession(t.Context(), &toolhostv1.GetSessionRequest{SessionId: id})
		return response.GetSession().GetDigest(), err
	}
	if got, err := get("s"); err != nil || !bytes.Equal(got, log[3].GetOutcome().GetSessionDigest()) {
		t.Errorf("digest at the new owner: got %x, %v, want that of the log", got, err)
	}
	if diff := cmp.Diff(versions(t, old, "s"), versions(t, next, "s")); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	for range 2 {
		if _, err := next.DeleteSession(t.Context(), &toolhostv1.DeleteSessionRequest{SessionId: "s"}); err != nil {
			t.Errorf("DeleteSession: %v", err)
		}
		_, err = get("s")
		wantCode(t, "a deleted session", err, codes.NotFound)
	}
	_, err = get("replay")
	wantCode(t, "a session that replays", err, codes.NotFound)
	_, err = get("none")
	wantCode(t, "a session without a log", err, codes.NotFound)
	restore(t, next, "s", log[:2]) // a later round
	if got, err := get("s"); err != nil || !bytes.Equal(got, log[3].GetOutcome().GetSessionDigest()) {
		t.Errorf("digest after a restoration: got %x, %v, want that of the log", got, err)
	}
	list, err := next.ListSessions(t.Context(), &toolhostv1.ListSessionsRequest{})
	if err != nil || len(list.GetSessions()) != 1 {
		t.Errorf("sessions: got %v, %v, want one", list.GetSessions(), err)
	}
}
