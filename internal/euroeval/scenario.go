package euroeval

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// scenarioName matches valid scenario names.
var scenarioName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,199}$`)

// languageCategory is the prefix of a language's category.
const languageCategory = "LANGUAGE_"

// Scenario converts a record to a scenario of one agent turn: the user's question is a starting
// message, and the agent's turn ends the conversation. The oracle makes the expected calls with the
// first accepted values. The error is a *FieldError.
func (r *Record) Scenario(position *evaluationv1.RecordPosition) (*scenariov1.Scenario, error) {
	if !scenarioName.MatchString(r.ID) {
		return nil, mismatch("id", "up to 200 letters, digits, dots, dashes and underscores that start with a letter or digit", python.Str(r.ID),
			"it names the scenario and the folder of its result")
	}
	task, err := NewTask(r.Function, r.TargetText)
	if err != nil {
		return nil, err
	}
	question := cmp.Or(r.Question, r.Text) // prepared records may have no question
	roles := []worldv1.Role{worldv1.Role_ROLE_USER, worldv1.Role_ROLE_AGENT}
	return &scenariov1.Scenario{
		Setup: &setupv1.Setup{
			Name:        r.ID,
			Categories:  []string{strings.ToUpper(string(r.Category)), languageCategory + strings.ToUpper(r.Language)},
			MaxMessages: 1,
			Clock:       &setupv1.Clock{TimeZone: "UTC"},
			Messages: []*worldv1.Message{{
				Sender: worldv1.Role_ROLE_USER, Recipient: worldv1.Role_ROLE_AGENT, Body: &worldv1.Message_Text{Text: question}, VisibleTo: roles,
			}},
			OracleScript:    []*worldv1.ScriptTurn{task.solution()},
			FunctionCalling: &setupv1.FunctionCalling{Prompt: Prompt(r.Text), Functions: tools(task.Functions)},
		},
		Evaluation: &evaluationv1.Evaluation{FunctionCalling: &evaluationv1.FunctionCalling{
			FunctionsJson: r.Function, AnswersJson: r.TargetText, Position: position,
		}},
	}, nil
}

// solution returns a turn that both graders accept, unless their rules exclude each other.
func (t *Task) solution() *worldv1.ScriptTurn {
	answers, _ := t.Answers.AsList()
	turn := &worldv1.ScriptTurn{}
	for i, answer := range answers {
		call, _ := answer.AsDict()
		expected := call.Items()[0]
		options, _ := expected.Value.AsDict()
		arguments := &python.Dict{}
		for _, option := range options.Items() {
			accepted, _ := option.Value.AsList()
			if first := usualIndex(accepted); first >= 0 {
				arguments.Set(option.Key, accepted[first])
			}
		}
		turn.Calls = append(turn.Calls, &worldv1.ToolCall{
			Id: proto.String(fmt.Sprintf("call_%d", i+1)), Tool: expected.Key, ArgumentsJson: python.JSON(arguments.Value()),
		})
	}
	if len(answers) == 0 {
		turn.Say = noCalls
	}
	return turn
}

// LastTurn returns the agent's last turn: the messages after the last message of another role.
func LastTurn(messages []*worldv1.Message) []*worldv1.Message {
	first := len(messages)
	for first > 0 && messages[first-1].GetSender() == worldv1.Role_ROLE_AGENT {
		first--
	}
	return slices.Clip(messages[first:])
}
