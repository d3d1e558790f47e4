package scenario

import (
	"cmp"
	"slices"
	"sync"

	"github.com/toolsandbox/toolsandbox/internal/world"
)

// form describes a mapping of the format, for the reader and for JSONSchema.
type form struct {
	fields []formField
	// exactlyOne requires exactly one of the fields, besides those in additional.
	exactlyOne bool
	additional []string
	// replaceable are the fields that a tool with its arguments can replace. It is empty if the
	// mapping is not a call.
	replaceable []string
}

// formField is one field of a mapping.
type formField struct {
	name string
	// valueType is the type of the value: a form or a primitive of the schema. "a|b" is either, "[a]"
	// a list, "{a}" a mapping from names to a.
	valueType string
	// doc describes the field in one sentence.
	doc      string
	required bool
}

// field returns a field by name, the zero field if it is missing.
func (f form) field(name string) formField {
	at := slices.IndexFunc(f.fields, func(field formField) bool { return field.name == name })
	if at < 0 {
		return formField{}
	}
	return f.fields[at]
}

// has reports whether the form has a field.
func (f form) has(name string) bool { return f.field(name).name != "" }

// names returns the names of the fields in the usual order.
func (f form) names() []string {
	names := make([]string, len(f.fields))
	for i := range f.fields {
		names[i] = f.fields[i].name
	}
	return names
}

// choices returns the fields of which a mapping has exactly one.
func (f form) choices() []string {
	return slices.DeleteFunc(f.names(), func(name string) bool { return slices.Contains(f.additional, name) })
}

// forms returns every form by its name.
func forms(schema *world.Schema) map[string]form {
	all := map[string]form{
		"scenario": scenarioForm(), "world": worldForm(), "clock": clockForm(), "user": userForm(),
		"demonstration": demonstrationForm(), "shownCall": shownCallForm(), "message": messageForm(), "turn": turnForm(), "oracleTurn": oracleTurnForm(), "oracleCall": oracleCallForm(), "call": callForm(),
		"recording": recordingForm(), "sharedRecording": sharedRecordingForm(), "guardrails": guardrailsForm(),
		"milestone": nodeForm(), "minefield": minefieldForm(), "constraint": constraintForm(), "wantedCall": wantedCallForm(),
		"override": overrideForm(), "tables": tablesForm(schema), "pack": packForm(), "needs": needsForm(), "toolServer": toolServerForm(), "schema": schemaForm(), "declaredTable": declaredTableForm(), "declaredColumn": declaredColumnForm(), "toolText": toolTextForm(), "packMeasure": packMeasureForm(),
		"expression": expressionForm(), "wantedTable": wantedTableForm(schema),
	}
	for _, table := range schema.Tables() {
		name := world.AuthorName(table.Name)
		all[rowPrefix+name] = rowForm(table)
		if table.Name != world.Sandbox {
			all[editPrefix+name] = editForm(name)
			all[changePrefix+name] = changeForm(name)
		}
	}
	return all
}

