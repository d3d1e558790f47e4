package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	"github.com/toolsandbox/toolsandbox/e2e/internal/compare"
)

// measured is what one run took.
type measured struct {
	wall      time.Duration
	processor time.Duration            // of all processes
	parts     map[string]cluster.Usage // of each process
}

// compare plays the run in turns, in one process and over the services.
func (o *options) compare(ctx context.Context, services *cluster.Cluster) error {
	for turn := range o.turns {
		apart, together := o.out("apart", turn), o.out("together", turn)
		one, err := o.play(ctx, nil, "--out", together)
		if err != nil {
			return err
		}
		four, err := o.play(ctx, services, append([]string{"--out", apart}, services.ClientArgs()...)...)
		if err != nil {
			return err
		}
		o.report.Printf("one process:   %6.2f s, %6.2f s of processor time\n", one.wall.Seconds(), one.processor.Seconds())
		o.report.Printf("four services: %6.2f s, %6.2f s of processor time\n", four.wall.Seconds(), four.processor.Seconds())
		o.report.Printf("throughput of four: %.2f times by time, %.2f times by processor time\n", one.wall.Seconds()/four.wall.Seconds(), one.processor.Seconds()/four.processor.Seconds())
		o.printParts(services, four)
		differences, err := compare.Runs(together, apart)
		if err != nil {
			return err
		}
		for _, difference := range differences {
			o.report.Println(difference)
		}
		if len(differences) > 0 {
			return fmt.Errorf("%d files differ between one process and four", len(differences))
		}
	}
	o.report.Println("one process and four services left byte-identical results in", o.dir)
	return nil
}

// out returns the directory of a run.
func (o *options) out(name string, turn int) string {
	return filepath.Join(o.dir, name+"-"+strconv.Itoa(turn))
}

// printParts prints what each process used.
func (o *options) printParts(services *cluster.Cluster, run measured) {
	for _, name := range append(services.Processes(), cluster.Client) {
		part := run.parts[name]
		o.report.Printf("  %-13s %6.2f s of processor time, %4d MB of memory at peak\n", name, part.Processor.Seconds(), part.PeakBytes/1e6)
	}
}

// play plays a run and measures it, with the services that it uses.
func (o *options) play(ctx context.Context, services *cluster.Cluster, flags ...string) (measured, error) {
	before, err := usages(services)
	if err != nil {
		return measured{}, err
	}
	start := time.Now()
	client, err := o.toolsandbox(ctx, nil, flags...)
	if err != nil {
		return measured{}, err
	}
	m := measured{wall: time.Since(start), processor: client.Processor}
	if m.parts, err = usages(services); err != nil {
		return measured{}, err
	}
	for name, part := range m.parts {
		part.Processor -= before[name].Processor
		m.parts[name] = part
		m.processor += part.Processor
	}
	m.parts[cluster.Client] = client
	return m, nil
}

// usages returns what each process has used; services may be nil.
func usages(services *cluster.Cluster) (map[string]cluster.Usage, error) {
	parts := make(map[string]cluster.Usage)
	if services == nil {
		return parts, nil
	}
	for _, name := range services.Processes() {
		usage, err := services.Usage(name)
		if err != nil {
			return nil, err
		}
		parts[name] = usage
	}
	return parts, nil
}

// toolsandbox plays the run with further flags and environment, and returns what it used.
func (o *options) toolsandbox(ctx context.Context, environment []string, flags ...string) (cluster.Usage, error) {
	args := append([]string{"run", "--agent", o.agent, "--trials", strconv.Itoa(o.trials), "--parallel", strconv.Itoa(o.parallel)}, flags...)
	cmd := exec.CommandContext(ctx, filepath.Join(o.dir, "bin", "toolsandbox"), args...)
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	cmd.Env = append(os.Environ(), environment...)
	if err := cmd.Run(); err != nil {
		return cluster.Usage{}, fmt.Errorf("toolsandbox %v: %w\n%s", args, err, printed.String())
	}
	usage := cluster.Usage{Processor: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if used, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		usage.PeakBytes = used.Maxrss << 10
	}
	return usage, nil
}
