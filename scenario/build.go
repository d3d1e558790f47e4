package scenario

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

const (
	// defaultMaxMessages is the default of max_messages.
	defaultMaxMessages = 30
	// endCallID is the id of the last call of a user script.
	endCallID = "call_end"
)

// builder converts one document to a scenario. It records the source of each part.
type builder struct {
	*reader

	worlds      worlds
	recorded    map[string][]*setupv1.RecordedAnswer
	base        []*worldv1.Table // the world before the scenario's changes
	worldBroken bool             // the world has mistakes, which are reported in its file
	// unlisted is the number of the agent's first tools that are unlisted but called by the oracle.
	unlisted int
	// sources maps paths of the canonical form, as in Problem.Path, to values.
	sources map[string]*document.Value
}

// recordSource records the source of a part of the canonical form.
func (b *builder) recordSource(path string, v *document.Value) {
	if v != nil {
		b.sources[path] = v
	}
}

// sourceOf returns the source of the part at a path, or of the nearest part that contains it.
func (b *builder) sourceOf(path string, whole *document.Value) *document.Value {
	for path != "" {
		if v, ok := b.sources[path]; ok {
			return v
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return whole
}

// report records the problems of the built scenario, except those that follow from mistakes found
// while building it.
func (b *builder) report(problems []Problem, doc *document.Value, reported document.Errors) {
	for _, problem := range problems {
		aboutWorld := strings.HasPrefix(problem.Path, "setup.tables") || strings.HasPrefix(problem.Path, "setup.clock")
		at := b.sourceOf(problem.Path, doc)
		follows := b.worldBroken && aboutWorld || b.isUnlistedTool(problem.Path) || slices.ContainsFunc(reported, func(e *document.Error) bool {
			return isWithin(e.Field, at.Path) || e.Field != "" && isWithin(at.Path, e.Field)
		})
		if !follows {
			b.Fail(at, "%s", problem.Reason)
		}
	}
}

// isUnlistedTool reports whether a path is that of an unlisted tool. Its mistakes are reported at
// the oracle's call.
func (b *builder) isUnlistedTool(path string) bool {
	number, found := strings.CutPrefix(path, "setup.tools.allow[")
	at, err := strconv.Atoi(strings.TrimSuffix(number, "]"))
	return found && err == nil && at < b.unlisted
}

// isWithin reports whether a field path equals another or is inside it.
func isWithin(path, parent string) bool {
	rest, ok := strings.CutPrefix(path, parent)
	return ok && (parent == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}

// scenario builds the scenario under a name, nil if it is not a mapping.
func (b *builder) scenario(f document.Field) *scenariov1.Scenario {
	isField := func(inner document.Field) bool { return form.Scenario().Has(inner.Key) }
	if form.Scenario().Has(f.Key) && !slices.ContainsFunc(f.Value.Fields, isField) {
		b.Fail(f.Position, "is a field of a scenario, and stands under the name of one, indented by two spaces")
		return nil
	}
	v := b.object(f.Value, form.Scenario())
	if v == nil {
		return nil
	}
	start := b.start(v)
	b.resolveTimes(v, start.clock)
	b.resolveNames(v, start)
	oracle := b.script(v.Get("oracle"), form.OracleTurn(), "setup.oracle_script")
	tools := b.tools(v, oracle)
	messages, user := b.messages(v, tools.GetUser())
	setup := &setupv1.Setup{
		Name:         f.Key,
		Categories:   b.Texts(v.Get("categories")),
		MaxMessages:  defaultMaxMessages,
		Tools:        tools,
		Messages:     messages,
		OracleScript: oracle,
		Recordings:   b.recordings(v.Get("recordings")),
	}
	if limit := v.Get("max_messages"); limit != nil {
		setup.MaxMessages = int32(b.Integer(limit, 1, messageLimit))
	}
	if seed := v.Get("seed"); seed != nil {
		setup.Seed = b.Integer(seed, -1<<53, 1<<53)
	}
	setup.Clock, setup.Tables = start.clock, start.versions()
	if user := v.Get("user"); user != nil && user.Shape == document.ShapeMapping {
		setup.UserScript = b.script(b.Singleton(user.Get("script"), "say"), form.Turn(), "setup.user_script")
	}
	setup.UserScript = endScript(setup.GetUserScript())
	for i := range setup.GetCategories() {
		b.recordSource("setup.categories["+strconv.Itoa(i)+"]", v.Get("categories").List[i])
	}
	setup.Categories = append(setup.GetCategories(), solutionCategories(setup)...)
	setup.Categories = append(setup.GetCategories(), AugmentationCategories(setup.GetTools().GetAugmentations())...)
	b.recordSource("setup.name", f.Position)
	b.recordFieldSources(v)
	built := &scenariov1.Scenario{
		Setup: setup, Notes: b.Text(v.Get("notes")), Evaluation: b.evaluation(v, start, setup, user), Proof: b.proof(v),
	}
	if suffix := variantSuffix(f.Key); suffix != "" && IsBase(built) {
		b.Fail(f.Position, "ends in %s, as the names of variants do, by which scores cluster: take another name, or list its augmentations", suffix)
	}
	if suffix := trialSuffix.FindString(f.Key); suffix != "" {
		b.Fail(f.Position, "ends in %s, as the names of trials do, by which their scenarios are found: take another name", suffix)
	}
	return built
}

// trialSuffix is the end of the name of a rollout in a run of several trials.
var trialSuffix = regexp.MustCompile(`_trial_[0-9]+$`)

// recordFieldSources records the sources of fields that become a part of the same kind.
func (b *builder) recordFieldSources(v *document.Value) {
	for path, key := range map[string]string{
		"setup.clock": "clock", "setup.tables": "tables", "setup.categories": "categories",
		"setup.messages": "messages", "setup.tools": "tools", "setup.user_script": "user",
		"setup.oracle_script": "oracle", "evaluation.milestones": "milestones", "evaluation.minefields": "minefields",
		"proof.max_idle_score": "max_idle_score", "proof.orders": "orders",
	} {
		b.recordSource(path, v.Get(key))
	}
}

// start returns the starting world of the scenario.
func (b *builder) start(v *document.Value) *startWorld {
	start := emptyWorld(b.schema)
	if name := v.Get("world"); b.CheckShape(name, document.ShapeText) {
		if base := b.world(name); base != nil {
			start = base.clone()
			b.worldBroken = base.broken
		} else {
			b.worldBroken, start.broken = true, true
		}
	}
	b.clock(v.Get("clock"), start.clock)
	b.recomputeWorld(start, v.Get("clock"))
	b.base = start.versions()
	b.tables(v.Get("tables"), start)
	b.budget.Count(b.Reader, v, start.rowCount())
	return start
}

// world returns a world by its name, nil if there is none.
func (b *builder) world(name *document.Value) *startWorld {
	if isPhoneWorld(name.Text) {
		return b.worlds.phone.world(b.reader, name)
	}
	base := b.worlds.own[name.Text]
	if base == nil {
		failWorld(b.Reader, name, maps.Keys(b.worlds.own))
	}
	return base
}

// tools reads the tools of the agent besides those that the oracle calls, and the user's own tools.
// The user always has the tool that ends the conversation.
func (b *builder) tools(v *document.Value, oracle []*worldv1.ScriptTurn) *setupv1.ToolSelection {
	selection := &setupv1.ToolSelection{Deny: b.toolList(v.Get("without_tools"))}
	extra := v.Get("extra_tools")
	all := extra != nil && extra.Shape == document.ShapeText && extra.Text == form.AllTools
	if !all {
		listed := b.extraTools(extra)
		unlisted := slices.DeleteFunc(calledTools(oracle), func(tool string) bool {
			return slices.Contains(listed, tool) || slices.Contains(selection.GetDeny(), tool)
		})
		selection.Allow, b.unlisted = slices.Concat(unlisted, listed), len(unlisted)
		for i := range listed {
			b.recordSource("setup.tools.allow["+strconv.Itoa(len(unlisted)+i)+"]", extra.List[i])
			if slices.Contains(selection.GetDeny(), listed[i]) && !isInherited(v, extra) {
				b.Fail(extra.List[i], "is %q, which without_tools takes away in every variant; expected it in one of them", listed[i])
			}
		}
		if !slices.Contains(selection.GetAllow(), world.EndTool) {
			selection.Allow = append(selection.GetAllow(), world.EndTool)
		}
	}
	if user := v.Get("user"); user != nil && user.Shape == document.ShapeMapping {
		selection.User = b.Texts(user.Get("tools"))
		for i := range selection.GetUser() {
			b.recordSource("setup.tools.user["+strconv.Itoa(i)+"]", user.Get("tools").List[i])
		}
	}
	for i := range selection.GetDeny() {
		b.recordSource("setup.tools.deny["+strconv.Itoa(i)+"]", v.Get("without_tools").List[i])
	}
	selection.Augmentations = b.augmentations(v.Get("augmentations"), all)
	return selection
}

// isInherited reports whether a field of an extension comes from the scenario that it extends. Such
// a field may be without effect.
func isInherited(v, field *document.Value) bool {
	at := v.Get(extendsKey)
	return at != nil && at.Line == field.Line && at.Column == field.Column
}

// toolList reads a list of tools that the agent may have.
func (b *builder) toolList(v *document.Value) []string {
	tools := b.Texts(v)
	for i, tool := range tools {
		switch {
		case tool == world.EndTool:
			b.Fail(v.List[i], "the user always has %s, and the agent never; remove it", tool)
		case slices.Contains(tools[:i], tool):
			b.Fail(v.List[i], "tool %q occurs twice", tool)
		}
	}
	return tools
}

// augmentations reads how tools are shown. all is set if the agent has all tools anyway.
func (b *builder) augmentations(v *document.Value, all bool) []setupv1.Augmentation {
	var read []setupv1.Augmentation
	for _, item := range b.Items(v) {
		if !b.CheckShape(item, document.ShapeText) {
			continue
		}
		augmentation := setupv1.Augmentation(setupv1.Augmentation_value[form.AugmentationPrefix+item.Text])
		level := slices.IndexFunc(read, isDistraction)
		switch {
		case augmentation == setupv1.Augmentation_AUGMENTATION_UNSPECIFIED:
			b.Fail(item, "unknown augmentation %q%s", item.Text, spelling.Hint(item.Text, form.Augmentations()))
			continue
		case level >= 0 && isDistraction(augmentation):
			b.Fail(item, "is %s beside %s, expected one level of distraction", item.Text, augmentationText(read[level]))
		case all && isDistraction(augmentation):
			b.Fail(item, "is %s, but with extra_tools: %s there are no more tools to add", item.Text, form.AllTools)
		}
		read = append(read, augmentation)
	}
	return read
}

// extraTools reads the tools besides those that the oracle calls.
func (b *builder) extraTools(v *document.Value) []string {
	if v != nil && v.Shape == document.ShapeText {
		b.Fail(v, "is %q, expected %s or a list of tools", spelling.Truncate(v.Text), form.AllTools)
		return nil
	}
	return b.toolList(v)
}

// calledTools returns the tools that a script calls, in the order of their first calls.
func calledTools(script []*worldv1.ScriptTurn) []string {
	var tools []string
	for call := range Calls(script...) {
		if tool := call.GetTool(); tool != world.EndTool && tool != "" && !slices.Contains(tools, tool) {
			tools = append(tools, tool)
		}
	}
	return tools
}

// recordings reads recorded answers of external services.
func (b *builder) recordings(v *document.Value) []*setupv1.RecordedAnswer {
	var out []*setupv1.RecordedAnswer
	for _, item := range b.Items(v) {
		if item.Shape == document.ShapeMapping && item.Get("file") != nil {
			out = append(out, b.sharedRecordings(item)...)
		} else if answer := readRecording(b.Reader, item); answer != nil {
			out = append(out, answer)
		}
	}
	return out
}

// sharedRecordings returns the answers in a file of recordings/.
func (b *builder) sharedRecordings(v *document.Value) []*setupv1.RecordedAnswer {
	name := b.object(v, form.SharedRecording()).Get("file")
	if !b.CheckShape(name, document.ShapeText) {
		return nil
	}
	answers, ok := b.recorded[name.Text]
	if !ok {
		b.Fail(name, "there is no recordings/%s.yaml%s", name.Text, spelling.Hint(name.Text, slices.Sorted(maps.Keys(b.recorded))))
	}
	return answers
}

// readRecording reads one answer, nil if it is not a mapping.
func readRecording(r *document.Reader, v *document.Value) *setupv1.RecordedAnswer {
	if form.Recording().Read(r, v) == nil {
		return nil
	}
	answer := &setupv1.RecordedAnswer{Url: r.Text(v.Get("url"))}
	if params := v.Get("params"); r.CheckShape(params, document.ShapeMapping) {
		answer.ParamsJson = document.JSON(params)
	}
	if response := v.Get("response"); response != nil {
		answer.ResponseJson = document.JSON(response)
	}
	return answer
}

// endScript returns a user script that ends the conversation.
func endScript(turns []*worldv1.ScriptTurn) []*worldv1.ScriptTurn {
	if len(turns) > 0 && hasCall(turns[len(turns)-1], world.EndTool) {
		return turns
	}
	return append(turns, endTurn())
}

func endTurn() *worldv1.ScriptTurn {
	return &worldv1.ScriptTurn{Calls: []*worldv1.ToolCall{{Id: proto.String(endCallID), Tool: world.EndTool, ArgumentsJson: "{}"}}}
}

// evaluation reads both graphs.
func (b *builder) evaluation(v *document.Value, start *startWorld, setup *setupv1.Setup, user *evaluationv1.User) *evaluationv1.Evaluation {
	evaluation := &evaluationv1.Evaluation{
		User:       user,
		Milestones: b.graph(b.milestones(v), v.Get("guardrails"), milestonesPath, start),
		Minefields: b.graph(b.nodeEntries(v.Get("minefields")), v.Get("guardrails"), minefieldsPath, start),
	}
	addFinalGuardrails(b.schema, evaluation.GetMilestones(), slices.Concat(setup.GetOracleScript(), setup.GetUserScript(), userToolCalls(setup.GetTools())))
	return evaluation
}
