package toolhost

import (
	"path/filepath"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/host"
)

// TestDeleteSessions deletes the sessions of a sweep, twice. Those of a sweep whose name begins
// alike stay, and a fork under another name keeps its history.
func TestDeleteSessions(t *testing.T) {
	client := serve(t, filepath.Join(t.TempDir(), storeFile), natstest.Start(t), ownsAll, func(*host.Config) {}).client
	for _, id := range []string{"s.0", "s.1", "s2.0"} {
		create(t, client, id, smallSetup("small"))
		run(t, client, id, 3, addContact(2, "Bob"))
	}
	fork := &toolhostv1.ForkSessionRequest{SessionId: "s.1", Index: 3, NewSessionId: "mine"}
	if _, err := client.ForkSession(t.Context(), fork); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int64{2, 0} {
		response, err := client.DeleteSessions(t.Context(), &toolhostv1.DeleteSessionsRequest{SweepId: "s"})
		if err != nil || response.GetSessions() != want {
			t.Errorf("DeleteSessions: got %v and %v, want %d and nil", response, err, want)
		}
	}
	for _, id := range []string{"s.0", "s.1"} {
		_, err := client.GetSession(t.Context(), &toolhostv1.GetSessionRequest{SessionId: id})
		wantCode(t, "a deleted session", err, codes.NotFound)
	}
	for _, id := range []string{"s2.0", "mine"} {
		if _, err := client.ReadTables(t.Context(), &toolhostv1.ReadTablesRequest{SessionId: id, Index: 3}); err != nil {
			t.Errorf("%s: got %v, want its tables", id, err)
		}
	}
}
