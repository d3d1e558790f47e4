package view

import (
	"context"
	"io"
	"strings"
	"sync"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/runs/prove"
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

// of returns the proof of a scenario, or begins it: ready is then false.
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
		return proof.value, true, proof.err
	default:
		return nil, false, nil
	}
}

// play plays a proof in an installation of its own.
func (p *proofs) play(s *scenariov1.Scenario) (report *prove.Report, err error) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-p.ctx.Done():
		return nil, p.ctx.Err()
	}
	services := standalone.DefaultConfig()
	services.Orchestrator.Parallel = proofParallel
	err = standalone.WithTemporary(p.ctx, services, "error", io.Discard, func(ctx context.Context, node *rpc.Node) error {
		reports, err := prove.Prove(ctx, prove.Services{
			Orchestrator: node.Conn(rpc.Orchestrator), Evaluator: node.Conn(rpc.Evaluator), ToolHost: node.ToolHost, Parallel: proofParallel,
		}, []*scenariov1.Scenario{s})
		if err == nil {
			report = reports[0]
		}
		return err
	})
	return report, err
}

// provable reports whether the viewer plays the proof of a scenario. It starts no tool servers.
func (v *Viewer) provable(name string) bool {
	s := v.scenarios[name]
	return v.proofs != nil && s != nil && scenario.BaseName(name) == name && len(s.GetSetup().GetToolServers()) == 0
}

// proofPath is the path of a scenario's proof.
func proofPath(name string) string {
	return strings.TrimSuffix(scenarioPath(name), ".html") + "/proof.html"
}

// proofBody is the content of the page of a proof. Without a Report it is being played, unless
// Problem says why it cannot be.
type proofBody struct {
	*prove.Report
	Problem string
	Rules   []proofRule
}

// proofRule is the rollouts that show one rule.
type proofRule struct {
	Name, Text string
	Rollouts   []prove.Outcome
}

// proofPage fills the page of a scenario's proof, which it begins.
func (v *Viewer) proofPage(p *page, name string) error {
	if !v.provable(name) {
		return errNoPage
	}
	report, ready, err := v.proofs.of(v.scenarios[name])
	body := &proofBody{Report: report}
	switch {
	case !ready:
		p.Version = v.version
	case err != nil:
		body.Problem = err.Error()
	default:
		body.Rules = proofRules(report)
	}
	p.template, p.Title, p.Section, p.Body = "proof", name+": proof", "scenario", body
	p.Over = []link{{name, scenarioPath(name)}}
	return nil
}

// proofRules groups the rollouts of a proof by their rules, in the order of the first ones.
func proofRules(report *prove.Report) []proofRule {
	texts := map[string]string{
		"oracle": "The oracle solves each variant.", "idle": "An agent that does not help scores little.",
		"milestone": "The oracle's score without each milestone's call or text.", "mutant": "The oracle with one fault.", "minefield": "Each minefield is triggered.",
	}
	var rules []proofRule
	at := make(map[string]int)
	for _, rollout := range report.Experiments {
		i, known := at[rollout.Rule]
		if !known {
			i = len(rules)
			at[rollout.Rule] = i
			rules = append(rules, proofRule{Name: rollout.Rule, Text: texts[rollout.Rule]})
		}
		rules[i].Rollouts = append(rules[i].Rollouts, rollout)
	}
	return rules
}
