package toolhost

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// history executes four calls in a session and returns its log. The third call fails and uses up a
// row id.
func history(t *testing.T, client toolhostv1.ToolHostServiceClient, id string) []*toolhostv1.Execution {
	t.Helper()
	create(t, client, id, smallSetup("small"))
	var executions []*toolhostv1.Execution
	for i, source := range []string{
		"add_contact('Bob', '+14085551111')", "set_wifi_status(on=False)", "add_contact('Me', '+14085553333', None, True)",
		"add_contact('Cid', '+14085552222')",
	} {
		calls := []*worldv1.Message{call(int32(2+2*i), worldv1.Role_ROLE_AGENT, source)}
		outcome := run(t, client, id, int32(3+2*i), calls...)
		executions = append(executions, &toolhostv1.Execution{Index: int32(3 + 2*i), Calls: calls, Outcome: outcome})
	}
	if executions[2].GetOutcome().GetAnswers()[0].GetResult().GetException() == "" {
		t.Fatal("a second contact that is the user: got an answer, want an exception")
	}
	return executions
}

func restore(t *testing.T, client toolhostv1.ToolHostServiceClient, id string, executions []*toolhostv1.Execution) *toolhostv1.RestoreSessionResponse {
	t.Helper()
	response, err := client.RestoreSession(t.Context(), restoreRequest(id, executions))
	if err != nil {
		t.Fatalf("RestoreSession: %v", err)
	}
	return response
}

func restoreRequest(id string, executions []*toolhostv1.Execution) *toolhostv1.RestoreSessionRequest {
	return &toolhostv1.RestoreSessionRequest{
		Create: &toolhostv1.CreateSessionRequest{SessionId: id, Setup: smallSetup("small")}, Executions: executions,
	}
}

// TestRestore restores sessions in every state to every state of a log, on the original host and on
// an empty one. Afterwards they have the log's versions and digest, and continue normally.
func TestRestore(t *testing.T) {
	bus := natstest.Start(t)
	client := serve(t, filepath.Join(t.TempDir(), storeFile), bus, ownsAll).client
	log := history(t, client, "calm")
	for known := range len(log) + 1 { // executions of the session
		for wanted := range len(log) + 1 { // executions in the log
			id := string(rune('a'+known)) + string(rune('a'+wanted))
			if known > 0 || wanted%2 == 0 { // otherwise the session is missing
				create(t, client, id, smallSetup("small"))
			}
			for _, execution := range log[:known] {
				run(t, client, id, execution.GetIndex(), execution.GetCalls()...)
			}
			want := &toolhostv1.RestoreSessionResponse{Repeated: int32(max(wanted-known, 0)), Dropped: int32(max(known-wanted, 0))}
			if diff := cmp.Diff(want, restore(t, client, id, log[:wanted]), protocmp.Transform()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", id, diff)
			}
			if diff := cmp.Diff(&toolhostv1.RestoreSessionResponse{}, restore(t, client, id, log[:wanted]), protocmp.Transform()); diff != "" {
				t.Errorf("%s, repeated (-want +got):\n%s", id, diff)
			}
			for _, execution := range log[wanted:] {
				digest := []byte(nil)
				if wanted > 0 {
					digest = log[wanted-1].GetOutcome().GetSessionDigest()
				}
				response, err := client.Execute(t.Context(), &toolhostv1.ExecuteRequest{
					SessionId: id, Index: execution.GetIndex(), Calls: execution.GetCalls(), SessionDigest: digest,
				})
				if err != nil {
					t.Fatalf("%s: %v", id, err)
				}
				if diff := cmp.Diff(execution.GetOutcome(), response, protocmp.Transform()); diff != "" {
					t.Errorf("%s, execution %d (-want +got):\n%s", id, execution.GetIndex(), diff)
				}
				wanted++
			}
			if diff := cmp.Diff(versions(t, client, "calm"), versions(t, client, id), protocmp.Transform()); diff != "" {
				t.Errorf("%s: versions (-calm +got):\n%s", id, diff)
			}
		}
	}
}

// TestRestorePublishesVersions checks that restoring announces a session's versions, even if the
// session already has the state of the log.
func TestRestorePublishesVersions(t *testing.T) {
	lost, bus := natstest.Start(t), natstest.Start(t)
	file := filepath.Join(t.TempDir(), storeFile)
	server := serve(t, file, lost, ownsAll)
	log := history(t, server.client, "s")
	server.close()
	restore(t, serve(t, file, bus, ownsAll).client, "s", log)
	snapshots, err := bus.ReadSnapshots(t.Context(), "s")
	if err != nil || len(snapshots) != 1 || len(snapshots[0].GetTables()) != 3 {
		t.Errorf("snapshots: got %v and %v, want one of three versions", snapshots, err)
	}
}

// TestRestoreErrors checks impossible restorations, and executions in a session with another state.
func TestRestoreErrors(t *testing.T) {
	bus := natstest.Start(t)
	client := serve(t, filepath.Join(t.TempDir(), storeFile), bus, ownsAll).client
	log := history(t, client, "calm")
	other := proto.CloneOf(log[3])
	other.Outcome.Answers[0].GetResult().Text = proto.String("other")
	other.Outcome.SessionDigest = []byte(strings.Repeat("x", 32))
	_, err := client.RestoreSession(t.Context(), restoreRequest("calm", append(log[:3:3], other)))
	wantCode(t, "another outcome in the log", err, codes.DataLoss)
	if text := err.Error(); !strings.Contains(text, `"other"`) || !strings.Contains(text, "execution 9") {
		t.Errorf("another outcome in the log: got %q, want one that shows both", text)
	}

	history(t, client, "forked")
	if _, err := client.ForkSession(t.Context(), &toolhostv1.ForkSessionRequest{SessionId: "forked", Index: 5, NewSessionId: "fork"}); err != nil {
		t.Fatal(err)
	}
	_, err = client.RestoreSession(t.Context(), restoreRequest("forked", log[:1]))
	wantCode(t, "behind a fork", err, codes.FailedPrecondition)

	history(t, client, "elsewhere")
	for what, request := range map[string]*toolhostv1.ExecuteRequest{
		"the next index": {Index: 11, SessionDigest: log[2].GetOutcome().GetSessionDigest()},
		"a known index":  {Index: 9, SessionDigest: log[1].GetOutcome().GetSessionDigest()},
	} {
		request.SessionId, request.Calls = "elsewhere", log[3].GetCalls()
		_, err := client.Execute(t.Context(), request)
		wantCode(t, what, err, codes.FailedPrecondition)
	}
}
