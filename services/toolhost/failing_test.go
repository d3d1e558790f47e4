package toolhost

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// TestFailingCalls makes calls of a batch fail: they change nothing and have no trace, the others
// take effect in their order, and calls that raise anyway keep their exceptions. The outcome is
// committed, and repeated from a log.
func TestFailingCalls(t *testing.T) {
	bus := natstest.Start(t)
	client := serve(t, filepath.Join(t.TempDir(), storeFile), bus, ownsAll).client
	create(t, client, "s", smallSetup("small"))
	request := &toolhostv1.ExecuteRequest{SessionId: "s", Index: 7, Failing: []int32{3, 0, 2, -1, 99, 1}, Calls: []*worldv1.Message{
		addContact(2, "Bo"), call(3, worldv1.Role_ROLE_AGENT, "add_contact('Cy', '+14085551112')\nprint('added')"),
		call(4, worldv1.Role_ROLE_AGENT, "unknown()"), callMessage(5, worldv1.Role_ROLE_AGENT, "unknown {}"),
		addContact(6, "Di"),
	}}
	first, err := client.Execute(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, m := range first.GetAnswers() {
		result := m.GetResult()
		texts = append(texts, result.GetText())
		if failed := strings.HasPrefix(result.GetText(), "ConnectionError: "); failed && (len(result.GetTraces()) > 0 || result.GetException() != result.GetText()) {
			t.Errorf("answer %d: got %v, want an exception without traces", m.GetIndex(), result)
		}
	}
	want := []string{"ConnectionError: 429 Too Many Requests", "ConnectionError: Connection refused", "ConnectionError: 503 Service Unavailable", "NameError: name 'unknown' is not defined"}
	if diff := cmp.Diff(want, texts[:4]); diff != "" || strings.Contains(texts[4], "Error") {
		t.Errorf("answers: got %q, (-want +got):\n%s", texts[4], diff)
	}
	if diff := cmp.Diff([]string{"Ann", "Di"}, names(t, client, "s", 11)); diff != "" {
		t.Errorf("contacts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int32{0, 1, 2}, first.GetFailing()); diff != "" {
		t.Errorf("failing (-want +got):\n%s", diff)
	}
	second, err := client.Execute(t.Context(), request)
	if diff := cmp.Diff(first, second, protocmp.Transform()); err != nil || diff != "" {
		t.Errorf("repeated request: got error %v (-want +got):\n%s", err, diff)
	}
	restore(t, client, "again", []*toolhostv1.Execution{{Index: request.GetIndex(), Calls: request.GetCalls(), Outcome: first}})
	if diff := cmp.Diff(versions(t, client, "s"), versions(t, client, "again")); diff != "" {
		t.Errorf("restored session (-want +got):\n%s", diff)
	}
}
