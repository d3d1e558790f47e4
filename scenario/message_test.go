package scenario

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// TestUserFromMessages checks that a user's knowledge contains all instructions of explicit
// starting messages.
func TestUserFromMessages(t *testing.T) {
	const system, user, agent = worldv1.Role_ROLE_SYSTEM, worldv1.Role_ROLE_USER, worldv1.Role_ROLE_AGENT
	say := func(from, to worldv1.Role, text string) *worldv1.Message {
		return &worldv1.Message{Sender: from, Recipient: to, Body: &worldv1.Message_Text{Text: text}}
	}
	got := UserFromMessages([]*worldv1.Message{say(system, agent, "Help."), say(system, user, "You want wifi off. "), say(user, agent, "Wifi off!")})
	if diff := cmp.Diff(&evaluationv1.User{Knowledge: []string{"You want wifi off."}}, got, protocmp.Transform()); diff != "" {
		t.Errorf("Told (-want +got):\n%s", diff)
	}
}
