package bench

import (
	"fmt"
	"io"
)

// WriteText prints the report for people.
func (r *ModelReport) WriteText(w io.Writer) error {
	compared := ""
	if r.Ratio > 0 {
		compared = fmt.Sprintf(", %.2f times the %.1f s of the model alone at %.1f s per turn", r.Ratio, r.Delay*float64(r.Chain), r.Delay)
	}
	_, err := fmt.Fprintf(w, `%d rollouts, %d concurrent, of up to %d turns of a model
%8.2f s%s
%8.2f s of processor time, and %.2f s stolen by the host
%8.0f MB of memory at peak
`, r.Rollouts, r.Parallel, r.Chain, r.Wall, compared, r.CPU, r.StealTime, float64(r.PeakBytes)/1e6)
	return err
}

// WriteText prints the report for people.
func (r *Report) WriteText(w io.Writer) error {
	lines := []string{
		fmt.Sprintf("%d rollouts of %.1f messages, %d concurrent, in %.2f s (%.2f s of processor time)", r.Rollouts, r.Messages, r.Parallel, r.Wall, r.CPU),
		fmt.Sprintf("%8.0f rollouts per second", r.PerSecond),
		fmt.Sprintf("%8.0f rollouts per second and core, %.2f ms of processor time each", r.PerCoreSecond, r.CPUMillis),
		fmt.Sprintf("%8.0f allocations of %.0f kB for each rollout", r.Allocations, r.AllocatedBytes/1e3),
		fmt.Sprintf("%8.2f ms p50, %.2f ms p99 from first to last message under load", r.BusyP50Millis, r.BusyP99Millis),
		fmt.Sprintf("%8.2f ms p50, %.2f ms p99 alone", r.AloneP50Millis, r.AloneP99Millis),
		fmt.Sprintf("%8.0f bytes of heap per idle session", r.IdleSessionBytes),
		"processor time by layer:",
	}
	for _, share := range r.Shares {
		lines = append(lines, fmt.Sprintf("%7.1f%% %s", 100*share.Share, share.Layer))
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}
