package toolhost

import (
	"bytes"
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

// TestMovedSession moves a session to an empty tool host and back to the one with its older copy.
// The first rebuilds it from the log, and the second never answers from its copy.
func TestMovedSession(t *testing.T) {
	b := natstest.Start(t)
	client := func() toolhostv1.ToolHostServiceClient {
		return serve(t, filepath.Join(t.TempDir(), storeFile), b, ownsAll).client
	}
	old, next := client(), client()
	log := history(t, old, "calm")
	digest := func(n int) []byte { return log[n].GetOutcome().GetSessionDigest() }
	execute := func(to toolhostv1.ToolHostServiceClient, id string, n int) (*toolhostv1.ExecuteResponse, error) {
		return to.Execute(t.Context(), &toolhostv1.ExecuteRequest{SessionId: id, Index: log[n].GetIndex(), Calls: log[n].GetCalls(), SessionDigest: digest(n - 1)})
	}
	calls := map[string]func(id string) error{
		"GetSession": func(id string) error {
			response, err := old.GetSession(t.Context(), &toolhostv1.GetSessionRequest{SessionId: id})
			if diff := cmp.Diff(digest(3), response.GetSession().GetDigest()); diff != "" {
				t.Errorf("digest (-want +got):\n%s", diff)
			}
			return err
		},
		"ReadTables": func(id string) error {
			if got := names(t, old, id, 9); len(got) != 3 {
				t.Errorf("contacts: got %q, want three", got)
			}
			return nil
		},
		"ListVersions": func(id string) error {
			if diff := cmp.Diff(versions(t, old, "calm"), versions(t, old, id)); diff != "" {
				t.Errorf("versions (-want +got):\n%s", diff)
			}
			return nil
		},
		"ForkSession": func(id string) error {
			_, err := old.ForkSession(t.Context(), &toolhostv1.ForkSessionRequest{SessionId: id, Index: 9, NewSessionId: id + ".fork"})
			return err
		},
		"Execute without a digest": func(id string) error {
			response := run(t, old, id, log[3].GetIndex(), log[3].GetCalls()...)
			if diff := cmp.Diff(log[3].GetOutcome(), response, protocmp.Transform()); diff != "" {
				t.Errorf("committed outcome (-want +got):\n%s", diff)
			}
			return nil
		},
	}
	for copied, more := range map[string][]*worldv1.Message{
		"behind":   nil,
		"diverged": {call(6, worldv1.Role_ROLE_AGENT, "add_contact('Eve', '+14085554444')")},
	} {
		number := 0
		for name, answer := range calls {
			id := "s-" + copied + "." + string(rune('a'+number))
			number++
			t.Run(copied+"/"+name, func(t *testing.T) {
				create(t, old, id, smallSetup("small"))
				for _, execution := range log[:2] {
					run(t, old, id, execution.GetIndex(), execution.GetCalls()...)
				}
				if more != nil {
					run(t, old, id, 7, more...)
				}
				_, err := execute(next, id, 2)
				wantCode(t, "the next call, at the new owner", err, codes.NotFound)
				restore(t, next, id, log[:2])
				for n := 2; n < len(log); n++ {
					response, err := execute(next, id, n)
					if diff := cmp.Diff(log[n].GetOutcome(), response, protocmp.Transform()); err != nil || diff != "" {
						t.Errorf("call %d at the new owner: %v (-want +got):\n%s", n, err, diff)
					}
				}
				appendLog(t, b, &busv1.Rollout{Id: id}, log)
				_, err = execute(old, id, 3)
				wantCode(t, "the last call again, at the owner with the older copy", err, codes.FailedPrecondition)
				if err := answer(id); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				response, err := execute(old, id, 3)
				if diff := cmp.Diff(log[3].GetOutcome(), response, protocmp.Transform()); err != nil || diff != "" {
					t.Errorf("the last call again: %v (-want +got):\n%s", err, diff)
				}
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
