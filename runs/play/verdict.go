package play

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/toolsandbox/toolsandbox/runs/report"
)

// ownError is an error of one run that another run on the same services need not have: its
// rollouts have no score, or its players cannot play.
type ownError struct{ err error }

func (e *ownError) Error() string { return e.err.Error() }
func (e *ownError) Unwrap() error { return e.err }

// again returns the flags that continue the run, or the experiment that it belongs to.
func (o *Options) again() string {
	return "--out " + report.ShellWord(cmp.Or(o.experimentDir, o.out)) + " --resume"
}

// verdict is the error of a run with unscored rollouts, nil if all have a score.
func (o *Options) verdict(collector *collector) error {
	remaining, unmeasured := collector.remaining(), collector.unmeasured()
	all := collector.unscored()
	play, score := o.again()+" ", "toolsandbox score "+report.ShellWord(o.out)+" --write "
	var errs []error
	for _, group := range []struct {
		rollouts    int
		why, advice string
		plays       bool
	}{
		{all - remaining - unmeasured, "a service, a provider or a player failed: see the table", ", fix the cause, and " + play + "plays them again", true},
		{remaining, "the person at the terminal ended them", ": " + play + "asks for them again", true},
		{unmeasured, "a measure failed: see the table", ", fix the measure in the pack, and " + score + "with its --pack scores the messages", false},
	} {
		if group.rollouts == 0 {
			continue
		}
		if group.plays && o.replay != "" { // a recorded end repeats
			group.advice = ""
		}
		errs = append(errs, fmt.Errorf("%d of %d rollouts have no score because %s%s", group.rollouts, collector.spec.Rollouts(), group.why, group.advice))
	}
	if len(errs) == 0 {
		return nil
	}
	return &ownError{errors.Join(errs...)}
}
