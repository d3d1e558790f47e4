package play

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
	"github.com/toolsandbox/toolsandbox/runs/storage"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
	"github.com/toolsandbox/toolsandbox/services/toolhost"
)

// varyingFlags returns the flags that may differ between the runs of an experiment: those that
// determine results, and that the services do not read.
func varyingFlags() []string {
	return slices.DeleteFunc(resultFlags(), func(name string) bool { return slices.Contains([]string{"replay", "fork", "text"}, name) })
}

// cell is one run of an experiment.
type cell struct {
	process.Cell
	options *Options
	run     preparedRun
}

// experiment plays a run for each cell of a matrix, one after the other, on the same services. Each
// has a directory of its own below --out. A run that ends without some scores does not stop the
// others; a failed service, a cancelled sweep and a reached spend limit do.
func (o *Options) experiment(ctx context.Context, args []string, matrix process.Matrix, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	if err := o.checkExperiment(); err != nil {
		return err
	}
	cells, err := o.cells(ctx, args, matrix, stderr)
	if err != nil {
		return err
	}
	release, err := o.openExperiment(cells)
	if err != nil {
		return err
	}
	defer func() { err = standalone.Join(err, release()) }()
	var closing closers
	running, err := o.start(ctx, stderr, &closing)
	if err != nil {
		return closing.close(err)
	}
	played := &playedCells{text: stdout, asJSON: o.asJSON}
	err = o.playCells(ctx, running, cells, played, stdin, stderr)
	return closing.close(errors.Join(err, played.end(o.out, stderr)))
}

// checkExperiment rejects flags that name one run, or play runs in another way.
func (o *Options) checkExperiment() error {
	for _, name := range []string{"sweep-id", "replay", "fork", "against", "until-decided", "until-width"} {
		if flag := o.flags.Lookup(name); flag.Value.String() != flag.DefValue {
			return process.UsageErrorf("--%s: given, but the settings file lists alternatives, which are a whole run each", name)
		}
	}
	if o.resume && o.out == "" {
		return process.UsageErrorf("--resume: needs --out, the directory of the experiment")
	}
	if o.out == "" {
		o.out = storage.Join("data", "experiment_"+time.Now().Format("01_02_2006_15_04_05"))
	}
	return nil
}

// cells returns the prepared cells of a matrix, and allows the services what all of them need.
// Equal scenarios are in memory once.
func (o *Options) cells(ctx context.Context, args []string, matrix process.Matrix, stderr io.Writer) ([]*cell, error) {
	loaded := make(map[string][]*scenariov1.Scenario)
	servers := make(toolhost.ToolServers)
	var cells []*cell
	var errs []error
	seen := make(map[string]bool)
	for _, c := range matrix.Cells() {
		prepared, err := o.cell(ctx, args, c, stderr)
		if err != nil {
			if text := err.Error(); !seen[text] { // that of an alternative is that of all its cells
				errs, seen[text] = append(errs, err), true
			}
			continue
		}
		spec := &prepared.run.spec
		catalogue, err := catalogueRecord(spec.Scenarios)
		if err != nil {
			return nil, err
		}
		if known, ok := loaded[catalogue.Digest]; ok {
			spec.Scenarios = known
		}
		loaded[catalogue.Digest] = spec.Scenarios
		o.installation.AgentGateway.AllowPlayers(slices.Concat(spec.Agents, spec.Users)...)
		for name, target := range prepared.options.installation.ToolHost.ToolServers {
			if _, taken := servers[name]; !taken {
				servers[name] = target
			}
		}
		cells = append(cells, prepared)
	}
	o.installation.ToolHost.ToolServers, o.installation.Orchestrator.Parallel = servers, maxParallel // each sweep has its own
	return cells, errors.Join(errs...)
}

