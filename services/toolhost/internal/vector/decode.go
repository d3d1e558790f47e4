package vector

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// jsonRow is a row by column.
type jsonRow map[string]json.RawMessage

type jsonWorld struct {
	MaxIndex int32 `json:"max_index"`
	Tables   map[string][]struct {
		Index int32
		Rows  []jsonRow
	}
}

type jsonCall struct {
	ID, Tool, Arguments string
}

type jsonAnswer struct {
	ToolCallID string `json:"tool_call_id"`
	Content    string
	Exception  *string
	ToolTrace  []string `json:"tool_trace"`
}

// jsonCase is a line of any of the three kinds of files.
type jsonCase struct {
	jsonAnswer
	World, Timezone string
	SetupCalls      []jsonCall `json:"setup_calls"`
	Calls           []jsonCall
	Tool            string
	Arguments       string
	Source          string
	CallID          *string `json:"call_id"`
	Sender          string
	Expect          string
	Raises          json.RawMessage
	Answers         []jsonAnswer
	Active          json.RawMessage `json:"conversation_active"`
	Changed         map[string][]jsonRow
	API             []struct {
		URL              string
		Params, Response json.RawMessage
	}
}

// Worlds decodes the file of worlds.
func Worlds(raw []byte) (map[string]World, error) {
	var file map[string]jsonWorld
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("decode worlds: %w", err)
	}
	worlds := make(map[string]World, len(file))
	for name, w := range file {
		tables, err := w.decode()
		if err != nil {
			return nil, fmt.Errorf("decode world %s: %w", name, err)
		}
		worlds[name] = World{MaxIndex: w.MaxIndex, Tables: tables}
	}
	return worlds, nil
}

func (w jsonWorld) decode() ([]*worldv1.Table, error) {
	var tables []*worldv1.Table
	for text, versions := range w.Tables {
		for _, version := range versions {
			name, rows, err := decodeRows(text, version.Rows)
			if err != nil {
				return nil, err
			}
			tables = append(tables, &worldv1.Table{Name: name, Index: version.Index, Rows: rows})
		}
	}
	slices.SortFunc(tables, func(a, b *worldv1.Table) int {
		if a.GetName() != b.GetName() {
			return int(a.GetName()) - int(b.GetName())
		}
		return int(a.GetIndex()) - int(b.GetIndex())
	})
	return tables, nil
}

// Single decodes a case with one call, of a tool or of source.
func Single(raw []byte) (*Case, error) {
	c, decoded, err := decode(raw)
	if err != nil {
		return nil, err
	}
	call := Call{Tool: c.Tool, Arguments: c.Arguments, Source: c.Source}
	if c.Tool != "" {
		id := defaultCallID
		if call.ID = &id; c.CallID != nil {
			call.ID = c.CallID
		}
	}
	active := true
	if len(c.Active) > 0 {
		if err := json.Unmarshal(c.Active, &active); err != nil {
			return nil, fmt.Errorf("decode case: conversation_active: %w", err)
		}
	}
	decoded.Calls = []Call{call}
	decoded.Answers = []Answer{{ID: call.ID, Content: c.Content, Exception: c.Exception, Trace: c.ToolTrace, Active: active}}
	return decoded, nil
}

// Parallel decodes a case with a batch of calls.
func Parallel(raw []byte) (*Case, error) {
	c, decoded, err := decode(raw)
	if err != nil {
		return nil, err
	}
	for _, call := range c.Calls {
		decoded.Calls = append(decoded.Calls, Call{ID: &call.ID, Tool: call.Tool, Arguments: call.Arguments})
	}
	var active []bool
	if err := json.Unmarshal(c.Active, &active); err != nil {
		return nil, fmt.Errorf("decode case: conversation_active: %w", err)
	}
	if len(active) != len(c.Answers) {
		return nil, fmt.Errorf("decode case: conversation_active has %d values for %d answers", len(active), len(c.Answers))
	}
	for i, answer := range c.Answers {
		decoded.Answers = append(decoded.Answers, Answer{
			ID: &answer.ToolCallID, Content: answer.Content, Exception: answer.Exception, Trace: answer.ToolTrace, Active: active[i],
		})
	}
	return decoded, nil
}

// decode decodes what all kinds of cases share.
func decode(raw []byte) (*jsonCase, *Case, error) {
	c := &jsonCase{}
	if err := json.Unmarshal(raw, c); err != nil {
		return nil, nil, fmt.Errorf("decode case: %w", err)
	}
	decoded := &Case{
		World:    c.World,
		Zone:     defaultZone,
		Sender:   worldv1.Role_ROLE_AGENT,
		Compared: c.Expect != "best_effort" && len(c.Raises) == 0,
		Changed:  make(map[worldv1.TableName][]*worldv1.Row, len(c.Changed)),
	}
	if c.Timezone != "" {
		decoded.Zone = c.Timezone
	}
	if c.Sender != "" {
		role, ok := world.RoleByText(c.Sender)
		if !ok {
			return nil, nil, fmt.Errorf("decode case: no role %q", c.Sender)
		}
		decoded.Sender = role
	}
	for i, call := range c.SetupCalls {
		id := "setup_" + strconv.Itoa(i)
		decoded.Setup = append(decoded.Setup, Call{ID: &id, Tool: call.Tool, Arguments: call.Arguments})
	}
	for text, rows := range c.Changed {
		name, cells, err := decodeRows(text, rows)
		if err != nil {
			return nil, nil, fmt.Errorf("decode case: %w", err)
		}
		decoded.Changed[name] = cells
	}
	for _, answer := range c.API {
		decoded.Recordings = append(decoded.Recordings, &setupv1.RecordedAnswer{
			Url: answer.URL, ParamsJson: string(answer.Params), ResponseJson: string(answer.Response),
		})
	}
	return c, decoded, nil
}

func decodeRows(text string, rows []jsonRow) (worldv1.TableName, []*worldv1.Row, error) {
	name, ok := world.TableByText(text)
	if !ok {
		return 0, nil, fmt.Errorf("no table %q", text)
	}
	schema, _ := world.SchemaOf(name)
	decoded := make([]*worldv1.Row, len(rows))
	for i, row := range rows {
		cells := make([]*worldv1.Value, len(schema.Columns))
		for j, column := range schema.Columns {
			cell, err := decodeCell(row[column.Name], column.Kind)
			if err != nil {
				return 0, nil, fmt.Errorf("table %s, column %s: %w", text, column.Name, err)
			}
			cells[j] = cell
		}
		decoded[i] = &worldv1.Row{Cells: cells}
	}
	return name, decoded, nil
}

func decodeCell(raw json.RawMessage, kind world.Kind) (*worldv1.Value, error) {
	var value any
	if len(raw) == 0 {
		return nil, errors.New("missing")
	}
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil, err
	}
	switch value := value.(type) {
	case nil:
		return world.Null(), nil
	case bool:
		return world.Bool(value), nil
	case float64:
		return world.Number(value), nil
	case string:
		if kind == world.KindNumber {
			return decodeNumber(value)
		}
		return world.Text(value), nil
	default:
		return nil, fmt.Errorf("%s is no cell", raw)
	}
}

// decodeNumber reads the numbers that JSON lacks.
func decodeNumber(text string) (*worldv1.Value, error) {
	switch text {
	case "NaN":
		return world.Number(math.NaN()), nil
	case "Infinity":
		return world.Number(math.Inf(1)), nil
	case "-Infinity":
		return world.Number(math.Inf(-1)), nil
	default:
		return nil, fmt.Errorf("%q is no number", text)
	}
}
