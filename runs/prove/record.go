package prove

import busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"

// checkRecord judges the rollouts of a record of EuroEval's task: both graders accept its answer,
// and neither accepts that of an idle agent.
func (s *candidate) checkRecord() {
	for _, e := range s.experiments {
		for _, by := range []struct {
			grader  string
			verdict *busv1.CallVerdict
		}{{"euroeval", e.result.GetCallGrade().GetEuroeval()}, {"bfcl-strict", e.result.GetCallGrade().GetBfclStrict()}} {
			switch {
			case e.kind == solves && !by.verdict.GetCorrect():
				s.failBy(e, "%s does not accept the expected calls with their first values: %s", by.grader, by.verdict.GetDetail())
			case e.kind == idle && by.verdict.GetCorrect():
				s.failBy(e, "%s accepts an agent that does not help", by.grader)
			}
		}
	}
}
