package scenario

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// UserPrompt is how much a simulated user is told.
type UserPrompt string

// Each includes the ones before it.
const (
	// UserPromptGoal is the goal alone.
	UserPromptGoal UserPrompt = "goal"
	// UserPromptKnowledge is the goal, and what the user knows and does not know.
	UserPromptKnowledge UserPrompt = "knowledge"
	// UserPromptAll is also the demonstrations: all that the scenario says.
	UserPromptAll UserPrompt = "all"
)

// UserPrompts returns all of them.
func UserPrompts() []UserPrompt {
	return []UserPrompt{UserPromptGoal, UserPromptKnowledge, UserPromptAll}
}

// UserSees is what a simulated user sees of the agent's use of tools.
type UserSees string

// Each includes the ones before it.
const (
	// UserSeesTexts is the agent's texts alone, as in the original.
	UserSeesTexts UserSees = "texts"
	// UserSeesCalls is also the agent's calls.
	UserSeesCalls UserSees = "calls"
	// UserSeesResults is also their results.
	UserSeesResults UserSees = "results"
)

// AllUserSees returns all of them.
func AllUserSees() []UserSees { return []UserSees{UserSeesTexts, UserSeesCalls, UserSeesResults} }

// shown returns the value of setups.
func (u UserSees) shown() worldv1.ShownToolUse {
	return worldv1.ShownToolUse(max(0, slices.Index(AllUserSees(), u)))
}

// Ablation changes what players are told and see. Milestones, minefields and checks stay those of
// the scenario.
type Ablation struct {
	// AgentBefore and AgentAfter are texts around the agent's system prompt.
	AgentBefore, AgentAfter string
	// User is what the simulated user is told, empty for UserPromptAll.
	User UserPrompt
	// Sees is what the simulated user sees of the agent's use of tools, empty for UserSeesTexts.
	Sees UserSees
}

// Apply returns a scenario as the ablation changes it. It shares with s what it does not change. ok
// is false if the scenario has explicit messages of which the user's goal cannot be told apart.
func (a Ablation) Apply(s *scenariov1.Scenario) (changed *scenariov1.Scenario, ok bool) {
	messages := s.GetSetup().GetMessages()
	if a.AgentBefore+a.AgentAfter != "" {
		messages = a.tellAgent(messages)
	}
	if a.User != "" && a.User != UserPromptAll {
		if messages, ok = a.tellUser(messages, s.GetEvaluation().GetUser()); !ok {
			return nil, false
		}
	}
	setup := &setupv1.Setup{}
	shareFields(s.GetSetup(), setup)
	changed = &scenariov1.Scenario{}
	shareFields(s, changed)
	setup.Messages, changed.Setup = messages, setup
	if shown := a.Sees.shown(); shown != 0 {
		evaluation, user := &evaluationv1.Evaluation{}, &evaluationv1.User{}
		shareFields(s.GetEvaluation(), evaluation)
		shareFields(s.GetEvaluation().GetUser(), user)
		setup.ShownToUser, user.Shown, evaluation.User, changed.Evaluation = shown, shown, user, evaluation
	}
	return changed, true
}

// tellAgent returns messages with the texts around the first one that configures the agent. Without
// such a message they become it.
func (a Ablation) tellAgent(messages []*worldv1.Message) []*worldv1.Message {
	at := slices.IndexFunc(messages, func(m *worldv1.Message) bool { return between(m, worldv1.Role_ROLE_SYSTEM, worldv1.Role_ROLE_AGENT) })
	if at < 0 {
		var c conversation
		c.addText(worldv1.Role_ROLE_SYSTEM, worldv1.Role_ROLE_AGENT, joined(a.AgentBefore, a.AgentAfter))
		return renumbered(append(c.messages, messages...))
	}
	messages = slices.Clone(messages)
	messages[at] = withText(messages[at], joined(a.AgentBefore, messages[at].GetText(), a.AgentAfter))
	return messages
}

// tellUser returns messages with less for the user. ok is false if its instructions are not those
// of the fields of user.
func (a Ablation) tellUser(messages []*worldv1.Message, user *evaluationv1.User) (left []*worldv1.Message, ok bool) {
	at := slices.IndexFunc(messages, func(m *worldv1.Message) bool { return between(m, worldv1.Role_ROLE_SYSTEM, worldv1.Role_ROLE_USER) })
	if at < 0 || messages[at].GetText() != instruction(user) {
		return nil, false
	}
	for i, m := range messages {
		isDemonstration := i < at && len(m.GetVisibleTo()) == 1 && m.GetVisibleTo()[0] == worldv1.Role_ROLE_USER
		if isDemonstration {
			continue
		}
		if i == at && a.User == UserPromptGoal {
			goal := &evaluationv1.User{}
			shareFields(user, goal)
			goal.Knowledge, goal.Unknown = nil, nil
			m = withText(m, instruction(goal))
		}
		left = append(left, m)
	}
	return renumbered(left), true
}

func between(m *worldv1.Message, sender, recipient worldv1.Role) bool {
	return m.GetSender() == sender && m.GetRecipient() == recipient
}

// withText returns a copy of a message with another text.
func withText(m *worldv1.Message, text string) *worldv1.Message {
	m = proto.CloneOf(m)
	m.Body = &worldv1.Message_Text{Text: text}
	return m
}

// renumbered returns messages with indices from 0, as copies where they change.
func renumbered(messages []*worldv1.Message) []*worldv1.Message {
	for i, m := range messages {
		if m.GetIndex() != int32(i) {
			m = proto.CloneOf(m)
			m.Index = int32(i)
			messages[i] = m
		}
	}
	return messages
}

// joined joins the texts that are not empty by blank lines.
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "\n\n")
}
