package scenario

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"

	"google.golang.org/protobuf/proto"
)

const packMeasureFile = `def near(wanted: float, found: float) -> bool:
    """Compares two prices."""
    return abs(wanted - found) < 2
`

// measuredPack returns a pack with measures in Python and the given ones in CEL.
func measuredPack(expressions, measure string) fstest.MapFS {
	return fstest.MapFS{
		"measures/price.py": {Data: []byte(packMeasureFile)},
		"measures.yaml":     {Data: []byte(expressions)},
		"schema.yaml": {Data: []byte("tables:\n  - name: item\n    columns:\n      - {name: item_id, type: text}\n" +
			"      - {name: price, type: number, measure: " + measure + "}\n")},
		"a.yaml": {Data: []byte(`one:
  clock: {now: 2025-01-02T09:00:00, time_zone: Europe/Berlin}
  tables: {setting: [{cellular: true, wifi: true, location_service: true, low_battery_mode: false}]}
  user: {goal: Have something bought., says: Hello.}
  oracle: [{end_all: {}}, {say: Done.}]
  milestones:
    bought: {addition: {item: {price: 3}}, overrides: {price: equal}}
`)},
	}
}

// TestMeasuresStayInEvaluation checks that only the evaluation contains the source of measures.
func TestMeasuresStayInEvaluation(t *testing.T) {
	loaded, err := readPack(measuredPack("equal: {cel: wanted == found}\n", "near"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	made := loaded[0].Scenario
	if modules, expressions := made.GetEvaluation().GetMeasureModules(), made.GetEvaluation().GetMeasureExpressions(); len(modules) != 1 ||
		modules[0].GetSource() != packMeasureFile || len(expressions) != 1 || expressions[0].GetExpression() != "wanted == found" {
		t.Errorf("evaluation: got %v and %v, want a file and an expression", modules, expressions)
	}
	wire, err := proto.Marshal(made.GetSetup())
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"Compares two prices", "wanted == found"} {
		if bytes.Contains(wire, []byte(secret)) {
			t.Errorf("the setup holds %q", secret)
		}
	}
}

func TestMeasureMistakes(t *testing.T) {
	for _, c := range []struct{ expressions, measure, want string }{
		{"equal: {cel: wanted == fund}\n", "near", "measures.yaml:1:24: equal.cel: column 11 of the expression: undeclared reference to 'fund'"},
		{"equal: {cel: '\"a\"'}\n", "near", "equal.cel: the expression gives string, expected a number from 0 to 1 or a truth value"},
		{"equal: {cel: wanted == found, rows: false}\n", "near", "equal.rows: is a boolean, expected true"},
		{"equal: {cel: wanted == found}\nclose: {cel: wanted == found}\n", "near", "measures.yaml:2:1: close: a built-in measure or extractor has the name"},
		{"equal: {cel: wanted == found}\nEqual: {cel: wanted == found}\n", "near", `is "Equal", expected up to 60 lower-case letters`},
		{"equal: wanted == found\n", "near", "equal: is a text, expected a mapping"},
	} {
		_, err := readPack(measuredPack(c.expressions, c.measure), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.expressions, err, c.want)
		}
	}
}
