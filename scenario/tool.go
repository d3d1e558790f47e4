package scenario

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	"github.com/toolsandbox/toolsandbox/internal/parameter"
	"github.com/toolsandbox/toolsandbox/internal/ported/rouge"
	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// toolShape describes a tool for checks.
type toolShape struct {
	parameters []parameter.Parameter
	names      []string // sorted
	readOnly   bool
}

// OptionsFor returns options for a list of tools: names, arguments and whether they can change the
// world. The error names a tool whose parameters are not a JSON Schema.
func OptionsFor(tools []*toolhostv1.ToolInfo) (Options, error) { return Options{}.withTools(tools) }

// withTools returns options with these tools only.
func (o Options) withTools(tools []*toolhostv1.ToolInfo) (Options, error) {
	shapes := make(map[string]*toolShape, len(tools))
	o.Tools, o.Backends = nil, nil
	for _, info := range tools {
		name := info.GetTool().GetName()
		parameters, err := parameter.Read(info.GetTool().GetParametersJson())
		if err != nil {
			return Options{}, fmt.Errorf("parameters of tool %s: %w", name, err)
		}
		shape := &toolShape{parameters: parameters, readOnly: info.GetReadOnly()}
		for _, p := range parameters {
			shape.names = append(shape.names, p.Name)
		}
		slices.Sort(shape.names)
		shapes[name] = shape
		if backend := info.GetBackend(); backend != "" && !slices.Contains(o.Backends, backend) {
			o.Backends = append(o.Backends, backend)
		}
		o.Tools = append(o.Tools, name)
	}
	o.shapes, o.Known = shapes, func(tool string) bool { return shapes[tool] != nil }
	return o, nil
}

// withSetup returns options with the tools of a setup.
func (o Options) withSetup(setup *setupv1.Setup) (Options, document.Errors) {
	modules, backend, standalone := setup.GetToolModules(), setup.GetToolBackend(), isStandalone(setup.GetSchema())
	same := slices.EqualFunc(o.modules, modules, func(a, b *setupv1.ToolModule) bool { return a == b || proto.Equal(a, b) }) &&
		slices.EqualFunc(o.servers, setup.GetToolServers(), func(a, b *setupv1.ToolServer) bool { return a == b || proto.Equal(a, b) })
	if o.Compile == nil || same && o.standalone == standalone && o.backend == backend {
		return o, nil
	}
	tools, confirm, mistakes := o.Compile(setup)
	if len(mistakes) > 0 {
		return o, mistakes
	}
	opts, err := o.withTools(tools)
	if err != nil {
		return o, document.Errors{{File: form.ToolFolder, Line: 1, Column: 1, Reason: err.Error()}}
	}
	opts.modules, opts.servers, opts.standalone, opts.backend, opts.moduleConsentTools = modules, setup.GetToolServers(), standalone, backend, confirm
	return opts, nil
}

// isStandalone reports whether a pack with these tables is standalone.
func isStandalone(declared []*worldv1.TableSchema) bool {
	return len(declared) > 0 && declared[0].GetName() == world.Sandbox
}

// arguments checks the arguments of a call, or with whole unset the minimum arguments of a wanted
// call. It checks only described tools.
func (c *checker) arguments(path, tool string, arguments *python.Dict, whole bool) {
	shape := c.opts.shapes[tool]
	if shape == nil {
		return
	}
	unknown := false
	items := slices.SortedFunc(slices.Values(arguments.Items()), func(a, b python.Item) int { return cmp.Compare(a.Key, b.Key) })
	for _, item := range items {
		name := item.Key
		at := slices.IndexFunc(shape.parameters, func(p parameter.Parameter) bool { return p.Name == name })
		switch {
		case at < 0 && len(shape.names) == 0:
			unknown = true
			c.fail(path, "%s takes no arguments, so none is called %q", tool, name)
		case at < 0:
			unknown = true
			c.fail(path, "%s has no argument %q%s", tool, name, spelling.Hint(name, shape.names))
		case shape.parameters[at].Type != "" && !fitsType(item.Value, shape.parameters[at].Type):
			hint := ""
			if _, isNumber := item.Value.Number(); isNumber && shape.parameters[at].Type == "string" {
				hint = " (quote it)"
			}
			c.fail(path, "argument %s of %s is %s, expected %s%s", name, tool, spelling.Truncate(python.JSON(item.Value)), article(shape.parameters[at].Type), hint)
		}
	}
	for _, p := range shape.parameters {
		if _, ok := arguments.Get(p.Name); whole && p.Required && !ok && !unknown { // a misspelt one may be meant
			c.fail(path, "%s needs the argument %q", tool, p.Name)
		}
	}
}

