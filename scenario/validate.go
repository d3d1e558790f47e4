package scenario

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/internal/timezone"
	"github.com/toolsandbox/toolsandbox/internal/world"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// Problem is a mistake of a canonical scenario.
type Problem struct {
	// Path is the path of the part, e.g. evaluation.milestones.nodes[1].constraints[0].reference.
	Path string
	// Reason states the mistake and the expected value.
	Reason string
}

// endOfYears is the first second of the year 10000 in UTC.
const endOfYears = 253402300800

type checker struct {
	opts     Options
	world    *world.Schema
	problems []Problem
}

func (c *checker) fail(path, format string, args ...any) {
	c.problems = append(c.problems, Problem{path, fmt.Sprintf(format, args...)})
}

// Validate checks a scenario from any source and returns all problems in the order of its parts,
// none if it can be run and scored. It does not change the scenario.
func Validate(s *scenariov1.Scenario, opts Options) []Problem {
	setup := s.GetSetup()
	c := &checker{opts: opts}
	c.schema(s)
	c.modules(setup)
	c.measures(s.GetEvaluation().GetMeasureModules())
	if !form.NameExpression.MatchString(setup.GetName()) {
		c.fail("setup.name", "is %q, expected up to 200 letters, digits, dots, dashes and underscores that start with a letter or digit",
			setup.GetName())
	}
	c.lineage(s.GetLineage())
	c.categories(setup.GetCategories())
	if setup.GetMaxMessages() < 1 {
		c.fail("setup.max_messages", "is %d, expected at least 1", setup.GetMaxMessages())
	}
	c.clock(setup.GetClock())
	c.tables(setup.GetTables())
	c.messages(setup.GetMessages())
	c.demonstrations(setup)
	for i, name := range setup.GetTools().GetAllow() {
		c.tool(fmt.Sprintf("setup.tools.allow[%d]", i), name)
	}
	for i, name := range setup.GetTools().GetDeny() {
		c.tool(fmt.Sprintf("setup.tools.deny[%d]", i), name)
	}
	c.userTools(setup.GetTools().GetUser())
	c.confirm(setup)
	c.descriptions(setup.GetTools().GetDescriptions())
	c.script("setup.user_script", setup.GetUserScript(), func(tool string) string { return c.notUserTool(setup, tool) })
	c.script("setup.oracle_script", setup.GetOracleScript(), func(tool string) string {
		return disallowedReason(setup.GetTools(), tool)
	})
	c.graph(milestonesPath, s.GetEvaluation().GetMilestones(), setup.GetTools())
	c.graph(minefieldsPath, s.GetEvaluation().GetMinefields(), setup.GetTools())
	c.proof(s)
	return c.problems
}

// schema checks the declared tables, which setup and evaluation must share.
func (c *checker) schema(s *scenariov1.Scenario) {
	declared := s.GetSetup().GetSchema()
	if _, err := world.NewSchema(declared); err != nil {
		c.fail("setup.schema", "%v", err)
	}
	if !slices.EqualFunc(declared, s.GetEvaluation().GetSchema(), func(a, b *worldv1.TableSchema) bool { return proto.Equal(a, b) }) {
		c.fail("evaluation.schema", "differs from setup.schema")
	}
	c.world = world.SchemaOrBuiltin(declared)
}

// modules reads the pack's tools unless they are known.
func (c *checker) modules(setup *setupv1.Setup) {
	var mistakes document.Errors
	c.opts, mistakes = c.opts.withSetup(setup)
	for _, mistake := range mistakes {
		c.fail("setup.tool_modules", "%v", mistake)
	}
}

// userTools checks the user's tools.
func (c *checker) userTools(names []string) {
	for i, name := range names {
		path := fmt.Sprintf("setup.tools.user[%d]", i)
		c.tool(path, name)
		switch {
		case name == world.EndTool:
			c.fail(path, "the user always has %s; remove it", world.EndTool)
		case slices.Contains(names[:i], name):
			c.fail(path, "tool %q occurs twice", name)
		}
	}
}

// notUserTool explains why a user may not call a tool, empty if it may. While tools are unknown,
// one of them may need consent.
func (c *checker) notUserTool(setup *setupv1.Setup, tool string) string {
	userTools := append(slices.Clone(setup.GetTools().GetUser()), world.EndTool)
	if len(setup.GetConsentTools()) > 0 {
		userTools = append(userTools, world.AllowTool)
	}
	switch {
	case slices.Contains(userTools, tool), tool == world.AllowTool && c.opts.Known == nil:
		return ""
	case tool == world.AllowTool:
		return fmt.Sprintf("the user has %s only where a tool of the agent needs consent; write @confirm in front of one, or add the augmentation CONFIRMATION", tool)
	}
	return fmt.Sprintf("the user cannot call %q, only %s; list it in user.tools if it should", tool, strings.Join(userTools, ", "))
}

