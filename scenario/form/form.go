// Package form is the table of all fields of a pack's files. The reader, the order of fields in
// canonical text and the JSON Schema for editors all follow from it.
package form

import (
	"cmp"
	"slices"
	"sync"

	"github.com/toolsandbox/toolsandbox/internal/world"
)

// Form describes a mapping of the format, for the reader and for JSONSchema.
type Form struct {
	fields []Field
	// exactlyOne requires exactly one of the fields, besides those in additional.
	exactlyOne bool
	additional []string
	// replaceable are the fields that a tool with its arguments can replace. It is empty if the
	// mapping is not a call.
	replaceable []string
}

// Field is one field of a mapping.
type Field struct {
	name string
	// Type is the type of the value: a form or a primitive of the schema. "a|b" is either, "[a]"
	// a list, "{a}" a mapping from names to a.
	Type string
	// doc describes the field in one sentence.
	doc      string
	required bool
}

// field returns a field by name, the zero field if it is missing.
func (f Form) field(name string) Field {
	at := slices.IndexFunc(f.fields, func(field Field) bool { return field.name == name })
	if at < 0 {
		return Field{}
	}
	return f.fields[at]
}

// Has reports whether the form has a field.
func (f Form) Has(name string) bool { return f.field(name).name != "" }

// Names returns the names of the fields in the usual order.
func (f Form) Names() []string {
	names := make([]string, len(f.fields))
	for i := range f.fields {
		names[i] = f.fields[i].name
	}
	return names
}

// choices returns the fields of which a mapping has exactly one.
func (f Form) choices() []string {
	return slices.DeleteFunc(f.Names(), func(name string) bool { return slices.Contains(f.additional, name) })
}

// forms returns every form by its name.
func forms(schema *world.Schema) map[string]Form {
	all := map[string]Form{
		"scenario": Scenario(), "world": World(), "clock": Clock(), "user": User(),
		"demonstration": Demonstration(), "shownCall": ShownCall(), "message": Message(), "turn": Turn(), "oracleTurn": OracleTurn(), "oracleCall": OracleCall(), "call": Call(),
		"recording": Recording(), "sharedRecording": SharedRecording(), "guardrails": Guardrails(),
		"milestone": Node(), "minefield": Minefield(), "constraint": Constraint(), "wantedCall": WantedCall(),
		"override": Override(), "tables": tablesForm(schema), "pack": Pack(), "needs": Needs(), "toolServer": ToolServer(), "schema": Schema(), "declaredTable": DeclaredTable(), "declaredColumn": DeclaredColumn(), "toolText": ToolText(),
		"expression": Expression(), "wantedTable": WantedTable(schema),
	}
	for _, table := range schema.Tables() {
		name := world.AuthorName(table.Name)
		all[rowPrefix+name] = rowForm(table)
		if table.Name != world.Sandbox {
			all[editPrefix+name] = Edit(name)
			all[changePrefix+name] = Change(name)
		}
	}
	return all
}

// Scenario is a scenario below its name.
var Scenario = sync.OnceValue(func() Form {
	return Form{fields: []Field{
		{"notes", "text", "For other authors; no role ever sees it.", false},
		{"extends", "text", "Name of the scenario of this pack that this one rewords or changes; its milestones and minefields stay.", false},
		{"max_idle_score", "similarity", "Highest similarity of an agent that does nothing useful; 0.35 if left out.", false},
		{"world", "text", "Name of the world in worlds/ that the scenario starts in, or phone/NAME for one of the phone.", false},
		{"clock", "clock", "Changes to the world's clock for this scenario alone.", false},
		{"tables", "tables", "Changes to the world's tables for this scenario alone.", false},
		{"seed", "wholeNumber", "Seed of row ids; 0 by default.", false},
		{"categories", "[category]", "What the task is about, beside what follows from its solution; those of variants are added by themselves.", false},
		{"max_messages", "limit", "Limit beyond the starting messages; 30 by default.", false},
		{"extra_tools", "all|[label]", "Real names of the tools that the agent gets beside those that the oracle calls, or all.", false},
		{"without_tools", "[label]", "Real names of tools that are taken away in every variant.", false},
		{"augmentations", "[augmentation]", "How tools are shown, for a scenario that has no variants.", false},
		{"system", "text", "What the agent is told first, instead of the default.", false},
		{"user", "user", "What the simulated user wants, knows and says.", false},
		{"messages", "[message]", "The starting messages, instead of system, user.goal and user.says.", false},
		{"oracle", "[oracleTurn]", "A solution, turn by turn; it should score 1.", false},
		{"orders", "[order]", "Other orders of the oracle's turns that solve the task as well, as their numbers from 1.", false},
		{"recordings", "[anyRecording]", "Answers of external services.", false},
		{"guardrails", "guardrails", "Which tables automatic guardrails guard.", false},
		{"milestones", "{milestone|nothing}", "What must happen, by name, beside the milestones of the oracle's turns.", false},
		{"minefields", "{minefield}", "What must not happen, by name.", false},
	}}
})

