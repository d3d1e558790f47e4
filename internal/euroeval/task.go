package euroeval

import (
	"errors"
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// noCalls is the answer that calls nothing.
const noCalls = `{"tool_calls": []}`

// Task is what the graders need of a record. Both fields are as their JSON text reads.
type Task struct {
	// Functions is the list of function descriptions.
	Functions python.Value
	// Answers is the list of expected calls.
	Answers python.Value
}

// NewTask reads the columns function and target_text of a record. The error is a *FieldError that
// names the column.
func NewTask(function, targetText string) (*Task, error) {
	var task Task
	for _, column := range []struct {
		name, text string
		check      func(*python.Dict, string) error
		to         *python.Value
	}{
		{"function", function, checkFunctions, &task.Functions},
		{"target_text", targetText, checkAnswer, &task.Answers},
	} {
		value, err := python.ParseJSON(column.text)
		if err != nil {
			return nil, &FieldError{Field: column.name, Want: "JSON", Got: err.Error(), Suggestion: "write it as json.dumps does"}
		}
		holder, _ := python.DictOf(python.Item{Key: column.name, Value: value}).AsDict()
		if err := column.check(holder, column.name); err != nil {
			return nil, err
		}
		*column.to = value
	}
	return &task, nil
}

// Verdicts is what both graders say of one prediction.
type Verdicts struct {
	EuroEval, Strict Verdict
	// Exception is what EuroEval's metric raises; it voids a whole iteration there. Nil if it gives
	// a verdict.
	Exception *python.Exception
	// Quirk names the rule in which the graders differ and that decides; empty if they agree.
	Quirk Quirk
}

// Judge judges a prediction by both graders.
func (t *Task) Judge(prediction string) Verdicts {
	verdicts := Verdicts{Strict: GradeStrict(t.Functions, t.Answers, prediction)}
	var err error
	verdicts.EuroEval, err = Grade(t.Functions, t.Answers, prediction)
	errors.As(err, &verdicts.Exception)
	verdicts.Quirk = t.quirk(&verdicts, prediction)
	return verdicts
}

// Prediction returns what the graders judge of an agent's one turn: the calls that it made, written
// as the answer of a model, or its text as EuroEval extracts it. If textIsNoCall, a text that is no
// such answer stands for an answer without calls. An agent that said nothing has an empty
// prediction.
func Prediction(turn []*worldv1.Message, textIsNoCall bool) string {
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
	if err != nil { // EuroEval raises; the text is no answer in any case
		prediction = text
	}
	if textIsNoCall && !answersWithCalls(prediction) {
		return noCalls
	}
	return prediction
}

// callText writes a call as a model does. Arguments that are no JSON become a text, which no grader
// takes for arguments.
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

// answersWithCalls reports whether a text is JSON with tool_calls.
func answersWithCalls(text string) bool {
	value, err := python.ParseJSON(text)
	if err != nil {
		return false
	}
	object, _ := value.AsDict()
	_, listed := object.Get("tool_calls")
	return listed
}