// disallowedReason explains why an agent may not call a tool, empty if it may.
func disallowedReason(tools *setupv1.ToolSelection, tool string) string {
	if len(tools.GetAllow()) > 0 && !slices.Contains(tools.GetAllow(), tool) && whyDenied(tools, tool) == "" {
		return fmt.Sprintf("the agent may not call %q: it is not among the scenario's tools", tool)
	}
	return whyDenied(tools, tool)
}

// whyDenied explains why an agent may not call a tool in any variant, empty if it may in one.
// Distraction adds tools.
func whyDenied(tools *setupv1.ToolSelection, tool string) string {
	switch {
	case tool == world.EndTool, tool == world.AllowTool:
		return fmt.Sprintf("the agent cannot call %s, only the user can", tool)
	case slices.Contains(tools.GetDeny(), tool):
		return fmt.Sprintf("the agent may not call %q: without_tools lists it", tool)
	}
	return ""
}

func (c *checker) categories(categories []string) {
	known := append(knownCategories(), c.opts.Categories...)
	if len(categories) == 0 {
		c.fail("setup.categories", "is empty, expected at least one category")
	}
	for i, name := range categories {
		path := fmt.Sprintf("setup.categories[%d]", i)
		if !slices.Contains(known, name) {
			c.fail(path, "unknown category %q%s", name, cmp.Or(spelling.Hint(name, known), "; categories in pack.yaml lists those of the pack"))
		} else if slices.Contains(categories[:i], name) {
			c.fail(path, "category %s occurs twice (those for augmentations are added by themselves)", name)
		}
	}
}

func (c *checker) clock(clock *setupv1.Clock) {
	if clock == nil || clock.GetTimeZone() == "" {
		c.fail("setup.clock", "has no time zone; start in a world that has a clock, world: NAME, or write one with now and time_zone")
		return
	}
	if _, err := timezone.Load(clock.GetTimeZone()); err != nil {
		c.fail("setup.clock.time_zone", "%q is no time zone, expected an IANA name like America/Los_Angeles", clock.GetTimeZone())
	}
	if reason := badNow(clock.GetNow()); reason != "" {
		c.fail("setup.clock.now", "%s", reason)
	}
	for _, of := range []struct {
		name    string
		seconds float64
	}{{"step", clock.GetStep()}, {"user_turn", clock.GetUserTurn()}, {"agent_turn", clock.GetAgentTurn()}} {
		if !(of.seconds >= 0) || math.IsInf(of.seconds, 0) {
			c.fail("setup.clock."+of.name, "is %v, expected 0 or more seconds", of.seconds)
		}
	}
}

// badNow explains why a conversation cannot begin at a time, empty if it can. Dates have years of
// up to four digits.
func badNow(seconds float64) string {
	if seconds > 0 && seconds < endOfYears {
		return ""
	}
	return fmt.Sprintf("is %s, expected a time from 1970 to 9999", strconv.FormatFloat(seconds, 'f', -1, 64))
}

// tables checks that every table has a version from the first message, and every row the columns of
// its table.
func (c *checker) tables(tables []*worldv1.Table) {
	seen := map[string]int32{}
	for i, table := range tables {
		path := fmt.Sprintf("setup.tables[%d]", i)
		schema, ok := c.world.Table(table.GetName())
		if !ok || table.GetName() == world.Sandbox {
			c.fail(path, "is a version of %s, expected one of the other tables", world.AuthorName(table.GetName()))
			continue
		}
		last, seenBefore := seen[table.GetName()]
		if seenBefore && table.GetIndex() <= last {
			c.fail(path, "version %d of %s comes after version %d", table.GetIndex(), world.AuthorName(table.GetName()), last)
		}
		seen[table.GetName()] = table.GetIndex()
		c.rows(path, schema, table.GetRows())
	}
	for _, schema := range c.world.StoredTables() {
		if _, ok := seen[schema.Name]; !ok {
			c.fail("setup.tables", "%s has no version", world.AuthorName(schema.Name))
		}
	}
}