// World is the document of a world file.
var World = sync.OnceValue(func() Form {
	return Form{fields: []Field{
		{"notes", "text", "For other authors; no role ever sees it.", false},
		{"extends", "text", "Name of the world that this one changes, or phone/NAME for one of the phone.", false},
		{"clock", "clock", "The time at the first message.", false},
		{"tables", "tables", "The rows of each table.", false},
	}}
})

// Clock is the clock of a world or scenario.
var Clock = sync.OnceValue(func() Form {
	return Form{fields: []Field{
		{"now", "time", "Local time like 2025-03-14T09:15, or POSIX seconds.", false},
		{"time_zone", "text", "IANA name, e.g. America/Los_Angeles.", false},
		{"step", "amount", "Seconds by which each message advances the clock.", false},
		{"user_turn", "amount", "Seconds that each turn of the user takes.", false},
		{"agent_turn", "amount", "Seconds that each turn of the agent takes.", false},
	}}
})

// User is the simulated user.
var User = sync.OnceValue(func() Form {
	return Form{fields: []Field{
		{"goal", "text", "What the simulated user wants.", false},
		{"knowledge", "text|[text]", "What the user may tell when asked.", false},
		{"unknown", "text|[text]", "What the user does not know: her last name, where you are.", false},
		{"demonstrations", "[demonstration]", "An example conversation that only a simulated user sees.", false},
		{"tools", "[label]", "Real names of tools that the user has of its own, on the same world; end_conversation comes by itself.", false},
		{"says", "text", "The first message.", false},
		{"script", "text|[turn]", "What the scripted user says after the first message.", false},
	}}
})

// Demonstration is a step of an example conversation.
var Demonstration = sync.OnceValue(func() Form {
	return Form{exactlyOne: true, fields: []Field{
		{"user", "text", "What the user says.", false},
		{"calls", "[shownCall]", "Calls that the user makes itself, with their answers; more than one are one parallel batch.", false},
		{"agent", "text", "What the agent says.", false},
		{"end", "yes", "The user ends the conversation.", false},
	}}
})

// ShownCall is a call of a demonstration.
var ShownCall = sync.OnceValue(func() Form {
	return Form{replaceable: []string{ToolKey, ArgumentsKey}, fields: []Field{
		{ToolKey, "text", "The tool's real name, one of user.tools, unless it stands before its arguments.", true},
		{ArgumentsKey, "object", "The arguments as a model would write them.", false},
		{"answer", "text", "What the environment prints, e.g. None or True.", true},
		{"failed", "yes", "The answer is an error.", false},
	}}
})

// Message is a starting message.
var Message = sync.OnceValue(func() Form {
	return Form{fields: []Field{
		{"from", "role", "Who speaks.", true},
		{"to", "role", "Who is spoken to.", true},
		{"content", "text", "What is said.", true},
		{"visible_to", "[role]", "Who may read it; sender and recipient by default.", false},
	}}
})

// Turn is a turn of a script.
var Turn = sync.OnceValue(func() Form {
	return Form{exactlyOne: true, replaceable: []string{"say", CallsKey, "end"}, fields: []Field{
		{"say", "text", "A text for the other side.", false},
		{CallsKey, "[anyCall]", "Calls; more than one are one parallel batch.", false},
		{"end", "yes", "The user ends the conversation.", false},
	}}
})

// OracleTurn is a turn of the solution.
var OracleTurn = sync.OnceValue(func() Form {
	turn := Form{exactlyOne: true, replaceable: Turn().replaceable, additional: []string{MilestoneKey, TolerancesKey}}
	turn.fields = append(slices.Clone(Turn().fields), milestoneFields()...)
	for i := range turn.fields {
		if turn.fields[i].name == CallsKey {
			turn.fields[i].Type = "[anyOracleCall]"
		}
	}
	return turn
})

// OracleCall is one of several calls in a turn of the solution.
var OracleCall = sync.OnceValue(func() Form {
	return Form{replaceable: Call().replaceable, fields: append(slices.Clone(Call().fields), milestoneFields()...)}
})

// milestoneFields are the fields that make a text or a call a milestone.
func milestoneFields() []Field {
	return []Field{
		{TolerancesKey, "tolerances", "Largest difference that the call's milestone accepts, by argument.", false},
		{MilestoneKey, "text", "Name of the milestone that this text, or this one call, is by itself. The last text is told unless it is none.", false},
	}
}

