package euroeval

import (
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	"github.com/toolsandbox/toolsandbox/python"
)

// BenchmarkGraders grades records of the metric vectors with both graders, including parsing. One
// operation is one record.
func BenchmarkGraders(b *testing.B) {
	type row struct{ functions, answers, prediction string }
	var rows []row
	vectortest.Lines(b, vectortest.Dir(b, "euroeval/metric.jsonl"), func(_ int, raw []byte) {
		value, err := python.ParseJSON(raw)
		if err != nil {
			b.Fatal(err)
		}
		record, _ := value.AsDict()
		if group, _ := record.Get("group"); python.Text(group) != "record" {
			return
		}
		text := func(name string) string { v, _ := record.Get(name); return python.Text(v) }
		rows = append(rows, row{text("functions"), text("target_text"), text("prediction")})
	})
	for _, grader := range []struct {
		name  string
		grade func(functions, answers python.Value, prediction string)
	}{
		{"euroeval", func(f, a python.Value, p string) { _, _ = Grade(f, a, p) }},
		{"strict", func(f, a python.Value, p string) { _ = GradeStrict(f, a, p) }},
	} {
		b.Run(grader.name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				r := rows[i%len(rows)]
				functions, err := python.ParseJSON(r.functions)
				if err != nil {
					b.Fatal(err)
				}
				answers, err := python.ParseJSON(r.answers)
				if err != nil {
					b.Fatal(err)
				}
				grader.grade(functions, answers, r.prediction)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}
