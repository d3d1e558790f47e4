package conformance

import (
	"bytes"
	"cmp"
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

// recordedMessage is a SANDBOX row; fields that are left out are null.
type recordedMessage struct {
	Index             int32
	Sender, Recipient string
	Content           *string
	Active            *bool    `json:"conversation_active"`
	ToolCallID        *string  `json:"openai_tool_call_id"`
	FunctionName      *string  `json:"openai_function_name"`
	Exception         *string  `json:"tool_call_exception"`
	ToolTrace         []string `json:"tool_trace"`
	VisibleTo         []string `json:"visible_to"`
}

func (m *recordedMessage) message() (*worldv1.Message, error) {
	decoded := &worldv1.Message{
		Index: m.Index, Content: m.Content, ToolCallId: m.ToolCallID, FunctionName: m.FunctionName,
		ConversationActive: m.Active, Exception: m.Exception, ToolTrace: m.ToolTrace,
	}
	var err error
	if decoded.Sender, err = roleOf(m.Sender); err != nil {
		return nil, fmt.Errorf("message %d: sender: %w", m.Index, err)
	}
	if decoded.Recipient, err = roleOf(m.Recipient); err != nil {
		return nil, fmt.Errorf("message %d: recipient: %w", m.Index, err)
	}
	for _, name := range m.VisibleTo {
		role, err := roleOf(name)
		if err != nil {
			return nil, fmt.Errorf("message %d: visible_to: %w", m.Index, err)
		}
		decoded.VisibleTo = append(decoded.VisibleTo, role)
	}
	return decoded, nil
}

func roleOf(text string) (worldv1.Role, error) {
	role, ok := world.RoleByText(text)
	if !ok {
		return 0, fmt.Errorf("unknown role %q", text)
	}
	return role, nil
}

func tableOf(text string) (worldv1.TableName, error) {
	name, ok := world.TableByText(text)
	if !ok {
		return 0, fmt.Errorf("unknown table %q", text)
	}
	return name, nil
}

// decodeMessages decodes messages and checks that their indices go on from first.
func decodeMessages(recorded []recordedMessage, first int) ([]*worldv1.Message, error) {
	messages := make([]*worldv1.Message, len(recorded))
	for i := range recorded {
		if int(recorded[i].Index) != first+i {
			return nil, fmt.Errorf("message %d has index %d", first+i, recorded[i].Index)
		}
		var err error
		if messages[i], err = recorded[i].message(); err != nil {
			return nil, err
		}
	}
	return messages, nil
}

// recordedRow is a row by column.
type recordedRow map[string]json.RawMessage

// recordedVersion is a stored table version.
type recordedVersion struct {
	Index int32
	Rows  []recordedRow
}

// recordedTables are the versions of each table.
type recordedTables map[string][]recordedVersion

// tables returns the versions by table, then index.
func (t recordedTables) tables() ([]*worldv1.Table, error) {
	var tables []*worldv1.Table
	for text, versions := range t {
		for _, version := range versions {
			table, err := decodeTable(text, version.Index, version.Rows)
			if err != nil {
				return nil, err
			}
			tables = append(tables, table)
		}
	}
	slices.SortFunc(tables, func(a, b *worldv1.Table) int {
		return cmp.Or(cmp.Compare(a.GetName(), b.GetName()), cmp.Compare(a.GetIndex(), b.GetIndex()))
	})
	return tables, nil
}

func decodeTable(text string, index int32, rows []recordedRow) (*worldv1.Table, error) {
	name, err := tableOf(text)
	if err != nil {
		return nil, err
	}
	if name == worldv1.TableName_TABLE_NAME_SANDBOX {
		return nil, fmt.Errorf("table %s has no rows of its own", text)
	}
	schema, _ := world.SchemaOf(name)
	table := &worldv1.Table{Name: name, Index: index, Rows: make([]*worldv1.Row, len(rows))}
	for i, row := range rows {
		if table.Rows[i], err = decodeRow(schema, row); err != nil {
			return nil, fmt.Errorf("table %s at %d, row %d: %w", text, index, i, err)
		}
	}
	return table, nil
}

func decodeRow(schema world.Schema, row recordedRow) (*worldv1.Row, error) {
	for name := range row {
		if schema.Column(name) < 0 {
			return nil, fmt.Errorf("unknown column %q", name)
		}
	}
	decoded := &worldv1.Row{Cells: make([]*worldv1.Value, len(schema.Columns))}
	for i, column := range schema.Columns {
		cell, err := decodeCell(row[column.Name], column.Kind)
		if err == nil && !world.Fits(cell, column.Kind) {
			err = fmt.Errorf("no %s", column.Kind)
		}
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", column.Name, err)
		}
		decoded.Cells[i] = cell
	}
	return decoded, nil
}