// scenarioForm is a scenario below its name.
var scenarioForm = sync.OnceValue(func() form {
	return form{fields: []formField{
		{"notes", "text", "For other authors; no role ever sees it.", false},
		{"max_idle_score", "similarity", "Highest similarity of an agent that does nothing useful; 0.35 if left out.", false},
		{"world", "text", "Name of the world in worlds/ that the scenario starts in.", false},
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

// worldForm is the document of a world file.
var worldForm = sync.OnceValue(func() form {
	return form{fields: []formField{
		{"notes", "text", "For other authors; no role ever sees it.", false},
		{"extends", "text", "Name of the world that this one changes.", false},
		{"clock", "clock", "The time at the first message.", false},
		{"tables", "tables", "The rows of each table.", false},
	}}
})

var clockForm = sync.OnceValue(func() form {
	return form{fields: []formField{
		{"now", "time", "Local time like 2025-03-14T09:15, or POSIX seconds.", false},
		{"time_zone", "text", "IANA name, e.g. America/Los_Angeles.", false},
		{"step", "amount", "Seconds by which each message advances the clock.", false},
		{"user_turn", "amount", "Seconds that each turn of the user takes.", false},
		{"agent_turn", "amount", "Seconds that each turn of the agent takes.", false},
	}}
})

var userForm = sync.OnceValue(func() form {
	return form{fields: []formField{
		{"goal", "text", "What the simulated user wants.", false},
		{"knowledge", "text|[text]", "What the user may tell when asked.", false},
		{"unknown", "text|[text]", "What the user does not know: her last name, where you are.", false},
		{"demonstrations", "[demonstration]", "An example conversation that only a simulated user sees.", false},
		{"tools", "[label]", "Real names of tools that the user has of its own, on the same world; end_conversation comes by itself.", false},
		{"says", "text", "The first message.", false},
		{"script", "text|[turn]", "What the scripted user says after the first message.", false},
	}}
})

var demonstrationForm = sync.OnceValue(func() form {
	return form{exactlyOne: true, fields: []formField{
		{"user", "text", "What the user says.", false},
		{"calls", "[shownCall]", "Calls that the user makes itself, with their answers; more than one are one parallel batch.", false},
		{"agent", "text", "What the agent says.", false},
		{"end", "yes", "The user ends the conversation.", false},
	}}
})

// shownCallForm is a call of a demonstration.
var shownCallForm = sync.OnceValue(func() form {
	return form{replaceable: []string{toolKey, argumentsKey}, fields: []formField{
		{toolKey, "text", "The tool's real name, one of user.tools, unless it stands before its arguments.", true},
		{argumentsKey, "object", "The arguments as a model would write them.", false},
		{"answer", "text", "What the environment prints, e.g. None or True.", true},
		{"failed", "yes", "The answer is an error.", false},
	}}
})

var messageForm = sync.OnceValue(func() form {
	return form{fields: []formField{
		{"from", "role", "Who speaks.", true},
		{"to", "role", "Who is spoken to.", true},
		{"content", "text", "What is said.", true},
		{"visible_to", "[role]", "Who may read it; sender and recipient by default.", false},
	}}
})

var turnForm = sync.OnceValue(func() form {
	return form{exactlyOne: true, replaceable: []string{"say", callsKey, "end"}, fields: []formField{
		{"say", "text", "A text for the other side.", false},
		{callsKey, "[anyCall]", "Calls; more than one are one parallel batch.", false},
		{"end", "yes", "The user ends the conversation.", false},
	}}
})

// oracleTurnForm is a turn of the solution.
var oracleTurnForm = sync.OnceValue(func() form {
	turn := form{exactlyOne: true, replaceable: turnForm().replaceable, additional: []string{milestoneKey, tolerancesKey}}
	turn.fields = append(slices.Clone(turnForm().fields), milestoneFields()...)
	for i := range turn.fields {
		if turn.fields[i].name == callsKey {
			turn.fields[i].valueType = "[anyOracleCall]"
		}
	}
	return turn
})

// oracleCallForm is one of several calls in a turn of the solution.
var oracleCallForm = sync.OnceValue(func() form {
	return form{replaceable: callForm().replaceable, fields: append(slices.Clone(callForm().fields), milestoneFields()...)}
})

// milestoneFields are the fields that make a text or a call a milestone.
func milestoneFields() []formField {
	return []formField{
		{tolerancesKey, "tolerances", "Largest difference that the call's milestone accepts, by argument.", false},
		{milestoneKey, "text", "Name of the milestone that this text, or this one call, is by itself. The last text is told unless it is none.", false},
	}
}

var callForm = sync.OnceValue(func() form {
	return form{replaceable: []string{toolKey, argumentsKey}, fields: []formField{
		{"id", "text", "Unique in the script; call_1, call_2, … by default.", false},
		{toolKey, "text", "The tool's real name, unless it stands before its arguments.", true},
		{argumentsKey, "object", "The arguments as a model would write them.", false},
	}}
})

var recordingForm = sync.OnceValue(func() form {
	return form{fields: []formField{
		{"url", "text", "Full URL of the request, without parameters.", true},
		{"params", "object", "The request's parameters.", true},
		{"response", "anything", "The body of the answer.", true},
	}}
})

var sharedRecordingForm = sync.OnceValue(func() form {
	return form{fields: []formField{
		{"file", "text", "Name of a file in recordings/ whose answers are used, without .yaml.", true},
	}}
})

var guardrailsForm = sync.OnceValue(func() form {
	return form{fields: []formField{
		{"only", "[table]", "Guard these tables only; none listed guards none.", false},
		{"except", "[table]", "Guard all tables but these.", false},
	}}
})

// nodeForm is a milestone below its name: one constraint, or a list of constraints.
var nodeForm = sync.OnceValue(func() form {
	return form{fields: append([]formField{
		{"after", "[label]", "Names of those that come before; the one written before it by default.", false},
		{"guardrails", "guardrails", "Which tables automatic guardrails guard here.", false},
		{"constraints", "[constraint]", "Several constraints that hold at the same message.", false},
	}, constraintForm().fields...)}
})

var minefieldForm = sync.OnceValue(func() form {
	return form{fields: append(slices.Clone(nodeForm().fields),
		formField{"triggered_by", "[turn]", "What the agent does to step on it, where its constraints do not tell.", false},
	)}
})

var constraintForm = sync.OnceValue(func() form {
	return form{fields: []formField{
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
		{"extractor", "text|expression", "For derived: the name of the extractor, or one in CEL.", false},
	}}
})

// expressionForm is an expression, which represents its value.
var expressionForm = sync.OnceValue(func() form {
	return form{fields: []formField{
		{expressionKey, "text", "A time relative to now, or an extractor, in CEL.", true},
	}}
})

var wantedCallForm = sync.OnceValue(func() form {
	return form{replaceable: []string{toolKey, argumentsKey}, fields: []formField{
		{toolKey, "text", "The tool's real name, unless it stands before its arguments.", true},
		{argumentsKey, "object", "Arguments that the call has at least.", false},
		{tolerancesKey, "tolerances", "Largest accepted difference, by argument.", false},
	}}
})

var overrideForm = sync.OnceValue(func() form {
	return form{fields: []formField{
		{"measure", "columnMeasure", "How the column is compared.", true},
		{tolerancesKey, "tolerances", "Largest accepted difference, by column or argument.", false},
	}}
})

const (
	rowPrefix    = "row_"
	editPrefix   = "edit_"
	changePrefix = "change_"
)

// tablesForm maps tables to rows, or to changes of rows.
func tablesForm(schema *world.Schema) form {
	var f form
	for _, table := range schema.StoredTables() {
		name := world.AuthorName(table.Name)
		f.fields = append(f.fields, formField{
			name, "[" + rowPrefix + name + "]|" + editPrefix + name, "A list of rows replaces the table, a mapping changes it.", false,
		})
	}
	return f
}

// editForm is a change of a table.
func editForm(table string) form {
	row := rowPrefix + table
	return form{fields: []formField{
		{"remove", "[" + row + "]", "Rows with these cells go.", false},
		{"change", "[" + changePrefix + table + "]", "Rows with some cells get others.", false},
		{"set", row, "Cells of every row.", false},
		{"add", "[" + row + "]", "New rows.", false},
	}}
}

func changeForm(table string) form {
	row := rowPrefix + table
	return form{fields: []formField{
		{"where", row, "Cells that the rows have.", true},
		{"set", row, "Cells that they get.", true},
	}}
}

// rowForm is a row of a table. Missing columns are null.
func rowForm(table world.Table) form {
	var f form
	for _, column := range table.Columns {
		holds := map[world.Kind]string{
			world.KindText: "textCell", world.KindNumber: "numberCell", world.KindBool: "booleanCell", world.KindTexts: "anything",
		}[column.Kind]
		f.fields = append(f.fields, formField{column.Name, holds, cmp.Or(column.Description, "A "+column.Kind.String()+"."), false})
	}
	return f
}

// packForm is the document of pack.yaml.
var packForm = sync.OnceValue(func() form {
	return form{fields: []formField{
		{"name", "name", "What the pack is called.", true},
		{"version", "version", "Its version, as in 1.4.0.", false},
		{"licence", "text", "The terms under which others may use it, as an SPDX identifier.", false},
		{"description", "text", "What it is about.", false},
		{"standalone", "yes", "The pack has none of the built-in tools and tables.", false},
		{"categories", "[ownCategory]", "Categories that its scenarios may have beside the built-in ones.", false},
		{"tools", "[toolServer]", "Servers whose tools the pack has beside those in its files.", false},
		{"needs", "needs", "What has to be there before its scenarios are played.", false},
	}}
})

// needsForm is what a pack needs.
var needsForm = sync.OnceValue(func() form {
	return form{fields: []formField{
		{"environment", "[label]", "Names of environment variables that are set, such as those with keys.", false},
		{"commands", "[label]", "Names of programs that are on the PATH.", false},
	}}
})

// toolTextForm is an entry of tools.yaml.
var toolTextForm = sync.OnceValue(func() form {
	return form{fields: []formField{
		{"description", "text", "What agents are told that the tool does.", false},
		{"arguments", "texts", "What agents are told about arguments, by name.", false},
	}}
})

// schemaForm is the document of schema.yaml.
var schemaForm = sync.OnceValue(func() form {
	return form{fields: []formField{
		{"tables", "[declaredTable]", "The pack's tables, which come after the built-in ones.", false},
		{"events", "yes", "The pack's tools may schedule events, which the table event holds.", false},
	}}
})

// rowsKey is the field of a measure that compares rows.
const rowsKey = "rows"

// packMeasureForm is an entry of measures.yaml.
var packMeasureForm = sync.OnceValue(func() form {
	return form{fields: []formField{
		{expressionKey, "text", "A number from 0 to 1, or a truth value, in CEL over wanted and found.", true},
		{rowsKey, "yes", "It compares the rows of a table instead of two cells.", false},
	}}
})

// declaredTableForm is a table of schema.yaml.
var declaredTableForm = sync.OnceValue(func() form {
	return form{fields: []formField{
		{"name", "declaredName", "What the table is called, in lower case.", true},
		{"description", "text", "What a row is, in one sentence.", false},
		{"columns", "[declaredColumn]", "The columns; the first is a row's id, a text.", true},
	}}
})

// declaredColumnForm is a column of a table of schema.yaml.
var declaredColumnForm = sync.OnceValue(func() form {
	return form{fields: []formField{
		{"name", "declaredName", "What the column is called, in lower case.", true},
		{"type", "cellType", "What its cells hold, unless they are null.", true},
		{"measure", "columnMeasure", "How its cells are compared unless a constraint says otherwise; exact by default.", false},
		{"description", "text", "What the cells mean, in one sentence.", false},
	}}
})

// changeMeasures are the measures that can be keys of a constraint, with the compared table and
// rows. All but the first compare with an earlier version.
var changeMeasures = []string{"snapshot", "addition", "update", "removal"}

// wantedTableForm is a table with the expected rows of a constraint.
func wantedTableForm(schema *world.Schema) form {
	f := form{exactlyOne: true}
	for _, table := range schema.StoredTables() {
		name := world.AuthorName(table.Name)
		f.fields = append(f.fields, formField{name, rowPrefix + name + "|[" + rowPrefix + name + "]", "The wanted row or rows.", false})
	}
	return f
}

// toolServerForm is an entry of tools in pack.yaml.
var toolServerForm = sync.OnceValue(func() form {
	return form{fields: []formField{
		{"server", "declaredName", "The name of a tool server over gRPC.", false},
		{"address", "text", "Where that is: host:port.", false},
		{"mcp", "declaredName", "The name of an MCP server.", false},
		{"command", "[text]", "The program that is the MCP server, with its arguments; it runs in the pack's directory.", false},
		{"url", "text", "Where the MCP server is: http:// or https://.", false},
		{"state", "serverState", "session, if the server keeps something between calls.", false},
	}}
})
