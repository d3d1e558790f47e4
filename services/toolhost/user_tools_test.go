package toolhost

import (
	"path/filepath"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/world"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// TestUserTools checks that calls of the user change the agent's world, that only the user and the
// environment see their results and traces, and that the user has no other tools.
func TestUserTools(t *testing.T) {
	user, environment := worldv1.Role_ROLE_USER, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	client := serve(t, filepath.Join(t.TempDir(), storeFile), natstest.Start(t), ownsAll).client
	setup := smallSetup("hands")
	setup.Tools = &setupv1.ToolSelection{Deny: []string{"add_contact"}, User: []string{"add_contact"}}
	created := create(t, client, "s.1", setup)
	if tools := created.GetUserTools(); len(tools) != 2 || tools[0].GetName() != "add_contact" || tools[1].GetName() != "end_conversation" {
		t.Errorf("the user's tools: got %v, want add_contact and end_conversation", tools)
	}
	added := addContact(2, "Bob")
	added.Sender = user
	answered := run(t, client, "s.1", 3, added)
	answer := answered.GetAnswers()[0]
	want := &worldv1.Message{
		Index: 3, Sender: environment, Recipient: user, ConversationActive: proto.Bool(true),
		VisibleTo: []worldv1.Role{environment, user}, Body: &worldv1.Message_Result{Result: &worldv1.ToolResult{
			Id: proto.String("call_1"), Text: answer.GetResult().Text, Traces: answer.GetResult().GetTraces(),
		}},
	}
	if diff := cmp.Diff(want, answer, protocmp.Transform()); diff != "" || len(answer.GetResult().GetTraces()) != 1 {
		t.Errorf("answer: got %d traces, want 1 (-want +got):\n%s", len(answer.GetResult().GetTraces()), diff)
	}
	versions := []*worldv1.TableVersion{{Name: world.Setting}, {Name: world.Contact, Index: 3}}
	if diff := cmp.Diff(versions, answered.GetVersions(), protocmp.Transform(), protocmp.IgnoreFields(&worldv1.TableVersion{}, "digest")); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Ann", "Bob"}, names(t, client, "s.1", 3)); diff != "" {
		t.Errorf("contacts (-want +got):\n%s", diff)
	}
	for index, refused := range []*worldv1.Message{addContact(4, "Cid"), call(6, user, "get_wifi_status()")} {
		at := int32(5 + 2*index)
		if got := run(t, client, "s.1", at, refused).GetAnswers()[0]; got.GetResult().Exception == nil {
			t.Errorf("%s by %s: got %q, want a NameError", messagetext.Content(refused), refused.GetSender(), messagetext.Content(got))
		}
	}
}
