package runner

import (
	"fmt"
	"io"
)

// damage says on stderr which rollouts' stored trajectories are damaged, and returns the error that
// this is; nil if none is.
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
