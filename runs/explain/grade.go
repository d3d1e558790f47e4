package explain

import (
	"cmp"

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

// grade prints both graders' verdicts on an answer, with the question and the expected calls.
func (p *printer) grade(grade *busv1.CallGrade, record *evaluationv1.FunctionCalling) {
	p.line("")
	p.line("answer:   %s", cmp.Or(grade.GetPrediction(), "(nothing)"))
	p.line("expected: %s", record.GetAnswersJson())
	p.line("functions: %s", record.GetFunctionsJson())
	p.line("")
	p.verdict("euroeval", grade.GetEuroeval())
	p.verdict("bfcl-strict", grade.GetBfclStrict())
	if quirk := grade.GetQuirk(); quirk != "" {
		p.line("They differ by %s: %s.", p.bold(quirk), quirkText[quirk])
	}
}

func (p *printer) verdict(grader string, v *busv1.CallVerdict) {
	switch {
	case v.GetExceptionType() != "":
		p.line("%s: raises %s: %s", p.bold(grader), v.GetExceptionType(), v.GetDetail())
	case v.GetCorrect():
		p.line("%s: correct", p.bold(grader))
	default:
		p.line("%s: wrong by %s: %s", p.bold(grader), v.GetCheck(), v.GetDetail())
	}
}
