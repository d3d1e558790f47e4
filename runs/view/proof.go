package view

import (
	"context"
	"io"
	"strings"
	"sync"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/runs/prove"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// proofParallel is the number of concurrent rollouts of a proof, few beside the pages.
const proofParallel = 8

// proofs plays the proofs of scenarios that somebody asks for, one after the other, and keeps them.
type proofs struct {
	ctx    context.Context // that of the site, which owns the goroutines
	group  *sync.WaitGroup
	played func()
	turn   chan struct{}

	mu    sync.Mutex
	known map[string]*eventual[*prove.Report]
}

// newProofs returns proofs that are played in goroutines of group until ctx is done. played is
// called after each.
func newProofs(ctx context.Context, group *sync.WaitGroup, played func()) *proofs {
	return &proofs{ctx: ctx, group: group, played: played, turn: make(chan struct{}, 1), known: make(map[string]*eventual[*prove.Report])}
}

// of returns the proof of a scenario, or begins it: ready is then false. An error, such as that of
// a full disk, is returned once: the next call begins the proof again.
func (p *proofs) of(s *scenariov1.Scenario) (report *prove.Report, ready bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := s.GetSetup().GetName()
	proof := p.known[name]
	if proof == nil {
		proof = newEventual(p.group, func(settle func(*prove.Report, error)) {
			settle(p.play(s))
			p.played()
		})
		p.known[name] = proof
		proof.begin()
	}
	select {
	case <-proof.done:
		if proof.err != nil {
			delete(p.known, name)
		}
		return proof.value, true, proof.err
	default:
		return nil, false, nil
	}
}

// play plays a proof when the earlier ones have ended.
func (p *proofs) play(s *scenariov1.Scenario) (*prove.Report, error) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-p.ctx.Done():
		return nil, p.ctx.Err()
	}
	reports, err := playProofs(p.ctx, []*scenariov1.Scenario{s})
	if err != nil {
		return nil, err
	}
	return reports[0], nil
}

// playProofs plays proofs in an installation of its own, and returns their reports in order.
func playProofs(ctx context.Context, scenarios []*scenariov1.Scenario) (reports []*prove.Report, err error) {
	services := standalone.DefaultConfig()
	services.Orchestrator.Parallel = proofParallel
	err = standalone.WithTemporary(ctx, services, "error", io.Discard, func(ctx context.Context, node *rpc.Node) error {
		reports, err = prove.Prove(ctx, prove.Services{
			Orchestrator: node.Conn(rpc.Orchestrator), Evaluator: node.Conn(rpc.Evaluator), ToolHost: node.ToolHost, Parallel: proofParallel,
		}, scenarios)
		return err
	})
	return reports, err
}

// provable reports whether the viewer has or plays the proof of a scenario. It starts no tool
// servers.
func (v *Viewer) provable(name string) bool {
	s := v.scenarios[name]
	return v.proofOf != nil && s != nil && scenario.BaseName(name) == name && len(s.GetSetup().GetToolServers()) == 0
}

// proveAll plays the proofs of all scenarios that have a page, for a directory.
func (v *Viewer) proveAll(ctx context.Context) error {
	known := make(map[string]*prove.Report)
	v.proofOf = func(s *scenariov1.Scenario) (*prove.Report, bool, error) {
		return known[s.GetSetup().GetName()], true, nil
	}
	var scenarios []*scenariov1.Scenario
	for _, name := range v.scenarioNames() {
		if v.provable(name) {
			scenarios = append(scenarios, v.scenarios[name])
		}
	}
	if len(scenarios) == 0 {
		return nil
	}
	reports, err := playProofs(ctx, scenarios)
	for _, report := range reports {
		known[report.Name] = report
	}
	return err
}

// proofPath is the path of a scenario's proof.
func proofPath(name string, static bool) string {
	if static {
		return scenarioPath(name) + "?proof"
	}
	return strings.TrimSuffix(scenarioPath(name), ".html") + "/proof.html"
}

// proofCommand is the command that plays a scenario's proof.
func proofCommand(name string) string {
	return "toolsandbox scenario prove " + report.ShellWord(scenario.BaseName(name)) + " -v"
}

// proofBody is the content of the page of a proof. Without a Report it is being played, unless
// Problem says why it could not be.
type proofBody struct {
	*prove.Report
	Problem string
}

// proofPage fills the page of a scenario's proof, which it begins.
func (v *Viewer) proofPage(p *page, name string) error {
	if !v.provable(name) {
		return errNoPage
	}
	proven, ready, err := v.proofOf(v.scenarios[name])
	body := &proofBody{Report: proven}
	switch {
	case !ready:
		p.Version = v.version
	case err != nil: // the next request plays it again, so the page must not renew itself
		p.Version, body.Problem = 0, err.Error()
	}
	p.template, p.Title, p.Section, p.Body = "proof", name+": proof", "scenario", body
	p.Over = []link{{name, scenarioPath(name)}}
	return nil
}
