package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/source"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/toolserver"
)

// ServerScheme is the scheme of addresses of recorded answers of tool servers. The names of server
// and tool follow.
const ServerScheme = "tools://"

// packFile declares the servers. The pack's loader adds the line.
const packFile = "pack.yaml"

// serverTools returns the tools of a pack's servers. taken maps names to their owners. The error is
// source.Mistakes.
func serverTools(servers []*setupv1.ToolServer, schema *world.Schema, taken map[implementation]string) ([]*Tool, source.Mistakes) {
	var tools []*Tool
	var mistakes source.Mistakes
	for _, server := range servers {
		fail := func(name, format string, args ...any) {
			mistakes = append(mistakes, source.Mistake{File: packFile, Function: server.GetName() + "." + name, Reason: fmt.Sprintf(format, args...)})
		}
		for _, declared := range server.GetTools() {
			name := declared.GetName()
			switch owner := taken[implementation{name, ""}]; {
			case !toolName.MatchString(name):
				fail(name, "the name has to be up to 60 letters, digits and underscores of ASCII")
			case library().Has(name):
				fail(name, "%s means something in Python or to tools already; rename the tool in its server", name)
			case owner != "":
				fail(name, "the name is that of %s; rename one of them", owner)
			default:
				taken[implementation{name, ""}] = "a tool of the server " + server.GetName()
			}
			t, err := serverTool(server, declared, schema)
			if err != nil {
				fail(name, "%v", err)
				continue
			}
			tools = append(tools, t)
		}
	}
	return tools, mistakes
}

// serverTool converts a server's declaration to a tool.
func serverTool(server *setupv1.ToolServer, declared *toolsv1.Tool, schema *world.Schema) (*Tool, error) {
	t := &Tool{
		Name: declared.GetName(), Module: server.GetName(), Description: declared.GetDescription(), User: declared.GetUser(),
		ReadOnly: len(declared.GetWrites()) == 0 && (!server.GetSessionState() || declared.GetReadOnly()),
	}
	parameters, err := python.ParseJSON(declared.GetParametersJson())
	if err != nil {
		return nil, fmt.Errorf("parameters are no JSON Schema: %w", err)
	}
	if t.Params, t.Definitions, err = schemaParams(parameters); err != nil {
		return nil, err
	}
	for _, rows := range slices.Concat(declared.GetReads(), declared.GetWrites()) {
		table, ok := storedTable(schema, rows.GetTable())
		if !ok {
			return nil, fmt.Errorf("it names the table %q, which the pack's schema.yaml does not have", rows.GetTable())
		}
		for _, column := range rows.GetColumns() {
			if table.Column(column) < 0 {
				return nil, fmt.Errorf("%s has no column %q", rows.GetTable(), column)
			}
		}
	}
	address := ServerScheme + server.GetName() + "/" + declared.GetName()
	t.Run = func(ctx context.Context, w *session.World, args Args) (python.Value, error) {
		params, err := serverRequest(declared, w, args)
		if err != nil {
			return python.Value{}, err
		}
		body, err := w.Config().Services.Get(ctx, address, params)
		if err != nil {
			return python.Value{}, err
		}
		return serverAnswer(w, body)
	}
	return t, nil
}

// serverRequest returns the parts that determine the answer to a call: its arguments and the
// declared data of the session.
func serverRequest(declared *toolsv1.Tool, w *session.World, args Args) (*python.Dict, error) {
	arguments, params := &python.Dict{}, &python.Dict{}
	for i := range args.bound {
		if args.bound[i].Given {
			arguments.Set(args.bound[i].Name, args.bound[i].Value)
		}
	}
	params.Set(toolserver.FieldArguments, arguments.Value())
	if len(declared.GetReads()) > 0 {
		tables := &python.Dict{}
		for _, read := range declared.GetReads() {
			rows, err := declaredRows(w, read)
			if err != nil {
				return nil, err
			}
			tables.Set(read.GetTable(), rows)
		}
		params.Set(toolserver.FieldRows, tables.Value())
	}
	if declared.GetClock() {
		now, err := currentTimestamp(w)
		if err != nil {
			return nil, err
		}
		params.Set(toolserver.FieldNow, now)
	}
	if declared.GetIds() > 0 {
		ids := make([]python.Value, declared.GetIds())
		for i := range ids {
			ids[i] = python.Str(w.NewID())
		}
		params.Set(toolserver.FieldIDs, python.List(ids...))
	}
	return params, nil
}

// declaredRows returns rows in the format of Python tools.
func declaredRows(w *session.World, read *toolsv1.Rows) (python.Value, error) {
	columns := python.None()
	if names := texts(read.GetColumns()); len(names) > 0 {
		columns = python.List(names...)
	}
	return moduleWorld{world: w}.rows([]python.Value{python.Str(read.GetTable()), columns}, nil)
}

// errNoAnswer means that a recorded answer of a tool server is malformed.
var errNoAnswer = errors.New("a recorded answer of a tool server is an object with value and changes, or with raised")

// serverAnswer applies the changes of an answer as a Python tool would, and returns its value.
func serverAnswer(w *session.World, body python.Value) (python.Value, error) {
	answer, ok := body.AsDict()
	if !ok {
		return python.Value{}, errNoAnswer
	}
	if raised, ok := answer.Get(toolserver.FieldRaised); ok {
		kind, _ := raised.Field(toolserver.FieldType).AsStr()
		text, _ := raised.Field(toolserver.FieldText).AsStr()
		return python.Value{}, raise(kind, text)
	}
	value, ok := answer.Get(toolserver.FieldValue)
	if !ok {
		return python.Value{}, errNoAnswer
	}
	list, _ := answer.Get(toolserver.FieldChanges)
	changes, _ := list.AsList()
	for _, change := range changes {
		if err := makeChange(moduleWorld{world: w}, change); err != nil {
			return python.Value{}, err
		}
	}
	return value, nil
}

// makeChange applies one change through the methods of Python tools.
func makeChange(m moduleWorld, change python.Value) error {
	table := change.Field(toolserver.FieldTable)
	method, positional, where := addMethod, []python.Value{table}, &python.Dict{}
	switch dict, _ := change.AsDict(); {
	case dict == nil:
		return errNoAnswer
	case has(dict, toolserver.FieldAdd):
		positional = append(positional, change.Field(toolserver.FieldAdd))
	case has(dict, toolserver.FieldUpdate):
		update := change.Field(toolserver.FieldUpdate)
		method, positional = updateMethod, append(positional, update.Field(toolserver.FieldValues))
		where = changeCondition(update)
	default:
		method, where = removeMethod, changeCondition(change.Field(toolserver.FieldRemove))
	}
	_, err := m.Call(worldName+"."+method, positional, where)
	return err
}

// changeCondition returns the only condition of an update or removal.
func changeCondition(value python.Value) *python.Dict {
	where := &python.Dict{}
	column, _ := value.Field(toolserver.FieldColumn).AsStr()
	where.Set(column, value.Field(toolserver.FieldCell))
	return where
}

func has(dict *python.Dict, key string) bool {
	_, ok := dict.Get(key)
	return ok
}
