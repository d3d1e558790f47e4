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

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
)

// fault is what happens to an installation while it plays.
type fault struct {
	name string
	do   func(ctx context.Context, random *rand.Rand, services *cluster.Cluster) error
	// loses says that what was acknowledged may be gone: some rollouts may need --resume.
	loses bool
	// repays says that a turn of a player may be asked, and paid, again.
	repays bool
}

func loses(f fault) bool { return f.loses }

func repays(f fault) bool { return f.repays }

// faults are those of which each pass gets some.
func faults() []fault {
	all := []fault{
		{name: "nats away", do: natsAway},
		{name: "toolhost without its disk", do: toolHostLost},
		{name: "toolhost with a cut file", do: toolHostDamaged(cut)},
		{name: "toolhost with flipped bits", do: toolHostDamaged(flip)},
		{name: "toolhost on a full disk", do: fullDisk(cluster.ToolHost)},
		{name: "nats on a full disk", do: fullDisk(cluster.NATS)},
		{name: "streams without their tails", do: damaged(tails, cluster.NATS), loses: true, repays: true},
	}
	for _, name := range append(cluster.Services(), cluster.NATS) {
		all = append(all,
			fault{name: name + " killed", do: kill(name), repays: name == cluster.AgentGateway},
			fault{name: name + " stopped", do: stop(name)},
		)
	}
	return all
}

// storeDamage is the n-th damage of one store as a fault. After a loss all services are started
// again, since they make their streams when they start.
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

// tails is what a power failure leaves.
var tails = damage{"tails", func(random *rand.Rand, at stores) error { return change(blocksOf(at, "*"), cut(random)) }}

// restart kills processes and starts them again in the reverse order.
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

// while returns a pause of a length that random chooses.
func while(random *rand.Rand, least, most time.Duration) func() error {
	length := least + time.Duration(random.Int64N(int64(most-least)))
	return func() error { pause(length); return nil }
}

func kill(name string) func(context.Context, *rand.Rand, *cluster.Cluster) error {
	return func(ctx context.Context, _ *rand.Rand, services *cluster.Cluster) error {
		return restart(ctx, services, func() error { return nil }, name)
	}
}

// stop stops a process for longer than a lease.
func stop(name string) func(context.Context, *rand.Rand, *cluster.Cluster) error {
	return func(_ context.Context, random *rand.Rand, services *cluster.Cluster) error {
		err := services.Signal(name, syscall.SIGSTOP)
		return errors.Join(err, while(random, 2500*time.Millisecond, 4*time.Second)(), services.Signal(name, syscall.SIGCONT))
	}
}

func natsAway(ctx context.Context, random *rand.Rand, services *cluster.Cluster) error {
	return restart(ctx, services, while(random, time.Second, 6*time.Second), cluster.NATS)
}

func toolHostLost(ctx context.Context, _ *rand.Rand, services *cluster.Cluster) error {
	return restart(ctx, services, func() error { return os.RemoveAll(services.Sessions(cluster.ToolHost)) }, cluster.ToolHost)
}

// toolHostDamaged changes the tool host's file. A tool host that says so has its file removed, as
// it asks for.
func toolHostDamaged(how func(*rand.Rand) func([]byte) []byte) func(context.Context, *rand.Rand, *cluster.Cluster) error {
	return func(ctx context.Context, random *rand.Rand, services *cluster.Cluster) error {
		if err := services.Kill(cluster.ToolHost); err != nil {
			return err
		}
		if err := rewrite(filepath.Join(services.Sessions(cluster.ToolHost), "*"), how(random)); err != nil {
			return err
		}
		if err := services.Start(ctx, cluster.ToolHost); err != nil {
			return removeDamaged(ctx, services)
		}
		return nil
	}
}

// removeDamaged starts a tool host that has ended because its file is damaged, without that file.
func removeDamaged(ctx context.Context, services *cluster.Cluster) error {
	if !services.Ended(cluster.ToolHost) {
		return errors.New("the tool host is not ready, but runs")
	}
	if last := lastLine(services.Log(cluster.ToolHost)); !strings.Contains(last, "is damaged") || !strings.Contains(last, "remove the file") {
		return fmt.Errorf("the tool host ended and says %q, want that its file is damaged and to be removed", last)
	}
	if err := services.Kill(cluster.ToolHost); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if err := os.RemoveAll(services.Sessions(cluster.ToolHost)); err != nil {
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

// littleRoom is the size beyond which no file grows on a full disk. What is stored of a run is
// larger before long.
const littleRoom = 16 << 10

// fullDisk lets the files of a process grow no more for longer than others take to connect to it
// again. Whether it ends then or not, it is started again with room.
func fullDisk(name string) func(context.Context, *rand.Rand, *cluster.Cluster) error {
	return func(ctx context.Context, random *rand.Rand, services *cluster.Cluster) error {
		if err := services.Kill(name); err != nil {
			return err
		}
		if err := services.StartOnFullDisk(ctx, name, littleRoom); err != nil && !services.Ended(name) {
			return err
		}
		if err := while(random, 3*time.Second, 6*time.Second)(); err != nil {
			return err
		}
		if err := services.Kill(name); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		return services.Start(ctx, name)
	}
}

// damaged changes what is stored between a kill and the restart of those who use it.
func damaged(d damage, victims ...string) func(context.Context, *rand.Rand, *cluster.Cluster) error {
	return func(ctx context.Context, random *rand.Rand, services *cluster.Cluster) error {
		return restart(ctx, services, func() error {
			return d.do(random, stores{streams: services.Streams(), sessions: services.Sessions(cluster.ToolHost)})
		}, victims...)
	}
}
