package view

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/explain"
	"github.com/toolsandbox/toolsandbox/runs/play"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// forkPath is the path to which forms that fork are sent.
const forkPath = "fork"

// forks are the messages from which a rollout can be continued.
type forks struct {
	// origin is the rollout as run --fork takes it.
	origin, out string
	// isSweep: the rollout is one of remote services, which play on; where its files are is not known.
	isSweep bool
	points  []int
	// here is the path of the rollout's page, empty if no form may fork it.
	here string
}

// forks returns nil for a rollout that has no recording to continue.
func (v *Viewer) forks(r *run, rollout analysis.Rollout, told explained) *forks {
	if record := r.Record(); record == nil || record.SpecificationSHA256 == "" && !r.isSweep || rollout.Outcome == nil || told.Scenario == nil {
		return nil
	}
	f := &forks{
		origin: storage.Join(r.Directory, rollout.Name), out: forkDirectory(r.Directory),
		points: play.ForkPoints(told.Messages, len(told.Scenario.GetSetup().GetMessages()), rollout.Outcome.End),
	}
	if r.isSweep {
		f.isSweep, f.origin, f.out = true, "RUN/"+rollout.Name, "RUN-fork"
	} else if v.forkToken != "" {
		f.here = rolloutPath(r.Letter, rollout.Name)
	}
	return f
}

// forkDirectory is the directory of the first fork of a run.
func forkDirectory(dir string) string { return storage.Join(dir) + "-fork" }

// Has reports whether the rollout can be continued from a message.
func (f *forks) Has(message int) bool { return f != nil && slices.Contains(f.points, message) }

// Command is the command that does so.
func (f *forks) Command(message int) string {
	remote := ""
	if f.isSweep {
		remote = "--remote "
	}
	return "toolsandbox run " + remote + "--fork " + report.ShellWord(f.origin+"@"+strconv.Itoa(message)) + " --out " + report.ShellWord(f.out)
}

// Remark says what the command needs, empty for nothing.
func (f *forks) Remark() string {
	if f.isSweep {
		return "RUN is the --out of the run that the sweep is of; give --orchestrator-addr and --evaluator-addr as for that run."
	}
	return ""
}

// Path is the path of the form that does so, empty without one.
func (f *forks) Path(message int) string {
	if f.here == "" {
		return ""
	}
	return subPath(f.here, "fork", strconv.Itoa(message), false)
}

// forkBody is the content of the page with a form that forks.
type forkBody struct {
	Message                int
	Letter, Rollout        string
	Origin, Agent, User    string
	Action, Token, Command string
	HasText                bool
	Text, Speaker          string
}

// forkPage fills the page with the form that continues a rollout from a message.
func (v *Viewer) forkPage(ctx context.Context, p *page, letter, name string, message int) error {
	if v.forkToken == "" {
		return errNoPage
	}
	r, i, told, err := v.explainedRollout(ctx, letter, name)
	if err != nil {
		return err
	}
	f := v.forks(r, r.rollouts[i], told)
	if !f.Has(message) {
		return errNoPage
	}
	body := &forkBody{
		Message: message, Letter: letter, Rollout: name, Origin: r.Directory, Agent: r.Agent, User: r.User,
		Action: forkPath, Token: v.forkToken, Command: f.Command(message),
	}
	if message < len(told.Messages) {
		said := told.Messages[message]
		_, body.HasText = said.GetBody().(*worldv1.Message_Text)
		body.Text, body.Speaker = said.GetText(), strings.ToLower(world.RoleName(said.GetSender()))
	}
	p.template, p.Title, p.Section, p.Body = "fork", fmt.Sprintf("Fork %s from message %d", name, message), "rollouts", body
	p.Version = 0 // what is typed stays
	p.Over = []link{{"run " + letter, "index.html"}, {name, f.here + fmt.Sprintf("#m%d", message)}}
	return nil
}

// forkNode is a rollout in a tree of forks.
type forkNode struct {
	// Text names it, Change says what is other than in its origin.
	Text, Change string
	// Path leads to its page, empty for a run that is not shown. Here: it is this page.
	Path         string
	Here         bool
	Score, Class string
	Children     []*forkNode
}

// forkTree returns the tree of a rollout, from its first origin on, nil if it has neither an origin
// nor forks.
func (v *Viewer) forkTree(root string, rollout analysis.Rollout) *forkNode {
	forked := make(map[string]*results.Fork) // by the id of the origin
	for _, r := range v.runs {
		if fork := forkOf(r); fork != nil {
			forked[fork.ID] = fork
		}
	}
	if rollout.Outcome == nil || len(forked) == 0 {
		return nil
	}
	nodes, origins := make(map[string]*forkNode), make(map[string]string)
	var ids []string // in the order of the runs
	for _, r := range v.runs {
		fork := forkOf(r)
		for _, shown := range r.rollouts {
			if shown.Outcome == nil || nodes[shown.Outcome.ID] != nil || fork == nil && forked[shown.Outcome.ID] == nil {
				continue
			}
			node := &forkNode{Text: r.Letter + " " + shown.Name, Path: root + rolloutPath(r.Letter, shown.Name), Here: shown.Outcome.ID == rollout.Outcome.ID}
			if shown.Score != nil {
				node.Score, node.Class = explain.Number(*shown.Score), scoreClass(*shown.Score)
			}
			nodes[shown.Outcome.ID] = node
			if fork != nil {
				node.Change, origins[shown.Outcome.ID] = changeOf(fork), fork.ID
				ids = append(ids, shown.Outcome.ID)
			}
		}
	}
	for id, fork := range forked {
		if nodes[id] == nil { // its run is not shown
			nodes[id] = &forkNode{Text: fork.Rollout + " in " + fork.Run}
		}
	}
	for _, id := range ids {
		origin := nodes[origins[id]]
		origin.Children = append(origin.Children, nodes[id])
	}
	first := rollout.Outcome.ID
	for range nodes { // a record may say that origins go round
		if origins[first] == "" {
			return nodes[first]
		}
		first = origins[first]
	}
	return nil
}

// forkOf is what a run continues, nil for a run from the start.
func forkOf(r *run) *results.Fork {
	if record := r.Record(); record != nil {
		return record.Fork
	}
	return nil
}

// changeOf says what a fork changes.
func changeOf(fork *results.Fork) string {
	parts := []string{fmt.Sprintf("from message %d", fork.Message)}
	if fork.Agent != "" {
		parts = append(parts, "agent "+fork.Agent)
	}
	if fork.User != "" {
		parts = append(parts, "user "+fork.User)
	}
	if fork.Text != nil {
		parts = append(parts, "text “"+spelling.Beginning(*fork.Text, 120)+"”")
	}
	return strings.Join(parts, ", ")
}
