package runner

import (
	"fmt"
	"io"
)

// damage prints the rollouts with damaged stored trajectories, and returns the error; nil if there
// are none.
func (o *Options) damage(stderr io.Writer, collector *collector) error {
	n := 0
	for _, rollout := range collector.finished {
		if rollout.rollout.Damage == "" {
			continue
		}
		n++
		if _, err := fmt.Fprintf(stderr, "damaged: %s: %s\n", rollout.rollout.Directory, rollout.rollout.Damage); err != nil {
			return err
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("the stored trajectories of %d rollouts are damaged; their earlier files stay: --out %s --resume plays these rollouts again", n, o.out)
}
