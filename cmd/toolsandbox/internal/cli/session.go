package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/flagrule"
	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/runs/play"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/session"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
)

// toolHostDirectory is the directory of the sessions, below the installation's directory.
const toolHostDirectory = "toolhost"

func newSession() *cobra.Command {
	from := newSessionSource()
	cmd := &cobra.Command{
		Use:   "session",
		Short: "Inspect, fork, replay and delete the worlds of a run",
		Long: `session reads the data of a run. A session is the world of one rollout: its tables at every message. ID is the id of a session,
the name of a scenario that has exactly one, or a rollout's name or path, such as out/trajectories/turn_off_wifi. session does not continue an interrupted run.`,
		Example: `  toolsandbox run --agent oracle --out out
  toolsandbox session list --out out
  toolsandbox session show turn_off_wifi --out out --at 3
  toolsandbox session replay turn_off_wifi --out out`,
	}
	asGroup(cmd)
	from.register(cmd.PersistentFlags())
	cmd.AddCommand(newSessionList(from), newSessionShow(from), newSessionDiff(from), newSessionFork(from), newSessionReplay(from),
		newSessionRecordings(from), newSessionExchanges(from), newSessionDelete(from))
	return cmd
}

// sessionSource locates sessions: below the directory of a run, or in a remote installation.
type sessionSource struct {
	out, dataDir string
	installation standalone.Config
	flags        *pflag.FlagSet
	// located are the rollouts that arguments name, by the ids of their sessions.
	located map[string]string
}

func newSessionSource() *sessionSource {
	return &sessionSource{
		installation: standalone.DefaultConfig(), flags: pflag.NewFlagSet("session", pflag.ContinueOnError), located: make(map[string]string),
	}
}

func (p *sessionSource) register(flags *pflag.FlagSet) {
	p.flags.StringVar(&p.out, "out", "out", "directory of the run")
	p.flags.StringVar(&p.dataDir, "data-dir", "", "directory of the services' data (default: .toolsandbox below --out)")
	p.flags.BoolVar(&p.installation.Network.Remote, "remote", false, "use running services, at the addresses below, instead of --out")
	p.installation.Network.RegisterClientFlags(p.flags)
	p.installation.Network.RegisterToolHostFlag(p.flags)
	flagrule.Needs(p.flags, "remote", "toolhost-addr")
	addSettings(flags, p.flags)
}

// prepare checks that sessions exist.
func (p *sessionSource) prepare() error {
	if err := p.installation.Network.Validate(); err != nil {
		return process.UsageErrorf("%w", err)
	}
	if p.installation.Network.Remote {
		return p.rejectUnused()
	}
	if p.installation.Dir = p.dataDir; p.installation.Dir != "" {
		if !exists(filepath.Join(p.dataDir, toolHostDirectory)) {
			return process.UsageErrorf("--data-dir: %s holds no sessions: give the --data-dir of a run", p.dataDir)
		}
		return nil
	}
	p.out, _ = results.Locate(p.out)
	p.installation.Dir = play.DataDirectory(p.out)
	started, err := play.HasRun(p.out)
	switch {
	case exists(filepath.Join(p.installation.Dir, toolHostDirectory)):
		return nil
	case err != nil:
		return err
	case started:
		return process.UsageErrorf("--out: %s does not contain the run's sessions: add its --data-dir or, for a remote run, --remote with the services' addresses", p.out)
	default:
		return process.UsageErrorf("--out: %s holds no run: make one with toolsandbox run --agent oracle --out %s, or give the --out of another run", p.out, report.ShellWord(p.out))
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// rejectUnused rejects the flags of local sessions with --remote. --out is a setting of run too, so
// a file or the environment may set it.
func (p *sessionSource) rejectUnused() error {
	for name, isSet := range map[string]bool{"out": p.flags.Changed("out"), "data-dir": process.IsSet(p.flags.Lookup("data-dir"))} {
		if isSet {
			return process.UsageErrorf("--%s: given, but --remote ignores it: sessions are at --toolhost-addr", name)
		}
	}
	return nil
}

// locate returns the session that an argument names. The path of a rollout names its run as well;
// the name of one is that of a rollout of the run in --out, whose experiment may have others.
func (p *sessionSource) locate(id string) string {
	run, rollout := results.Locate(id)
	switch {
	case rollout == "" && (p.installation.Network.Remote || p.dataDir != ""):
		return id
	case rollout == "":
		rollout = id
		run, _ = results.Locate(p.out)
	case !p.installation.Network.Remote && !p.flags.Changed("out"):
		p.out = run
	}
	if record, err := results.ReadRun(run); err == nil {
		for _, played := range record.Rollouts {
			if played.Name == rollout {
				p.located[played.ID] = rollout
				return played.ID
			}
		}
	}
	return rollout
}

// use connects to the place, starts the listed services if they are local, and calls do. No service
// plays rollouts.
func (p *sessionSource) use(ctx context.Context, stderr io.Writer, services []rpc.Service, do func(context.Context, *session.Client) error) error {
	if err := p.prepare(); err != nil {
		return err
	}
	p.installation.Services, p.installation.Orchestrator.Parallel = services, 0
	return standalone.With(ctx, p.installation, rpc.Options{Logger: process.TextLog(stderr, "warn")}, func(ctx context.Context, node *rpc.Node) error {
		err := do(ctx, session.New(node))
		unknown, ok := errors.AsType[*session.UnknownError](err)
		if !ok || p.located[unknown.Name] == "" {
			return err
		}
		return process.UsageErrorf("ID: %s has no session: %s was deleted or never made: see toolsandbox session list", p.located[unknown.Name], unknown.Name)
	})
}

// arguments returns the flags that locate the same place, for a command that a person can repeat.
func (p *sessionSource) arguments() string {
	switch {
	case p.installation.Network.Remote:
		return "--remote --toolhost-addr " + report.ShellWord(strings.Join(p.installation.Network.ToolHosts, ","))
	case p.dataDir != "":
		return "--data-dir " + report.ShellWord(p.dataDir)
	default:
		return "--out " + report.ShellWord(p.out)
	}
}

// positional names the arguments of a command, and rejects any other number of them.
func positional(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > len(names) {
			return process.UsageErrorf("unexpected argument %q: see --help", args[len(names)])
		}
		if len(args) < len(names) {
			return process.UsageErrorf("%s: missing, the arguments are %s: see --help", names[len(args)], strings.Join(names, " "))
		}
		return nil
	}
}

// printer prints itself for people and, through encoding/json, for programs.
type printer interface{ WriteText(io.Writer) error }

func printEither(w io.Writer, asJSON bool, value printer) error {
	if asJSON {
		return report.JSON(w, value)
	}
	return value.WriteText(w)
}

// printf prints a line for people.
func printf(w io.Writer, format string, args ...any) error {
	_, err := fmt.Fprintf(w, format+"\n", args...)
	return err
}
