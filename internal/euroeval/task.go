package euroeval

import (
	"errors"
	"fmt"
	"strings"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// noCalls is the answer without calls.
const noCalls = `{"tool_calls": []}`

// Task holds the decoded columns of a record that the graders need.
type Task struct {
	// Functions is the list of function descriptions.
	Functions python.Value
	// Answers is the list of expected calls.
	Answers python.Value
}

// NewTask decodes the columns function and target_text of a record. The error is a *FieldError that
// names the column.
func NewTask(function, targetText string) (*Task, error) {
	functions, err := decodeColumn("function", function, checkFunctions)
	if err != nil {
		return nil, err
	}
	answers, err := decodeColumn("target_text", targetText, checkAnswer)
	if err != nil {
		return nil, err
	}
	return &Task{Functions: functions, Answers: answers}, nil
}

func decodeColumn(name, text string, check func(string, python.Value) error) (python.Value, error) {
	value, err := python.ParseJSON(text)
	if err != nil {
		return python.None(), &FieldError{Field: name, Want: "JSON", Got: err.Error(), Suggestion: "write it as json.dumps does"}
	}
	return value, check(name, value)
}

// Verdicts holds both graders' verdicts on one prediction.
type Verdicts struct {
	EuroEval, Strict Verdict
	// Exception is the exception that EuroEval's metric raises, nil without one. EuroEval fails the
	// whole iteration then.
	Exception *python.Exception
	// Quirk is the rule that explains differing verdicts, empty if they agree.
	Quirk Quirk
}

// Grade grades a prediction with both graders.
func (t *Task) Grade(prediction string) Verdicts {
	verdicts := Verdicts{Strict: GradeStrict(t.Functions, t.Answers, prediction)}
	var err error
	verdicts.EuroEval, err = Grade(t.Functions, t.Answers, prediction)
	errors.As(err, &verdicts.Exception)
	verdicts.Quirk = t.quirk(&verdicts, prediction)
	return verdicts
}

// PredictionText returns the text that the graders grade for an agent's turn: its calls in the
// format of a model's answer, or its text as EuroEval extracts it. If textIsNoCall is set, a text
// without tool_calls counts as an answer without calls. The prediction of an empty turn is empty.
func PredictionText(turn []*worldv1.Message, textIsNoCall bool) string {
	var calls []string
	text := ""
	for _, message := range turn {
		switch body := message.GetBody().(type) {
		case *worldv1.Message_Call:
			calls = append(calls, callText(body.Call))
		case *worldv1.Message_Text:
			text = body.Text
		case *worldv1.Message_Code:
			text = body.Code.GetSource()
		}
	}
	if len(calls) > 0 {
		return `{"tool_calls": [` + strings.Join(calls, ", ") + "]}"
	}
	prediction, err := Extract(Reply{Choices: true, Content: text})
	if err != nil { // EuroEval raises; the graders reject the text too
		prediction = text
	}
	if textIsNoCall && !answersWithCalls(prediction) {
		return noCalls
	}
	return prediction
}

// callText formats a call as a model does. Arguments that are not JSON become a text, which the
// graders reject.
func callText(call *worldv1.ToolCall) string {
	arguments := call.GetArgumentsJson()
	switch {
	case call.ArgumentsText != nil:
		arguments = python.JSON(python.Str(call.GetArgumentsText()))
	case arguments == "":
		arguments = "{}"
	}
	return fmt.Sprintf(`{"function": %s, "arguments": %s}`, python.JSON(python.Str(call.GetTool())), arguments)
}

// answersWithCalls reports whether a text is a JSON object with tool_calls.
func answersWithCalls(text string) bool {
	value, err := python.ParseJSON(text)
	if err != nil {
		return false
	}
	object, _ := value.AsDict()
	_, listed := object.Get("tool_calls")
	return listed
}
