package cause

import (
	"slices"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/provenance"
	"github.com/toolsandbox/toolsandbox/internal/world"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/assemble"
)

// insufficient is the category of scenarios that lack a tool or a fact.
const insufficient = "INSUFFICIENT_INFORMATION"

// World is what the classes need of the world in which a rollout starts.
type World struct {
	zone         *time.Location
	names        provenance.Names
	insufficient bool
	tables       []*worldv1.Table // one for each table
	schema       *world.Schema
}

// WorldOf returns the world of a setup.
func WorldOf(setup *setupv1.Setup) *World {
	zone, err := time.LoadLocation(setup.GetClock().GetTimeZone())
	if err != nil {
		zone = time.UTC
	}
	return &World{
		zone: zone, names: provenance.NamesOf(setup.GetTables()), insufficient: slices.Contains(setup.GetCategories(), insufficient),
		tables: setup.GetTables(), schema: world.SchemaOrBuiltin(setup.GetSchema()),
	}
}

// classifier finds the classes of an error analysis in one trajectory: in its calls, its tables and
// its milestones.
type classifier struct {
	*finder
	*history
	world  *World
	result *busv1.Result
	graph  *evaluationv1.Graph  // the milestones
	needed map[*invocation]bool // calls that guessed what the answers of their turn tell
}

// classify adds the causes of the classes.
func (f *finder) classify(t *assemble.Trajectory, result *busv1.Result, evaluation *evaluationv1.Evaluation, world *World) {
	c := &classifier{finder: f, history: newHistory(t, world), world: world, result: result, graph: evaluation.GetMilestones(), needed: make(map[*invocation]bool)}
	c.findGuesses()
	c.findParallel()
	c.findPremature()
	c.findMissing()
	c.findCanonical()
}
