package resultfile

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

// tableRow is the columns of scenario_results_polars.parquet before the mappings.
type tableRow struct {
	Name                string   `parquet:"name"`
	Categories          []string `parquet:"categories,list"`
	Traceback           *string  `parquet:"traceback,optional"`
	ExceptionType       *string  `parquet:"exception_type,optional"`
	MilestoneSimilarity *float64 `parquet:"milestone_similarity,optional"`
	MinefieldSimilarity *float64 `parquet:"minefield_similarity,optional"`
	Similarity          *float64 `parquet:"similarity,optional"`
	TurnCount           int64    `parquet:"turn_count"`
}

// Table returns the content of scenario_results_polars.parquet: the data frame that the original's
// extract_scenario_results makes of the summary. A mapping is a struct with a list for each node
// that any rollout has; without nodes it has node 0 alone.
func (s *Summary) Table() ([]byte, error) {
	rows, fields := reflect.TypeFor[tableRow](), []reflect.StructField(nil)
	for i := range rows.NumField() {
		fields = append(fields, rows.Field(i))
	}
	milestones, minefields := 1, 1
	for _, r := range s.Scenarios {
		milestones, minefields = max(milestones, r.MilestoneMapping.nodes()), max(minefields, r.MinefieldMapping.nodes())
	}
	fields = append(fields,
		reflect.StructField{Name: "Milestones", Type: nodesType(milestones), Tag: `parquet:"milestone_mapping"`},
		reflect.StructField{Name: "Minefields", Type: nodesType(minefields), Tag: `parquet:"minefield_mapping"`})
	row := reflect.New(reflect.StructOf(fields))
	var out bytes.Buffer
	writer := parquet.NewWriter(&out, parquet.SchemaOf(row.Interface()), parquet.Compression(&parquet.Zstd), parquet.CreatedBy("toolsandbox", "", ""))
	for _, r := range s.Scenarios {
		row.Elem().SetZero()
		for i, value := range []any{
			r.Name, append([]string{}, r.Categories...), r.Traceback, r.ExceptionType, r.MilestoneSimilarity.Pointer(),
			r.MinefieldSimilarity.Pointer(), r.Similarity.Pointer(), int64(r.TurnCount),
		} {
			row.Elem().Field(i).Set(reflect.ValueOf(value))
		}
		r.MilestoneMapping.set(row.Elem().FieldByName("Milestones"))
		r.MinefieldMapping.set(row.Elem().FieldByName("Minefields"))
		if err := writer.Write(row.Interface()); err != nil {
			return nil, fmt.Errorf("encode %s: %w", r.Name, err)
		}
	}
	err := writer.Close()
	return out.Bytes(), err
}

// nodes returns the number of nodes up to the last one.
func (m Mapping) nodes() int {
	n := 0
	for _, match := range m {
		n = max(n, match.Node+1)
	}
	return n
}

// nodesType returns a struct type with a list for each node.
func nodesType(nodes int) reflect.Type {
	fields := make([]reflect.StructField, nodes)
	for i := range fields {
		name := strconv.Itoa(i)
		fields[i] = reflect.StructField{Name: "Node" + name, Type: reflect.TypeFor[[]float64](), Tag: reflect.StructTag(`parquet:"` + name + `,optional,list"`)}
	}
	return reflect.StructOf(fields)
}

// set sets the lists of the nodes.
func (m Mapping) set(nodes reflect.Value) {
	for _, match := range m {
		similarity, ok := match.Similarity.Number()
		if !ok {
			similarity = math.NaN()
		}
		nodes.Field(match.Node).Set(reflect.ValueOf([]float64{float64(match.Index), similarity}))
	}
}

// Pointer returns the number, nil without one.
func (s Similarity) Pointer() *float64 {
	if n, ok := s.Number(); ok {
		return &n
	}
	return nil
}