// cell prepares one cell. The error names the source of the setting that is wrong, or the cell.
func (o *Options) cell(ctx context.Context, args []string, c process.Cell, stderr io.Writer) (*cell, error) {
	own := New(o.program)
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	own.RegisterFlags(flags)
	process.RejectLeadingZeros(flags)
	directory := storage.Join(o.out, c.Name)
	if err := errors.Join(process.CopyFlags(flags, o.flags), flags.Set("out", directory), c.Set(flags)); err != nil {
		return nil, err
	}
	own.experimentDir = o.out
	own.dataDir = cmp.Or(o.dataDir, DataDirectory(o.out))
	run, err := own.prepareRun(ctx, args, stderr)
	if err != nil {
		if located := process.ErrorSource(flags, err); located.Error() != err.Error() {
			return nil, located
		}
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	return &cell{c, own, run}, nil
}

// openExperiment makes and locks the directory of the experiment, lists the runs in it and checks
// those that started before.
func (o *Options) openExperiment(cells []*cell) (release func() error, err error) {
	d := &directory{path: o.out}
	known, err := storage.Exists(storage.Join(o.out, results.ExperimentFile))
	started, unknown := hasStarted(o.out)
	if err := errors.Join(err, unknown); err != nil {
		return nil, unreadable(o.out, err)
	}
	isNew := !o.resume || !known
	if isNew && o.resume && started {
		return nil, process.UsageErrorf("--resume: %s holds a run, but the settings file lists alternatives, which are a run each: choose another --out", o.out)
	}
	if isNew {
		if err := d.check(false); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(d.data(), 0o755); err != nil {
		return nil, fmt.Errorf("output directory %s cannot be made: %w: choose another --out", o.out, err)
	}
	if release, err = standalone.Lock(storage.Join(d.data(), lockFile)); err != nil {
		return nil, fmt.Errorf("output directory %s %w", o.out, err)
	}
	o.installation.Dir, o.installation.Network.Socket = cmp.Or(o.dataDir, d.data()), Socket(o.out)
	experiment, secrets := &results.Experiment{}, Secrets(os.Environ())
	for _, c := range cells {
		settings := c.Settings()
		for name, value := range settings {
			settings[name] = Redact(value, secrets)
		}
		experiment.Runs = append(experiment.Runs, results.ExperimentRun{Directory: c.Name, Settings: settings})
		if c.options.resume { // a mistake is told before the first rollout
			started, _, err := c.options.open(c.run)
			if err == nil {
				err = started.release()
			}
			if err != nil {
				return nil, errors.Join(err, release())
			}
		}
	}
	if err := results.WriteExperiment(o.out, experiment); err != nil {
		return nil, errors.Join(err, release())
	}
	return release, nil
}

// playCells plays the cells in their order.
func (o *Options) playCells(
	ctx context.Context, running *standalone.Installation, cells []*cell, played *playedCells, stdin io.Reader, stderr io.Writer,
) error {
	var failed []error
	for i, c := range cells {
		if _, err := fmt.Fprintf(stderr, "run %d of %d: %s\n", i+1, len(cells), c.Name); err != nil {
			return err
		}
		err := c.play(ctx, running, cells, played, stdin, stderr)
		if err == nil {
			continue
		}
		_, isSpent := errors.AsType[*sweep.SpendLimitError](err)
		_, isOwn := errors.AsType[*ownError](err)
		err = fmt.Errorf("%s: %w", c.Name, err)
		if left := len(cells) - i - 1; left > 0 && (isSpent || !isOwn || ctx.Err() != nil) {
			return errors.Join(append(failed, fmt.Errorf("%w; the runs after it (%d) have not been played: %s plays them", err, left, o.again()))...)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// play plays a cell.
func (c *cell) play(
	ctx context.Context, running *standalone.Installation, all []*cell, played *playedCells, stdin io.Reader, stderr io.Writer,
) (err error) {
	run := c.run
	orchestrator := orchestratorv1.NewOrchestratorServiceClient(running.Node().Conn(rpc.Orchestrator))
	if run.spec.Limit, err = remaining(ctx, orchestrator, run.spec.Limit, c, all); err != nil {
		return err
	}
	stdout, err := played.start(c.Name, c.options.out)
	if err != nil {
		return err
	}
	return c.options.playRun(ctx, run, running, stdin, stdout, stderr)
}

// remaining returns what the other runs of an experiment leave of its spend limit. The error is a
// *sweep.SpendLimitError if that is nothing.
func remaining(
	ctx context.Context, orchestrator orchestratorv1.OrchestratorServiceClient, limit *agentgwv1.SpendLimit, own *cell, all []*cell,
) (*agentgwv1.SpendLimit, error) {
	if limit == nil {
		return nil, nil
	}
	left := &agentgwv1.SpendLimit{Tokens: limit.GetTokens(), CostMicros: limit.GetCostMicros()}
	for _, c := range all {
		if c == own {
			continue
		}
		started, err := HasRun(c.options.out)
		if err != nil {
			return nil, unreadable(c.options.out, err)
		}
		if !started {
			continue
		}
		record, err := results.ReadRun(c.options.out)
		if err != nil {
			return nil, err
		}
		tokens, micros, err := spent(ctx, orchestrator, record)
		if err != nil {
			return nil, err
		}
		left.Tokens, left.CostMicros = left.Tokens-tokens, left.CostMicros-micros
	}
	if limit.GetTokens() > 0 && left.GetTokens() <= 0 || limit.GetCostMicros() > 0 && left.GetCostMicros() <= 0 {
		return nil, &sweep.SpendLimitError{Reason: "the other runs of the experiment have reached its spend limit: raise it"}
	}
	left.Tokens, left.CostMicros = max(left.GetTokens(), 0), max(left.GetCostMicros(), 0)
	return left, nil
}

// spent returns what the models of a run have used. Its sweep knows more than its files: rollouts
// that have not ended, and estimates of what providers do not report.
func spent(ctx context.Context, orchestrator orchestratorv1.OrchestratorServiceClient, record *results.Run) (tokens, micros int64, err error) {
	tokens, dollars := record.Spent()
	micros = int64(math.Ceil(dollars * 1e6))
	info, err := sweep.Get(ctx, orchestrator, record.SweepID)
	if _, isGone := errors.AsType[*sweep.UnknownError](err); err != nil && !isGone {
		return 0, 0, err
	}
	return max(tokens, info.GetSpent().GetTokens()), max(micros, info.GetSpent().GetMicros()), nil
}

// playedCells prints the results of cells: each table as it comes, or one JSON document at the end.
type playedCells struct {
	text   io.Writer
	asJSON bool
	runs   []*playedCell
}

type playedCell struct {
	directory string
	summary   bytes.Buffer
}

// start returns where to print the results of a run.
func (p *playedCells) start(name, directory string) (io.Writer, error) {
	if !p.asJSON {
		_, err := fmt.Fprintf(p.text, "\n%s\n", name)
		return p.text, err
	}
	run := &playedCell{directory: directory}
	p.runs = append(p.runs, run)
	return &run.summary, nil
}

// end prints what is left to print.
func (p *playedCells) end(out string, stderr io.Writer) error {
	if !p.asJSON {
		_, err := fmt.Fprintf(stderr, "all runs: toolsandbox report %s\n", report.ShellWord(out))
		return err
	}
	type run struct {
		Directory string          `json:"directory"`
		Summary   json.RawMessage `json:"summary"`
	}
	all := []run{}
	for _, r := range p.runs {
		if r.summary.Len() > 0 {
			all = append(all, run{r.directory, r.summary.Bytes()})
		}
	}
	return report.JSON(p.text, all)
}