// decodeCell decodes a cell; one that is left out is null.
func decodeCell(raw json.RawMessage, kind world.Kind) (*worldv1.Value, error) {
	if len(raw) == 0 {
		return world.Null(), nil
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
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
			number, err := decodeNumber(raw)
			return world.Number(number), err
		}
		return world.Text(value), nil
	default:
		return nil, fmt.Errorf("%s is no cell", raw)
	}
}

// decodeNumber decodes a number, or the text that stands for one that JSON lacks.
func decodeNumber(raw json.RawMessage) (float64, error) {
	switch string(raw) {
	case `"NaN"`:
		return math.NaN(), nil
	case `"Infinity"`:
		return math.Inf(1), nil
	case `"-Infinity"`:
		return math.Inf(-1), nil
	}
	var number float64
	if err := json.Unmarshal(raw, &number); err != nil {
		return 0, fmt.Errorf("%s is no number", raw)
	}
	return number, nil
}

// recordedAnswer is an answer of an external service.
type recordedAnswer struct {
	URL              string
	Params, Response json.RawMessage
}

func decodeRecordings(answers []recordedAnswer) []*setupv1.RecordedAnswer {
	var recordings []*setupv1.RecordedAnswer
	for _, answer := range answers {
		recordings = append(recordings, &setupv1.RecordedAnswer{
			Url: answer.URL, ParamsJson: string(answer.Params), ResponseJson: string(answer.Response),
		})
	}
	return recordings
}

// object is a JSON object that keeps the order of its fields.
type object []field

type field struct {
	name  string
	value json.RawMessage
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *object) UnmarshalJSON(raw []byte) error {
	*o = nil
	decoder := json.NewDecoder(bytes.NewReader(raw))
	token, err := decoder.Token()
	if err != nil || token == nil {
		return err
	}
	if token != json.Delim('{') {
		return errors.New("no object")
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		f := field{}
		f.name, _ = name.(string) // the decoder accepts nothing else here
		if err := decoder.Decode(&f.value); err != nil {
			return err
		}
		*o = append(*o, f)
	}
	return nil
}

// recordedResult is a printed score.
type recordedResult struct {
	ExceptionType string  `json:"exception_type"`
	Milestone     float64 `json:"milestone_similarity"`
	Minefield     float64 `json:"minefield_similarity"`
	Similarity    float64
	TurnCount     int32           `json:"turn_count"`
	Milestones    recordedMapping `json:"milestone_mapping"`
	Minefields    recordedMapping `json:"minefield_mapping"`
}

// recordedMatch is where a node was matched.
type recordedMatch struct {
	index      int32
	similarity float64
}

// recordedMapping maps nodes to matches.
type recordedMapping map[int32]recordedMatch

// UnmarshalJSON implements json.Unmarshaler for node → [message index, similarity].
func (m *recordedMapping) UnmarshalJSON(raw []byte) error {
	var pairs map[string][2]float64
	if err := json.Unmarshal(raw, &pairs); err != nil {
		return err
	}
	*m = make(recordedMapping, len(pairs))
	for text, pair := range pairs {
		node, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return fmt.Errorf("node %q: %w", text, err)
		}
		(*m)[int32(node)] = recordedMatch{index: int32(pair[0]), similarity: pair[1]}
	}
	return nil
}