func (c *checker) rows(path string, schema world.Table, rows []*worldv1.Row) {
	name := world.AuthorName(schema.Name)
	if schema.Name == world.Setting && len(rows) != 1 {
		c.fail(path, "SETTING has %d rows, expected one; start from a world that has it", len(rows))
	}
	events := schema.Name == world.Event && c.world.HasEvents()
	if events && len(rows) > world.MaxEvents {
		c.fail(path, "%d events are scheduled, at most %d may be", len(rows), world.MaxEvents)
	}
	for i, row := range rows {
		at := fmt.Sprintf("%s.rows[%d]", path, i)
		if len(row.GetCells()) != len(schema.Columns) {
			c.fail(at, "a row of %s has %d cells, expected %d", name, len(row.GetCells()), len(schema.Columns))
			continue
		}
		if events {
			if _, err := world.NewEvent(row); err != nil {
				c.fail(at, "%v", err)
				continue
			}
		}
		for j, cell := range row.GetCells() {
			if !world.Fits(cell, schema.Columns[j].Kind) {
				c.fail(fmt.Sprintf("%s.cells[%d]", at, j), "%s.%s must be a %s", name, schema.Columns[j].Name, schema.Columns[j].Kind)
			} else if reason := c.opts.badPhone(schema.Columns[j].Name, cell); reason != "" {
				c.fail(fmt.Sprintf("%s.cells[%d]", at, j), "%s.%s %s", name, schema.Columns[j].Name, reason)
			}
		}
	}
}

// badPhone explains why a cell is not a valid phone number, empty for valid ones and other columns.
// Tools reject other numbers.
func (o Options) badPhone(column string, cell *worldv1.Value) string {
	if !strings.HasSuffix(column, "phone_number") || cell.GetKind() == nil || o.phone(cell.GetText()) {
		return ""
	}
	return fmt.Sprintf("is %q, expected a phone number in international form like +493023125040", spelling.Truncate(cell.GetText()))
}

// messages checks that the last message has a valid recipient and that indices have no gaps.
func (c *checker) messages(messages []*worldv1.Message) {
	if len(messages) == 0 {
		c.fail("setup.messages", "is empty, expected at least the user's first message")
		return
	}
	for i, m := range messages {
		path := fmt.Sprintf("setup.messages[%d]", i)
		if m.GetIndex() != int32(i) {
			c.fail(path, "has index %d, expected %d", m.GetIndex(), i)
		}
		if m.GetSender() == m.GetRecipient() {
			c.fail(path+".recipient", "%s speaks to itself", world.RoleName(m.GetSender()))
		}
		if m.GetRecipient() == worldv1.Role_ROLE_SYSTEM {
			c.fail(path+".recipient", "nobody answers for SYSTEM")
		}
	}
	last := messages[len(messages)-1]
	if last.GetSender() == worldv1.Role_ROLE_SYSTEM {
		c.fail(fmt.Sprintf("setup.messages[%d].sender", len(messages)-1),
			"the last starting message is from SYSTEM, which only configures; expected a message that %s answers",
			world.RoleName(last.GetRecipient()))
	}
}

func (c *checker) tool(path, name string) {
	if !c.opts.isKnownTool(name) {
		c.fail(path, "unknown tool %q%s", name, spelling.Hint(name, c.opts.Tools))
	}
}

// script checks turns. refuse explains why their speaker may not call a tool.
func (c *checker) script(path string, turns []*worldv1.ScriptTurn, refuse func(tool string) string) {
	ids := map[string]bool{}
	for i, turn := range turns {
		at := fmt.Sprintf("%s[%d]", path, i)
		if strings.TrimSpace(turn.GetSay()) == "" && len(turn.GetCalls()) == 0 {
			c.fail(at, "neither says nor calls anything")
		}
		for j, call := range turn.GetCalls() {
			where := fmt.Sprintf("%s.calls[%d]", at, j)
			c.tool(where+".tool", call.GetTool())
			if c.opts.isKnownTool(call.GetTool()) {
				if reason := refuse(call.GetTool()); reason != "" {
					c.fail(where+".tool", "%s", reason)
				}
			}
			switch {
			case call.GetId() == "":
				c.fail(where+".id", "is empty")
			case ids[call.GetId()]:
				c.fail(where+".id", "call id %q is used twice in this script", call.GetId())
			}
			ids[call.GetId()] = true
			arguments := callArguments(call)
			if arguments == nil {
				c.fail(where+".arguments_json", "is no JSON object: %s", spelling.Truncate(call.GetArgumentsJson()))
				continue
			}
			c.arguments(where+".arguments_json", call.GetTool(), arguments, true)
		}
	}
}
