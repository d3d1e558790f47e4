package evaluator

import (
	"strings"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/internal/euroeval"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// grade judges the agent's one turn in a function-calling task.
func grade(task *euroeval.Task, messages []*worldv1.Message, textIsNoCall bool) *busv1.Result {
	prediction := euroeval.Prediction(euroeval.LastTurn(messages), textIsNoCall)
	verdicts := task.Grade(prediction)
	graded := &busv1.CallGrade{
		Prediction: plain(prediction), Euroeval: verdict(verdicts.EuroEval), BfclStrict: verdict(verdicts.Strict), Quirk: string(verdicts.Quirk),
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

// longestDetail bounds what a verdict says, in bytes. Details quote what the agent said.
const longestDetail = 1000

func excerpt(text string) string {
	if len(text) > longestDetail {
		text = text[:longestDetail] + "…"
	}
	return plain(text)
}

// plain replaces what is no UTF-8, such as lone surrogates of JSON.
func plain(text string) string { return strings.ToValidUTF8(text, string(utf8.RuneError)) }
