package runner

import (
	"fmt"
	"io"

	"github.com/toolsandbox/toolsandbox/internal/runfiles"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// checkResults reports the scored rollouts of a run whose stored result is lost, before anything is
// played again and paid again. The record then lists them as damaged.
func (o *Options) checkResults(d *directory, run *runfiles.Run, stored map[string]*busv1.Result, stderr io.Writer) error {
	lostIn := "stream RESULT holds no readable result"
	if stored == nil {
		lostIn = "stream SWEEP holds no readable plan of its sweep"
	}
	var lost []runfiles.Outcome
	for i := range run.Rollouts {
		rollout := &run.Rollouts[i]
		if rollout.Scored && rollout.Damage == "" && stored[rollout.ID] == nil {
			rollout.Damage = fmt.Sprintf("rollout %s: %s", rollout.ID, lostIn)
			lost = append(lost, *rollout)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	if err := runfiles.WriteRun(d.path, run); err != nil {
		return err
	}
	return o.damage(stderr, lost)
}

// damage prints rollouts with damaged stored data, and returns the error; nil if there are none.
func (o *Options) damage(stderr io.Writer, damaged []runfiles.Outcome) error {
	for _, rollout := range damaged {
		if _, err := fmt.Fprintf(stderr, "damaged: %s: %s\n", rollout.Name, rollout.Damage); err != nil {
			return err
		}
	}
	if len(damaged) == 0 {
		return nil
	}
	return fmt.Errorf("the stored data of %d rollouts is damaged; their earlier files stay: --out %s --resume plays these rollouts again", len(damaged), o.out)
}
