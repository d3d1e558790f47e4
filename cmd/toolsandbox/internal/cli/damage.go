package cli

import (
	"errors"
	"fmt"
	"io"
)

// damageOf says on stderr which rollouts' stored trajectories are damaged, notes them for --resume, and returns the error that this is; nil if
// none is.
func (o *runOptions) damageOf(stderr io.Writer, directory *directory, collector *collector) error {
	run, err := directory.run()
	if err != nil {
		return err
	}
	known := len(run.Damaged)
	run.Damaged = nil
	for _, damaged := range collector.damaged {
		run.Damaged = append(run.Damaged, damaged.id)
		if _, err := fmt.Fprintf(stderr, "damaged: %s: %s\n", damaged.name, damaged.reason); err != nil {
			return err
		}
	}
	if known > 0 || len(run.Damaged) > 0 {
		if err := directory.claim(run); err != nil {
			return err
		}
	}
	if len(run.Damaged) == 0 {
		return nil
	}
	return errors.New(damageAdvice(len(run.Damaged), o.out))
}

func damageAdvice(n int, out string) string {
	return fmt.Sprintf("the stored trajectories of %d rollouts are damaged; files that were written before are kept: --out %s --resume plays these rollouts again", n, out)
}
