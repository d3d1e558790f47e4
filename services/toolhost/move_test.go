package toolhost

import (
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
func appendLog(t *testing.T, b *bus.Bus, id string, executions []*toolhostv1.Execution) {
	t.Helper()
	start := &busv1.Start{Rollout: &busv1.Rollout{Id: id}, Messages: smallSetup("small").GetMessages()}
	entry := &busv1.LogEntry{Start: start}
	for _, execution := range executions {
		outcome := execution.GetOutcome()
		entry.Turns = append(entry.Turns, &busv1.Turn{Messages: execution.GetCalls()}, &busv1.Turn{
			Messages: outcome.GetAnswers(), Versions: outcome.GetVersions(), SessionDigest: outcome.GetSessionDigest(),
		})
	}
	if _, err := b.Append(t.Context(), id, entry, bus.Position{}); err != nil {
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
				appendLog(t, b, id, log)
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
	appendLog(t, b, "s", log[:2])
	if got := names(t, client, "s", 9); len(got) != 3 {
		t.Errorf("contacts: got %q, want three", got)
	}
}