// Call is a call of a script.
var Call = sync.OnceValue(func() Form {
	return Form{replaceable: []string{ToolKey, ArgumentsKey}, fields: []Field{
		{"id", "text", "Unique in the script; call_1, call_2, … by default.", false},
		{ToolKey, "text", "The tool's real name, unless it stands before its arguments.", true},
		{ArgumentsKey, "object", "The arguments as a model would write them.", false},
	}}
})

// Recording is a recorded answer.
var Recording = sync.OnceValue(func() Form {
	return Form{fields: []Field{
		{"url", "text", "Full URL of the request, without parameters.", true},
		{"params", "object", "The request's parameters.", true},
		{"response", "anything", "The body of the answer.", true},
	}}
})

// SharedRecording names a file of recorded answers.
var SharedRecording = sync.OnceValue(func() Form {
	return Form{fields: []Field{
		{"file", "text", "Name of a file in recordings/ whose answers are used, without .yaml.", true},
	}}
})

// Guardrails are the tables of automatic guardrails.
var Guardrails = sync.OnceValue(func() Form {
	return Form{exactlyOne: true, fields: []Field{
		{"only", "[table]", "Guard these tables only; none listed guards none.", false},
		{"except", "[table]", "Guard all tables but these.", false},
	}}
})

// Node is a milestone below its name: one constraint, or a list of constraints.
var Node = sync.OnceValue(func() Form {
	return Form{fields: append([]Field{
		{"after", "[label]", "Names of those that come before; the one written before it by default.", false},
		{"guardrails", "guardrails", "Which tables automatic guardrails guard here.", false},
		{"constraints", "[constraint]", "Several constraints that hold at the same message.", false},
	}, Constraint().fields...)}
})

// Minefield is a minefield below its name.
var Minefield = sync.OnceValue(func() Form {
	return Form{fields: append(slices.Clone(Node().fields),
		Field{"triggered_by", "[turn]", "What the agent does to step on it, where its constraints do not tell.", false},
	)}
})

// Constraint is a constraint of a milestone or minefield.
var Constraint = sync.OnceValue(func() Form {
	return Form{fields: []Field{
		{"says", "text", "The agent tells the user something like it.", false},
		{"call", "wantedCall|toolName|[anyWantedCall]", "A call that succeeded, or any of several.", false},
		{"snapshot", "wantedTable", "The rows of a table as it is.", false},
		{"addition", "wantedTable", "Rows that a table has got since the reference, or the start.", false},
		{"update", "wantedTable", "Rows that have changed since the reference, or the start, as they are now.", false},
		{"removal", "wantedTable", "Rows that have gone since the reference, or the start.", false},
		{"table", "table", "The table that is compared.", false},
		{"measure", "measure", "How it is compared; snapshot by default.", false},
		{"reference", "text", "Name of one that comes before, or start.", false},
		{"expect", "row|[row]", "The wanted row or rows; columns left out do not matter.", false},
		{"overrides", "overrides", "Measures other than the columns' defaults.", false},
		{"into", "into", "For derived: the column that extracted values fill.", false},
		{"extractor", "text|expression", "For derived: the name of the extractor, or one as an expression.", false},
	}}
})

// Expression is an expression, which represents its value.
var Expression = sync.OnceValue(func() Form {
	return Form{fields: []Field{
		{ExpressionKey, "text", "A time relative to now, or an extractor, as a Python expression.", true},
	}}
})

// WantedCall is a call in a constraint.
var WantedCall = sync.OnceValue(func() Form {
	return Form{replaceable: []string{ToolKey, ArgumentsKey}, fields: []Field{
		{ToolKey, "text", "The tool's real name, unless it stands before its arguments.", true},
		{ArgumentsKey, "object", "Arguments that the call has at least.", false},
		{TolerancesKey, "tolerances", "Largest accepted difference, by argument.", false},
	}}
})

// Override is the measure of a column in a constraint.
var Override = sync.OnceValue(func() Form {
	return Form{fields: []Field{
		{"measure", "columnMeasure", "How the column is compared.", true},
		{TolerancesKey, "tolerances", "Largest accepted difference, by column or argument.", false},
	}}
})

const (
	rowPrefix    = "row_"
	editPrefix   = "edit_"
	changePrefix = "change_"
)

// tablesForm maps tables to rows, or to changes of rows.
func tablesForm(schema *world.Schema) Form {
	var f Form
	for _, table := range schema.StoredTables() {
		name := world.AuthorName(table.Name)
		f.fields = append(f.fields, Field{
			name, "[" + rowPrefix + name + "]|" + editPrefix + name, "A list of rows replaces the table, a mapping changes it.", false,
		})
	}
	return f
}

// Edit is a change of a table.
func Edit(table string) Form {
	row := rowPrefix + table
	return Form{fields: []Field{
		{"remove", "[" + row + "]", "Rows with these cells go.", false},
		{"change", "[" + changePrefix + table + "]", "Rows with some cells get others.", false},
		{"set", row, "Cells of every row.", false},
		{"add", "[" + row + "]", "New rows.", false},
	}}
}

