package play

import (
	"fmt"
	"io"
	"slices"

	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/storage"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

// checkResults reports the scored rollouts of a run whose stored result is lost, before anything is
// played again and paid again. The record then lists them as damaged. A run that was killed before
// its first end has no list of rollouts, but the files or tables of those with a result.
func (o *Options) checkResults(c *collector, stored map[string]bool, stderr io.Writer) error {
	lostIn := "stream RESULT holds no readable result"
	if stored == nil {
		lostIn = "stream SWEEP holds no readable plan of its sweep"
	}
	d, run, rollouts := c.directory, c.record, c.outcomes()
	if killed := run.Totals == nil && len(run.Resumptions) == 1 && !run.HasOnlyTables(); killed {
		written, err := d.written(c.spec, run.SweepID)
		if err != nil {
			return err
		}
		rollouts = slices.Values(written)
	}
	damaged := make(map[string]bool)
	for _, rollout := range run.Damaged() {
		damaged[rollout.ID] = true
	}
	var lost []results.Outcome
	for rollout := range rollouts {
		if _, ok := stored[rollout.ID]; !ok && rollout.Scored && !damaged[rollout.ID] {
			rollout.Damage = fmt.Sprintf("rollout %s: %s", rollout.ID, lostIn)
			lost = append(lost, rollout)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	run.AddDamaged(lost)
	if err := results.WriteRun(d.path, run); err != nil {
		return err
	}
	return o.damage(stderr, lost)
}

// written returns the rollouts with a directory: they had a result.
func (d *directory) written(spec sweep.Spec, sweepID string) (written []results.Outcome, err error) {
	for n := range spec.Rollouts() {
		id := fmt.Sprintf("%s.%d", sweepID, n)
		rollout, _ := planned(spec, id)
		name := results.RolloutName(rollout.GetScenario(), int(rollout.GetTrial()), spec.Trials)
		found, err := storage.Exists(d.trajectory(name))
		if err != nil {
			return nil, err
		}
		if found {
			written = append(written, results.Outcome{Name: name, ID: id, Scored: true})
		}
	}
	return written, nil
}

// damage prints rollouts with damaged stored data, and returns the error; nil if there are none.
func (o *Options) damage(stderr io.Writer, damaged []results.Outcome) error {
	for _, rollout := range damaged {
		if _, err := fmt.Fprintf(stderr, "damaged: %s: %s\n", rollout.Name, rollout.Damage); err != nil {
			return err
		}
	}
	if len(damaged) == 0 {
		return nil
	}
	return fmt.Errorf("the stored data of %d rollouts is damaged; their earlier files stay: %s plays these rollouts again", len(damaged), o.again())
}
