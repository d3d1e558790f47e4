// Package conformance runs vectors on services over gRPC and reports differences. Vectors record
// the behaviour of the original ToolSandbox. The package streams the files, and the services may
// run anywhere.
package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/toolsandbox/toolsandbox/internal/world"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// callTimeout limits one remote call, including the start of a service.
const callTimeout = time.Minute

// ErrKind means that the package does not know the kind of vectors in a file.
var ErrKind = errors.New("unknown kind of vectors")

// Services are the connections to the services under test. The caller closes them.
type Services struct {
	Orchestrator grpc.ClientConnInterface
	Evaluator    grpc.ClientConnInterface
	// AgentGateway is required for role vectors only. It must be able to reach servers on this
	// machine.
	AgentGateway grpc.ClientConnInterface
	// ToolHost returns the connection to the tool host that owns a session.
	ToolHost func(session string) grpc.ClientConnInterface
}

// Config configures a Runner.
type Config struct {
	// Run is a name of this run that is unique on the installation: letters, digits, - and _, at most
	// 40.
	Run string
	// Scenarios is the file with the scenarios of trajectories. If it is empty, the runner searches
	// scenarios.json in the vectors' directory and its parents.
	Scenarios string
	// Catalogue, if not nil, replaces that file. A scenario's name is the base name and the variant's
	// suffix.
	Catalogue []*scenariov1.Scenario
	// Worlds is the file with the worlds of tool calls. If it is empty, the runner searches
	// worlds.json in the vectors' directory and its parents, then beside Scenarios and in its
	// directory tools.
	Worlds string
	// ScoreOnly scores recorded trajectories instead of running them, and skips other vectors.
	ScoreOnly bool
	// Parallel is the number of concurrent cases, at least 1.
	Parallel int
	// MaxDifferences is the number of differences to report per file, 0 or more.
	MaxDifferences int
}

// Runner runs files of vectors one after the other. It is not safe for concurrent use.
type Runner struct {
	services Services
	cfg      Config
	files    int
	// These are caches by path.
	worlds    map[string]map[string]startingWorld
	scenarios map[string]scenarioLookup
	tools     map[string]bool
}

// New returns a runner without connecting to a service.
func New(services Services, cfg Config) *Runner {
	return &Runner{
		services:  services,
		cfg:       cfg,
		worlds:    make(map[string]map[string]startingWorld),
		scenarios: make(map[string]scenarioLookup),
	}
}

// File runs the cases of one file. A failing case is a difference, not an error. An error, e.g.
// ErrKind or a missing scenarios.json, names the file. If ctx ends, the error is that of ctx.
func (r *Runner) File(ctx context.Context, path string) (*Report, error) {
	k, err := detectKind(path)
	if err != nil {
		return nil, err
	}
	report := &Report{Path: path, Kind: k.name}
	switch {
	case k.testedBy != "":
		report.NotRun = "tested in " + k.testedBy
		return report, nil
	case r.cfg.ScoreOnly && !k.scorable:
		report.NotRun = "nothing to score"
		return report, nil
	}
	r.files++
	p, err := k.open(ctx, r, path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := r.runFile(ctx, path, p, report); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return report, nil
}

// id returns a unique name for a session or sweep of the current file.
func (r *Runner) id(number int) string {
	return fmt.Sprintf("conformance-%s-%d-%d", r.cfg.Run, r.files, number)
}

// toolHost returns a client of the tool host that owns a session.
func (r *Runner) toolHost(session string) toolhostv1.ToolHostServiceClient {
	return toolhostv1.NewToolHostServiceClient(r.services.ToolHost(session))
}

// loadTools loads the names of the tool host's tools once.
func (r *Runner) loadTools(ctx context.Context) error {
	if r.tools != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	response, err := r.toolHost("").ListTools(ctx, &toolhostv1.ListToolsRequest{})
	if err != nil {
		return fmt.Errorf("list tools: %w", err)
	}
	r.tools = make(map[string]bool)
	for _, info := range response.GetTools() {
		r.tools[info.GetTool().GetExecutionName()] = true
	}
	return nil
}

// missing returns the first tool that the tool host lacks, otherwise "". Call loadTools first.
func (r *Runner) missing(names []string) string {
	if i := slices.IndexFunc(names, func(name string) bool { return !r.tools[name] }); i >= 0 {
		return names[i]
	}
	return ""
}

// worldsFor returns the worlds of a file of tool calls.
func (r *Runner) worldsFor(path string) (map[string]startingWorld, error) {
	name := r.cfg.Worlds
	if name == "" {
		var err error
		if name, err = findWorlds(path, r.cfg.Scenarios); err != nil {
			return nil, err
		}
	}
	if cached, ok := r.worlds[name]; ok {
		return cached, nil
	}
	worlds, err := readWorlds(name)
	if err != nil {
		return nil, err
	}
	r.worlds[name] = worlds
	return worlds, nil
}

// tableText formats rows for a report, each in brackets.
func tableText(rows []*worldv1.Row) string {
	var b strings.Builder
	for i, row := range rows {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteByte('[')
		for j, cell := range row.GetCells() {
			if j > 0 {
				b.WriteString(", ")
			}
			b.WriteString(python.JSON(world.CellValue(cell)))
		}
		b.WriteByte(']')
	}
	if len(rows) == 0 {
		return "no rows"
	}
	return b.String()
}
