package evaluator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/assemble"
)

// badUserMessages returns a conversation whose user knows Ann, names others and ends as an
// assistant does.
func badUserMessages() []*worldv1.Message {
	return []*worldv1.Message{
		textMessage(0, user, agent, "please add Ann, not Gisela"), textMessage(1, agent, user, "Who is she?"),
		textMessage(2, user, agent, "a friend of Rosalind"), textMessage(3, agent, user, "Done."), textMessage(4, user, agent, "How can I help you?"),
	}
}

// badUserFlags returns the flags of badUserMessages.
func badUserFlags() []*busv1.UserFlag {
	return []*busv1.UserFlag{{Rule: "invented", Index: 2, Evidence: "Rosalind"}, {Rule: "assistant", Index: 4, Evidence: "How can I help you"}}
}

// evaluationWithUser returns evaluation with the user's knowledge.
func evaluationWithUser() *evaluationv1.Evaluation {
	known := evaluation()
	known.User = &evaluationv1.User{Goal: "Have Ann added."}
	return known
}

// entriesOf returns the log of a conversation.
func entriesOf(rollout *busv1.Rollout, messages []*worldv1.Message, end *busv1.End) []*busv1.LogEntry {
	versions := []*worldv1.TableVersion{versionAt(0)}
	entries := []*busv1.LogEntry{{Start: &busv1.Start{Rollout: rollout, Messages: messages[:1], Versions: versions, MaxMessages: 30}, Claim: &busv1.Claim{}}}
	for _, m := range messages[1:] {
		entries = append(entries, &busv1.LogEntry{Turns: []*busv1.Turn{{Messages: []*worldv1.Message{m}, Versions: versions}}})
	}
	entries[len(entries)-1].End = end
	return entries
}

// TestUserFlags checks that users are checked for every end of a rollout, unless they are scripts.
func TestUserFlags(t *testing.T) {
	s := newTestBus(t)
	digest, err := s.PutEvaluation(t.Context(), evaluationWithUser())
	if err != nil {
		t.Fatal(err)
	}
	plugin := &agentgwv1.Player{Kind: &agentgwv1.Player_Plugin{Plugin: &agentgwv1.Plugin{}}}
	scripted := &agentgwv1.Player{Kind: &agentgwv1.Player_Scripted{Scripted: &agentgwv1.Scripted{}}}
	tests := map[string]struct {
		user *agentgwv1.Player
		end  busv1.EndReason
		want []*busv1.UserFlag
	}{
		"s.0": {plugin, busv1.EndReason_END_REASON_FINISHED, badUserFlags()},
		"s.1": {plugin, busv1.EndReason_END_REASON_MODEL_FAILURE, badUserFlags()},
		"s.2": {plugin, busv1.EndReason_END_REASON_CANCELLED, badUserFlags()},
		"s.3": {scripted, busv1.EndReason_END_REASON_FINISHED, nil},
		"s.4": {plugin, busv1.EndReason_END_REASON_INFRASTRUCTURE, badUserFlags()}, // long, without a score
	}
	for id, test := range tests {
		rollout := s.rollout(id)
		rollout.User, rollout.EvaluationDigest = test.user, digest
		messages := badUserMessages()
		for test.end == busv1.EndReason_END_REASON_INFRASTRUCTURE && len(messages) < 10 {
			messages = append(messages, textMessage(int32(len(messages)), agent, user, strings.Repeat("x", assemble.MaxBytes/4)))
		}
		s.entries(t, rollout, bus.Position{}, entriesOf(rollout, messages, ended(test.end))...)
	}
	s.run(t)
	for id, result := range s.results(t, len(tests)) {
		if diff := cmp.Diff(tests[id].want, result.GetUserFlags(), protocmp.Transform()); diff != "" {
			t.Errorf("%s: flags (-want +got):\n%s", id, diff)
		}
	}
}

// TestUserFlagsWhileItRuns checks that a watch gets a flag with its entry, and that scoring the
// complete trajectory gives the same flags.
func TestUserFlagsWhileItRuns(t *testing.T) {
	s, client := start(t)
	digest, err := s.PutEvaluation(t.Context(), evaluationWithUser())
	if err != nil {
		t.Fatal(err)
	}
	rollout := s.rollout("s.0")
	rollout.EvaluationDigest, rollout.User = digest, &agentgwv1.Player{Kind: &agentgwv1.Player_Plugin{Plugin: &agentgwv1.Plugin{}}}
	entries := entriesOf(rollout, badUserMessages(), ended(busv1.EndReason_END_REASON_FINISHED))
	last := s.entries(t, rollout, bus.Position{}, entries[:3]...)
	stream, err := client.WatchScore(within(t), &evaluatorv1.WatchScoreRequest{RolloutId: "s.0"})
	if err != nil {
		t.Fatal(err)
	}
	live, err := stream.Recv()
	for err == nil && live.GetResult().GetMessageCount() < 3 {
		live, err = stream.Recv()
	}
	if diff := cmp.Diff(badUserFlags()[:1], live.GetResult().GetUserFlags(), protocmp.Transform()); diff != "" || err != nil {
		t.Errorf("while it runs: %v (-want +got):\n%s", err, diff)
	}
	s.entries(t, rollout, last, entries[3:]...)
	whole := func(checked bool) []*busv1.UserFlag {
		t.Helper()
		scored, err := client.ScoreTrajectory(within(t), &evaluatorv1.ScoreTrajectoryRequest{
			Evaluation: evaluationWithUser(), Messages: badUserMessages(), Tables: []*worldv1.Table{contacts(0)}, Starting: 1, CheckUser: checked,
		})
		if err != nil {
			t.Fatal(err)
		}
		return scored.GetResult().GetUserFlags()
	}
	for name, got := range map[string][]*busv1.UserFlag{"final": final(t, stream).GetUserFlags(), "given whole": whole(true)} {
		if diff := cmp.Diff(badUserFlags(), got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := whole(false); got != nil {
		t.Errorf("given whole, user not to be checked: got %v, want no flag", got)
	}
}