// callArguments returns the arguments of a call, nil if they are no JSON object.
func callArguments(call *worldv1.ToolCall) *python.Dict {
	arguments, err := python.ParseJSON(call.GetArgumentsJson())
	if err != nil {
		return nil
	}
	dict, _ := arguments.AsDict()
	return dict
}

// descriptions checks replacements for texts of tools.
func (c *checker) descriptions(texts []*setupv1.ToolDescription) {
	seen := map[string]bool{}
	for i, text := range texts {
		path := fmt.Sprintf("setup.tools.descriptions[%d]", i)
		c.tool(path, text.GetTool())
		if text.GetTool() == world.AllowTool {
			c.fail(path, "%s says which tools need consent, and has no other text; leave it out", world.AllowTool)
		}
		if seen[text.GetTool()] {
			c.fail(path, "%s is described twice", text.GetTool())
		}
		seen[text.GetTool()] = true
		shape := c.opts.shapes[text.GetTool()]
		for j, argument := range text.GetArguments() {
			if shape != nil && !slices.Contains(shape.names, argument.GetName()) {
				c.fail(fmt.Sprintf("%s.arguments[%d]", path, j), "%s has no argument %q%s", text.GetTool(), argument.GetName(),
					spelling.Hint(argument.GetName(), shape.names))
			}
		}
	}
}

func article(kind string) string {
	if strings.ContainsAny(kind[:1], "aio") {
		return "an " + kind
	}
	return "a " + kind
}

// fitsType reports whether a value has a JSON Schema type. None has every type.
func fitsType(v python.Value, kind string) bool {
	switch v.Kind() {
	case python.KindNone:
		return true
	case python.KindStr:
		return kind == "string"
	case python.KindBool:
		return kind == "boolean"
	case python.KindInt:
		return kind == "number" || kind == "integer"
	case python.KindFloat:
		f, _ := v.AsFloat()
		return kind == "number" || kind == "integer" && f == math.Trunc(f)
	case python.KindList:
		return kind == "array"
	case python.KindDict:
		return kind == "object"
	default:
		return false
	}
}

// reachable checks that the tools can reach a node: a milestone with the scenario's tools, a
// minefield with the tools of any variant.
func (c *checker) reachable(path string, tools *setupv1.ToolSelection, constraint *evaluationv1.Constraint, compiled *evaluation.Constraint) {
	refuse := whyDenied
	if strings.HasPrefix(path, milestonesPath) {
		refuse = disallowedReason
	}
	for i, row := range compiled.Target {
		for j := range row {
			at, source := fmt.Sprintf("%s.target[%d].cells[%d]", path, i, j), constraint.GetTarget()[i].GetCells()[j]
			c.callable(at, tools, row[j].Traces, refuse)
			text, isText := source.GetValue().GetKind().(*worldv1.Value_Text)
			switch {
			case !isText:
			case source.GetColumn() == "content" && strings.TrimSpace(text.Text) == "":
				c.fail(at, "wants an empty text, which nobody says")
			case row[j].Measure == evaluationv1.ColumnMeasure_COLUMN_MEASURE_ROUGE_L && row[j].Column != compiled.FillColumn && len(rouge.Tokenize(text.Text)) == 0:
				c.fail(at, "is %q, which no text resembles by rouge_l: it compares words of the letters a to z and of digits; override it with contains or exact",
					spelling.Truncate(text.Text))
			}
		}
	}
	switch constraint.GetMeasure() { // other measures need no change
	case evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_ADDITION, evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_REMOVAL,
		evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_UPDATE:
		if c.onlyReads(tools) && strings.HasPrefix(path, milestonesPath) {
			c.fail(path, "wants a change, but none of the scenario's tools changes anything")
		}
	}
}

// callable checks that the agent can make one of the wanted calls.
func (c *checker) callable(path string, tools *setupv1.ToolSelection, wanted []evaluation.Trace, refuse func(*setupv1.ToolSelection, string) string) {
	var reason string
	for _, t := range wanted {
		if t.Arguments == nil || !c.opts.isKnownTool(t.Tool) {
			return // another check records the mistake
		}
		if reason = refuse(tools, t.Tool); reason == "" {
			return
		}
	}
	if reason != "" {
		c.fail(path, "cannot be reached: %s", reason)
	}
}

// onlyReads reports whether no tool of the agent or the user changes the world.
func (c *checker) onlyReads(tools *setupv1.ToolSelection) bool {
	for _, name := range slices.Concat(tools.GetAllow(), tools.GetUser()) {
		if shape := c.opts.shapes[name]; name != world.EndTool && (shape == nil || !shape.readOnly) {
			return false
		}
	}
	return len(tools.GetAllow()) > 0
}
