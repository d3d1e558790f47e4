package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
)

// fault is a fault of a running installation.
type fault struct {
	name string
	do   func(ctx context.Context, random *rand.Rand, services *cluster.Cluster) error
	// loses reports that acknowledged data may be lost, so some rollouts may need --resume.
	loses bool
	// repays reports that a turn may be requested and paid again.
	repays bool
}

func loses(f fault) bool { return f.loses }

func repays(f fault) bool { return f.repays }

// faults returns the faults to choose from.
func faults() []fault {
	all := []fault{
		{name: "nats away", do: natsOutage},
		{name: "toolhost without its disk", do: toolHostLost},
		{name: "toolhost with a cut file", do: toolHostDamaged(truncate)},
		{name: "toolhost with flipped bits", do: toolHostDamaged(flipBits)},
		{name: "toolhost on a full disk", do: fullDisk(cluster.ToolHost)},
		{name: "nats on a full disk", do: fullDisk(cluster.NATS)},
		{name: "clock gone back", do: clockBack},
		{name: "results forged", do: forgedResults, loses: true},
		{name: "streams without their tails", do: damaged(truncateTails, cluster.NATS), loses: true, repays: true},
	}
	for _, name := range append(cluster.Services(), cluster.NATS) {
		all = append(all,
			fault{name: name + " killed", do: kill(name), repays: name == cluster.AgentGateway},
			fault{name: name + " stopped", do: stop(name)},
		)
	}
	return all
}

// storeDamage returns the n-th damage of a store as a fault. After a loss it restarts all services,
// because they create their streams at the start.
func storeDamage(n int) fault {
	all := damages()[1:]
	chosen := all[n%len(all)]
	f := fault{name: chosen.name, do: damaged(chosen, cluster.NATS), loses: true}
	switch {
	case strings.HasPrefix(chosen.name, "tool host"):
		f.do = damaged(chosen, cluster.ToolHost)
	case strings.HasSuffix(chosen.name, " lost"):
		f.do, f.repays = damaged(chosen, cluster.Orchestrator, cluster.Evaluator, cluster.AgentGateway, cluster.ToolHost, cluster.NATS), true
	case strings.HasPrefix(chosen.name, "RECORDING"):
		f.repays = true
	}
	return f
}

// truncateTails simulates a power failure.
var truncateTails = damage{"tails", func(random *rand.Rand, at stores) error { return change(blocksOf(at, "*"), truncate(random)) }}

// restart kills processes and restarts them in reverse order.
func restart(ctx context.Context, services *cluster.Cluster, meanwhile func() error, names ...string) error {
	for _, name := range names {
		if err := services.Kill(name); err != nil {
			return err
		}
	}
	if err := meanwhile(); err != nil {
		return err
	}
	for n := range names {
		if err := services.Start(ctx, names[len(names)-1-n]); err != nil {
			return err
		}
	}
	return nil
}

// randomPause returns a pause of random length.
func randomPause(random *rand.Rand, least, most time.Duration) func() error {
	length := least + time.Duration(random.Int64N(int64(most-least)))
	return func() error { pause(length); return nil }
}

func kill(name string) func(context.Context, *rand.Rand, *cluster.Cluster) error {
	return func(ctx context.Context, _ *rand.Rand, services *cluster.Cluster) error {
		return restart(ctx, services, func() error { return nil }, name)
	}
}

// stop suspends a process for longer than a lease.
func stop(name string) func(context.Context, *rand.Rand, *cluster.Cluster) error {
	return func(_ context.Context, random *rand.Rand, services *cluster.Cluster) error {
		err := services.Signal(name, syscall.SIGSTOP)
		return errors.Join(err, randomPause(random, 2500*time.Millisecond, 4*time.Second)(), services.Signal(name, syscall.SIGCONT))
	}
}

func natsOutage(ctx context.Context, random *rand.Rand, services *cluster.Cluster) error {
	return restart(ctx, services, randomPause(random, time.Second, 6*time.Second), cluster.NATS)
}

// clockBack kills the orchestrator, whose jobs the NATS server then holds back.
func clockBack(ctx context.Context, _ *rand.Rand, services *cluster.Cluster) error {
	return restart(ctx, services, func() error {
		return onNATS(services, func(js jetstream.JetStream) error { return holdJobs(ctx, js, 3*time.Second) })
	}, cluster.Orchestrator)
}

// forgedResults stores results that name no log.
func forgedResults(ctx context.Context, random *rand.Rand, services *cluster.Cluster) error {
	return onNATS(services, func(js jetstream.JetStream) error {
		_, err := forge(ctx, js, 1+random.IntN(maxForged))
		return err
	})
}

func toolHostLost(ctx context.Context, _ *rand.Rand, services *cluster.Cluster) error {
	return restart(ctx, services, func() error { return os.RemoveAll(services.Sessions(cluster.ToolHost)) }, cluster.ToolHost)
}

// toolHostDamaged damages the tool host's file, which the next start sets aside.
func toolHostDamaged(how func(*rand.Rand) func([]byte) []byte) func(context.Context, *rand.Rand, *cluster.Cluster) error {
	return func(ctx context.Context, random *rand.Rand, services *cluster.Cluster) error {
		if err := services.Kill(cluster.ToolHost); err != nil {
			return err
		}
		if err := rewrite(filepath.Join(services.Sessions(cluster.ToolHost), "*"), how(random)); err != nil {
			return err
		}
		return services.Start(ctx, cluster.ToolHost)
	}
}

// restartDamaged restarts a tool host that ended because its file was damaged while it was open.
func restartDamaged(ctx context.Context, services *cluster.Cluster) error {
	if !services.Ended(cluster.ToolHost) {
		return errors.New("the tool host is not ready, but runs")
	}
	if last := lastLine(services.Log(cluster.ToolHost)); !strings.Contains(last, "is damaged") {
		return fmt.Errorf("the tool host ended and says %q, want that its file is damaged", last)
	}
	if err := services.Kill(cluster.ToolHost); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return services.Start(ctx, cluster.ToolHost)
}

func lastLine(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return lines[len(lines)-1]
}

// diskLimit is the maximum file size on a full disk. A run soon exceeds it.
const diskLimit = 16 << 10

// fullDisk limits the file sizes of a process for longer than others take to reconnect. It then
// restarts the process without the limit, even if it has not ended.
func fullDisk(name string) func(context.Context, *rand.Rand, *cluster.Cluster) error {
	return func(ctx context.Context, random *rand.Rand, services *cluster.Cluster) error {
		if err := services.Kill(name); err != nil {
			return err
		}
		if err := services.StartOnFullDisk(ctx, name, diskLimit); err != nil && !services.Ended(name) {
			return err
		}
		if err := randomPause(random, 3*time.Second, 6*time.Second)(); err != nil {
			return err
		}
		if err := services.Kill(name); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		return services.Start(ctx, name)
	}
}

// damaged damages stored data after killing its users, and restarts them.
func damaged(d damage, victims ...string) func(context.Context, *rand.Rand, *cluster.Cluster) error {
	return func(ctx context.Context, random *rand.Rand, services *cluster.Cluster) error {
		return restart(ctx, services, func() error {
			return d.do(random, stores{streams: services.Streams(), sessions: services.Sessions(cluster.ToolHost)})
		}, victims...)
	}
}
