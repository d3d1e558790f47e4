package prove

import (
	"errors"
	"fmt"
	"io"

	"github.com/toolsandbox/toolsandbox/runs/report"
)

// Summary is the result of all proofs of one command.
type Summary struct {
	Scenarios []*Report    `json:"scenarios"`
	Tools     []*ToolFault `json:"tools,omitempty"`
	Proven    int          `json:"proven"`
	Failed    int          `json:"failed"`
	Rollouts  int          `json:"rollouts"`
	Seconds   float64      `json:"seconds"`
}

// Count sets the numbers of scenarios and rollouts.
func (s *Summary) Count() {
	s.Proven, s.Failed, s.Rollouts = 0, 0, 0
	for _, r := range s.Scenarios {
		s.Rollouts += r.Rollouts
		if r.Proven() {
			s.Proven++
		} else {
			s.Failed++
		}
	}
}

// Err returns an error if a scenario is not proven or a tool has a defect.
func (s *Summary) Err() error {
	switch {
	case s.Failed > 0:
		return errors.New("not every scenario is proven: see the report")
	case len(s.Tools) > 0:
		return errors.New("not every tool works: see the report")
	}
	return nil
}

// WriteText prints the faults of tools, the report of each scenario and the counts. packs are the
// values of --pack in the commands that it prints.
func (s *Summary) WriteText(w io.Writer, verbose bool, packs []string) error {
	for _, fault := range s.Tools {
		if _, err := fmt.Fprintln(w, fault); err != nil {
			return err
		}
	}
	for _, r := range s.Scenarios {
		if err := r.WriteText(w, verbose); err != nil {
			return err
		}
		if err := r.writeNext(w, packs); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%d proven, %d failed (%d rollouts, %.1f s)\n", s.Proven, s.Failed, s.Rollouts, s.Seconds)
	return err
}

// writeNext writes the commands that show why the oracle does not solve the scenario, if it does
// not.
func (r *Report) writeNext(w io.Writer, packs []string) error {
	played := r.unsolvedName()
	if played == "" {
		return nil
	}
	flags := ""
	for _, pack := range packs {
		flags += " --pack " + report.ShellWord(pack)
	}
	_, err := fmt.Fprintf(w, "next  toolsandbox run %s --agent oracle%s --out DIR && toolsandbox explain DIR %s%s\n", played, flags, played, flags)
	return err
}