// Change is an entry of change in a changed table.
func Change(table string) Form {
	row := rowPrefix + table
	return Form{fields: []Field{
		{"where", row, "Cells that the rows have.", true},
		{"set", row, "Cells that they get.", true},
	}}
}

// rowForm is a row of a table. Missing columns have their default.
func rowForm(table world.Table) Form {
	var f Form
	for _, column := range table.Columns {
		holds := map[world.Kind]string{
			world.KindText: "textCell", world.KindNumber: "numberCell", world.KindBool: "booleanCell", world.KindTexts: "anything",
		}[column.Kind]
		f.fields = append(f.fields, Field{column.Name, holds, cmp.Or(column.Description, "A "+column.Kind.String()+"."), false})
	}
	return f
}

// Pack is the document of pack.yaml.
var Pack = sync.OnceValue(func() Form {
	return Form{fields: []Field{
		{"name", "name", "What the pack is called.", true},
		{"version", "version", "Its version, as in 1.4.0.", false},
		{"licence", "text", "The terms under which others may use it, as an SPDX identifier.", false},
		{"description", "text", "What it is about.", false},
		{"standalone", "yes", "The pack has none of the built-in tools and tables.", false},
		{"original", "yes", "Its scenarios are the original's: run then has the original's defaults.", false},
		{"categories", "[packCategory]", "Categories that its scenarios may have beside the built-in ones.", false},
		{"tools", "[toolServer]", "Servers whose tools the pack has beside those in its files.", false},
		{"needs", "needs", "What has to be there before its scenarios are played.", false},
	}}
})

// Needs is what a pack needs.
var Needs = sync.OnceValue(func() Form {
	return Form{fields: []Field{
		{"environment", "[label]", "Names of environment variables that are set, such as those with keys.", false},
		{"commands", "[label]", "Names of programs that are on the PATH.", false},
	}}
})

// ToolText is an entry of tools.yaml.
var ToolText = sync.OnceValue(func() Form {
	return Form{fields: []Field{
		{"description", "text", "What agents are told that the tool does.", false},
		{"arguments", "texts", "What agents are told about arguments, by name.", false},
	}}
})

// Schema is the document of schema.yaml.
var Schema = sync.OnceValue(func() Form {
	return Form{fields: []Field{
		{"tables", "[declaredTable]", "The pack's tables, which come after the built-in ones, and new columns of built-in ones.", false},
		{"events", "yes", "The pack's tools may schedule events, which the table event holds.", false},
	}}
})

// DeclaredTable is a table of schema.yaml.
var DeclaredTable = sync.OnceValue(func() Form {
	return Form{fields: []Field{
		{"name", "declaredName", "What the table is called, in lower case.", true},
		{"description", "text", "What a row is, in one sentence.", false},
		{"columns", "[declaredColumn]", "The columns; the first is a row's id, a text. Of a built-in table, new columns only.", true},
	}}
})

// DeclaredColumn is a column of a table of schema.yaml.
var DeclaredColumn = sync.OnceValue(func() Form {
	return Form{fields: []Field{
		{"name", "declaredName", "What the column is called, in lower case.", true},
		{"type", "cellType", "What its cells hold, unless they are null.", true},
		{"measure", "columnMeasure", "How its cells are compared unless a constraint says otherwise; exact by default.", false},
		{"default", "textCell|numberCell|booleanCell", "The cell of a row that is written without one; null by default. New columns of a built-in table need it.", false},
		{"description", "text", "What the cells mean, in one sentence.", false},
	}}
})

// ChangeMeasures returns the measures that can be keys of a constraint, with the compared table and
// rows. All but the first compare with an earlier version.
func ChangeMeasures() []string {
	return []string{"snapshot", "addition", "update", "removal"}
}

// WantedTable is a table with the expected rows of a constraint.
func WantedTable(schema *world.Schema) Form {
	f := Form{exactlyOne: true}
	for _, table := range schema.StoredTables() {
		name := world.AuthorName(table.Name)
		f.fields = append(f.fields, Field{name, rowPrefix + name + "|[" + rowPrefix + name + "]", "The wanted row or rows.", false})
	}
	return f
}

// ToolServer is an entry of tools in pack.yaml.
var ToolServer = sync.OnceValue(func() Form {
	return Form{fields: []Field{
		{"server", "declaredName", "The name of a tool server over gRPC.", false},
		{"address", "text", "Where that is: host:port.", false},
		{"mcp", "declaredName", "The name of an MCP server.", false},
		{"command", "[text]", "The program that is the MCP server, with its arguments; it runs in the pack's directory.", false},
		{"url", "text", "Where the MCP server is: http:// or https://.", false},
		{"state", "serverState", "session, if the server keeps something between calls.", false},
	}}
})
