package evaluator

import (
	"strings"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/internal/euroeval"
	"github.com/toolsandbox/toolsandbox/internal/spelling"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// grade grades the agent's only turn in a function-calling task.
func grade(task *euroeval.Task, messages []*worldv1.Message, textIsNoCall bool) *busv1.Result {
	prediction := euroeval.PredictionText(euroeval.LastTurn(messages), textIsNoCall)
	verdicts := task.Grade(prediction)
	graded := &busv1.CallGrade{
		Prediction: validUTF8(prediction), Euroeval: verdict(verdicts.EuroEval), BfclStrict: verdict(verdicts.Strict), Quirk: string(verdicts.Quirk),
	}
	if verdicts.Exception != nil {
		graded.Euroeval.ExceptionType, graded.Euroeval.Detail = verdicts.Exception.Type, excerpt(verdicts.Exception.Text)
	}
	result := &busv1.Result{CallGrade: graded, TurnCount: 1, MessageCount: int32(len(messages))}
	if graded.GetEuroeval().GetCorrect() {
		result.MilestoneSimilarity, result.Similarity = 1, 1
	}
	return result
}

func verdict(v euroeval.Verdict) *busv1.CallVerdict {
	return &busv1.CallVerdict{Correct: v.Correct, Check: string(v.Check), Detail: excerpt(v.Detail)}
}

// maxDetail is the maximum size of a verdict's detail in bytes. Details quote the agent.
const maxDetail = 1000

func excerpt(text string) string { return spelling.Shorten(validUTF8(text), maxDetail) }

// validUTF8 replaces invalid UTF-8, such as lone surrogates of JSON.
func validUTF8(text string) string { return strings.ToValidUTF8(text, string(utf8.RuneError)) }
