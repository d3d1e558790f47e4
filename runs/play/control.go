package play

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
)

// socketWait is how long a command waits for a run that does not answer.
const socketWait = 3 * time.Second

// WithSocket returns standalone.With for the run that plays into an output directory, which only
// has the orchestrator.
func WithSocket(out string) func(context.Context, standalone.Config, rpc.Options, func(context.Context, *rpc.Node) error) error {
	return func(ctx context.Context, cfg standalone.Config, parts rpc.Options, do func(context.Context, *rpc.Node) error) (err error) {
		out, _ = results.Locate(out)
		target, closeTarget, err := rpc.SocketTarget(ctx, Socket(out))
		if err != nil {
			switch started, err := HasRun(out); {
			case err != nil:
				return unreadable(out, err)
			case started:
				return process.UsageErrorf("--out: no process plays the run in %s at the moment: continue it with toolsandbox run --out %s --resume", out, report.ShellWord(out))
			}
			return process.UsageErrorf("--out: %s holds no run", out)
		}
		defer func() { err = errors.Join(err, closeTarget()) }()
		cfg.Network.Remote, cfg.Network.Wait, cfg.Network.Orchestrators = true, socketWait, []string{target}
		cfg.Network.TLSCert, cfg.Network.TLSKey, cfg.Network.TLSCA = "", "", ""
		return standalone.With(ctx, cfg, parts, do)
	}
}

// Limits are the flags of the limits that may change while a sweep runs.
type Limits struct {
	parallel optional[int32]
	spend    spendOptions
}

// RegisterFlags adds the flags. Request reads them.
func (l *Limits) RegisterFlags(flags *pflag.FlagSet) {
	l.parallel, l.spend.tokens, l.spend.dollars = optionalInt[int32](32), optionalInt[int64](64), optionalFloat()
	flags.VarP(&l.parallel, "parallel", "p", "concurrent rollouts per orchestrator; 0 is its own limit, with --out none")
	flags.Var(&l.spend.tokens, "spend-tokens", "`tokens` that models may use in all; 0 is no limit")
	flags.Var(&l.spend.dollars, "spend-usd", "the same in US `dollars`; 0 is no limit")
}

// Request returns the request for the changes, without the id of a sweep. The error is a mistake on
// the command line.
func (l *Limits) Request() (*orchestratorv1.UpdateSweepRequest, error) {
	request := &orchestratorv1.UpdateSweepRequest{Parallel: l.parallel.value, SpendTokens: l.spend.tokens.value}
	if l.parallel.value == nil && l.spend.tokens.value == nil && l.spend.dollars.value == nil {
		return nil, process.UsageErrorf("--parallel, --spend-tokens, --spend-usd: none given, expected at least one")
	}
	if n := l.parallel.or(0); n < 0 || n > maxParallel {
		return nil, process.UsageErrorf("--parallel: %d given, expected 0 to %d", n, maxParallel)
	}
	if n := l.spend.tokens.or(0); n < 0 {
		return nil, process.UsageErrorf("--spend-tokens: %d given, expected 0 or more", n)
	}
	if n := l.spend.dollars.or(0); !(n >= 0 && n <= maxDollars) {
		return nil, process.UsageErrorf("--spend-usd: %v given, expected dollars, from 0 to %v", n, maxDollars)
	}
	if l.spend.dollars.value != nil {
		request.SpendMicros = proto.Int64(int64(math.Ceil(l.spend.dollars.or(0) * 1e6)))
	}
	return request, nil
}
