package pack

import (
	"bytes"
	"testing"
	"testing/fstest"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/scenario"
)

const packMeasureFile = `def near(wanted: float, found: float) -> bool:
    """Compares two prices."""
    return abs(wanted - found) < 2


def equal(wanted: float, found: float) -> bool:
    """Compares two prices to the cent."""
    return wanted == found
`

// measuredPack returns a pack with measures.
func measuredPack(measure string) fstest.MapFS {
	return fstest.MapFS{
		"measures/price.py": {Data: []byte(packMeasureFile)},
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
	loaded, err := readPack(measuredPack("near"), scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	made := loaded[0].Scenario
	if modules := made.GetEvaluation().GetMeasureModules(); len(modules) != 1 || modules[0].GetSource() != packMeasureFile {
		t.Errorf("evaluation: got %v, want a file", modules)
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
