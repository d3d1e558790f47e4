package cause

import (
	"slices"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/provenance"
	"github.com/toolsandbox/toolsandbox/internal/timezone"
	"github.com/toolsandbox/toolsandbox/internal/world"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
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

// NewWorld returns the world of a scenario with its tables at the start. The zone is an IANA name.
func NewWorld(zone string, categories []string, tables []*worldv1.Table, schema []*worldv1.TableSchema) *World {
	location, err := timezone.Load(zone)
	if err != nil {
		location = time.UTC
	}
	return &World{
		zone: location, names: provenance.NamesOf(tables), insufficient: slices.Contains(categories, insufficient),
		tables: tables, schema: world.SchemaOrBuiltin(schema),
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

// classify adds the causes of the classes, if the world is known and the score is below 1.
func (f *finder) classify(t *assemble.Trajectory, result *busv1.Result, evaluation *evaluationv1.Evaluation, world *World) {
	if world == nil || result.GetSimilarity() >= 1 {
		return
	}
	c := &classifier{finder: f, history: newHistory(t, world), world: world, result: result, graph: evaluation.GetMilestones(), needed: make(map[*invocation]bool)}
	c.findGuesses()
	c.findParallel()
	c.findPremature()
	c.findMissing()
	c.findCanonical()
}
