package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	"github.com/toolsandbox/toolsandbox/e2e/internal/compare"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// teams are those that play at once.
func teams() []string { return []string{"red", "blue"} }

// withTeams returns a configuration whose services serve the teams alone.
func withTeams(config cluster.Config) (cluster.Config, error) {
	text := "tokens:\n"
	for _, team := range teams() {
		text += fmt.Sprintf("  - {sha256: %x, name: %s, team: %s}\n", sha256.Sum256([]byte(tokenOf(team))), team, team)
	}
	text += "teams:\n"
	for _, team := range teams() {
		text += fmt.Sprintf("  %s: {}\n", team)
	}
	file := filepath.Join(config.Dir, "access.yaml")
	config.Args = append(config.Args, "--access-file", file)
	return config, os.WriteFile(file, []byte(text), 0o600)
}

func tokenOf(team string) string { return "token-of-team-" + team }

// environmentOf returns the environment of a team's command line.
func environmentOf(team string) []string { return []string{rpc.TokenVariable + "=" + tokenOf(team)} }

// playTeams lets the teams play at once, checks that each has its own rollouts, once each, and
// prints what the processes used.
func (o *options) playTeams(ctx context.Context, services *cluster.Cluster) error {
	start := time.Now()
	ends, clients := make([]time.Duration, len(teams())), make([]cluster.Usage, len(teams()))
	group, playing := errgroup.WithContext(ctx)
	for i, team := range teams() {
		group.Go(func() (err error) {
			// Tables, the default of as many rollouts, have the order in which these end.
			flags := append([]string{"--sweep-id", team, "--results", "files", "--out", filepath.Join(o.dir, team)}, services.ClientArgs()...)
			clients[i], err = o.toolsandbox(playing, environmentOf(team), flags...)
			ends[i] = time.Since(start)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	parts, err := usages(services)
	if err != nil {
		return err
	}
	for i, team := range teams() {
		parts[cluster.Client] = clients[i]
		rollouts, err := o.checkTeam(ctx, services, team)
		if err != nil {
			return fmt.Errorf("team %s: %w", team, err)
		}
		o.report.Printf("team %s: %d rollouts in %.1f s\n", team, rollouts, ends[i].Seconds())
		o.report.Printf("  %-13s %6.2f s of processor time, %4d MB of memory at peak\n", cluster.Client, clients[i].Processor.Seconds(), clients[i].PeakBytes/1e6)
	}
	delete(parts, cluster.Client)
	for _, name := range services.Processes() {
		o.report.Printf("  %-13s %6.2f s of processor time, %4d MB of memory at peak\n", name, parts[name].Processor.Seconds(), parts[name].PeakBytes/1e6)
	}
	differences, err := compare.Runs(filepath.Join(o.dir, teams()[0]), filepath.Join(o.dir, teams()[1]))
	if err == nil && len(differences) > 0 {
		err = fmt.Errorf("the runs of the teams differ: %v", differences)
	}
	return err
}

// checkTeam checks that a team's run has each of its rollouts once, all with a score, and that the
// team sees no other sweep.
func (o *options) checkTeam(ctx context.Context, services *cluster.Cluster, team string) (rollouts int, err error) {
	record, err := results.ReadRun(filepath.Join(o.dir, team))
	if err != nil {
		return 0, err
	}
	seen := make(map[string]bool)
	for _, rollout := range record.Rollouts {
		if seen[rollout.ID] || rollout.End == "infrastructure" || !strings.HasPrefix(rollout.ID, team+".") {
			return 0, fmt.Errorf("rollout %s with end %q: it is doubled, failed or another team's", rollout.ID, rollout.End)
		}
		seen[rollout.ID] = true
	}
	list := exec.CommandContext(ctx, filepath.Join(o.dir, "bin", "toolsandbox"), append([]string{"sweep", "list"}, services.ClientArgs()...)...)
	list.Env = append(os.Environ(), environmentOf(team)...)
	printed, err := list.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("list sweeps: %w\n%s", err, printed)
	}
	for _, other := range teams() {
		if sees := strings.Contains(string(printed), other+" "); sees != (other == team) {
			return 0, fmt.Errorf("sees the sweep of team %s: got %t, want %t\n%s", other, sees, other == team, printed)
		}
	}
	return len(record.Rollouts), nil
}
