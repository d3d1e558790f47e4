package pack

import (
	"testing"
	"testing/fstest"

	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// rowsOf returns the starting rows of a table.
func rowsOf(t *testing.T, setup *setupv1.Setup, name string) []*worldv1.Row {
	t.Helper()
	for _, table := range setup.GetTables() {
		if table.GetName() == name {
			return table.GetRows()
		}
	}
	t.Fatalf("tables: got no %s", name)
	return nil
}

// TestPhoneWorlds starts a scenario in a world of the phone, and in a world that extends one. Both
// have the columns that the pack adds.
func TestPhoneWorlds(t *testing.T) {
	for _, test := range []struct {
		name, start, own string
	}{
		{"named", "world: phone/wifi_off", testWorld},
		{"extended", "world: base", "extends: phone/wifi_off\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			fsys := files(edit(t, testScenario, "world: base", test.start), test.own)
			fsys["schema.yaml"] = &fstest.MapFile{Data: []byte("tables:\n  - {name: setting, columns: [{name: battery_percent, type: number, default: 80}]}\n")}
			loaded, err := readPack(fsys, testOptions())
			if err != nil {
				t.Fatal(err)
			}
			setup := loaded[0].Scenario.GetSetup()
			if got := len(rowsOf(t, setup, world.Contact)); got != 7 {
				t.Errorf("contacts: got %d, want the 7 of the phone's base", got)
			}
			setting := rowsOf(t, setup, world.Setting)[0].GetCells()
			schema, err := world.NewSchema(setup.GetSchema())
			if err != nil {
				t.Fatal(err)
			}
			table, _ := schema.Table(world.Setting)
			if got := setting[table.Column("wifi")]; got.GetBoolean() || got.GetKind() == nil {
				t.Errorf("wifi: got %v, want false", got)
			}
			if got := setting[table.Column("battery_percent")].GetNumber(); got != 80 {
				t.Errorf("battery_percent: got %v, want 80", got)
			}
			if got, want := setup.GetClock().GetTimeZone(), "America/Los_Angeles"; got != want {
				t.Errorf("time zone: got %q, want %q", got, want)
			}
		})
	}
}

func TestPhoneWorldErrors(t *testing.T) {
	for _, test := range []struct {
		name, start, own, want string
	}{
		{"unknown", "world: phone/wifi_of", testWorld,
			`a.yaml:2:10: one.world: the pack phone has no worlds/wifi_of.yaml; did you mean "wifi_off"?`},
		{"unknown base", "world: base", "extends: phone/\n",
			`worlds/base.yaml:1:10: extends: the pack phone has no worlds/.yaml`},
		{"without the prefix", "world: wifi_off", testWorld,
			`a.yaml:2:10: one.world: there is no worlds/wifi_off.yaml; that of the phone is phone/wifi_off`},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkErrors(t, files(edit(t, testScenario, "world: base", test.start), test.own), []string{test.want})
		})
	}
}

// TestPhoneWorldStandalone starts a scenario of a pack without the phone's tables in a world of the
// phone.
func TestPhoneWorldStandalone(t *testing.T) {
	fsys := files("world: phone/base\nuser: {goal: x, says: x}\n", "tables: {}\n")
	fsys["pack.yaml"] = &fstest.MapFile{Data: []byte("name: a\nstandalone: true\n")}
	checkErrors(t, fsys, []string{"a.yaml:2:10: one.world: worlds/base.yaml of the pack phone does not fit the tables of this pack"})
}
