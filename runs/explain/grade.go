package explain

import (
	"cmp"
	"fmt"
	"strings"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

// quirkText describes the difference of EuroEval's rule from the strict one in a sentence.
var quirkText = map[string]string{
	"exception_voids_iteration":        "EuroEval's metric raises, which voids every iteration that draws the record",
	"call_order_counts":                "EuroEval compares call by call in order, the strict grader in any order",
	"calls_beyond_functions_unchecked": "EuroEval ignores calls beyond the last function description",
	"description_by_position":          "EuroEval compares a call by the description in its place, the strict grader by the one with its name",
	"extra_argument_passes":            "EuroEval ignores arguments that the expected call lacks",
	"optional_argument_not_compared":   "EuroEval ignores optional arguments",
	"nothing_required_compares_all":    "EuroEval compares all arguments if the description requires none",
	"equal_across_types":               "for EuroEval true equals 1, and 1.0 equals 1",
	"text_compared_exactly":            "EuroEval compares texts with their case, spaces and punctuation",
	"nested_options_literal":           "EuroEval takes options inside an accepted object literally",
}

// Verdict is what a grader says of the answer to a record of EuroEval's task.
type Verdict struct {
	Grader string
	// Text is correct, or what is wrong.
	Text    string
	Correct bool
}

// Verdicts returns the verdicts of both graders, and why they differ, empty if that is not known to
// be a difference between them.
func Verdicts(grade *busv1.CallGrade) (verdicts []Verdict, quirk string) {
	for _, by := range []struct {
		grader string
		v      *busv1.CallVerdict
	}{{"euroeval", grade.GetEuroeval()}, {"bfcl-strict", grade.GetBfclStrict()}} {
		text := "correct"
		switch {
		case by.v.GetExceptionType() != "":
			text = fmt.Sprintf("raises %s: %s", by.v.GetExceptionType(), by.v.GetDetail())
		case !by.v.GetCorrect():
			text = fmt.Sprintf("wrong by %s: %s", by.v.GetCheck(), by.v.GetDetail())
		}
		verdicts = append(verdicts, Verdict{by.grader, text, by.v.GetCorrect() && by.v.GetExceptionType() == ""})
	}
	if name := grade.GetQuirk(); name != "" {
		quirk = fmt.Sprintf("%s: %s.", name, quirkText[name])
	}
	return verdicts, quirk
}

// grade prints both graders' verdicts on an answer, with the question and the expected calls.
func (p *printer) grade(grade *busv1.CallGrade, record *evaluationv1.FunctionCalling) {
	p.line("")
	p.line("answer:   %s", cmp.Or(grade.GetPrediction(), "(nothing)"))
	p.line("expected: %s", record.GetAnswersJson())
	p.line("functions: %s", record.GetFunctionsJson())
	p.line("")
	verdicts, quirk := Verdicts(grade)
	for _, v := range verdicts {
		p.line("%s: %s", p.bold(v.Grader), v.Text)
	}
	if name, rest, found := strings.Cut(quirk, ":"); found {
		p.line("They differ by %s:%s", p.bold(name), rest)
	}
}
