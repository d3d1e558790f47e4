// Package worldtest makes rows of the built-in tables for tests. It names columns, so a new column
// of a table changes no test that does not use it.
package worldtest

import (
	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Cells are cells by column.
type Cells = map[string]*worldv1.Value

// Row returns a row of a built-in table. It panics for an unknown table or column.
func Row(table string, cells Cells) *worldv1.Row {
	schema, _ := world.Builtin().Table(table)
	return schema.NewRow(cells)
}

// Setting returns a row of SETTING with all services on and a position in degrees.
func Setting(latitude, longitude float64) *worldv1.Row {
	return Row(world.Setting, Cells{
		"device_id": world.Text("device"), "cellular": world.Bool(true), "wifi": world.Bool(true), "location_service": world.Bool(true),
		"low_battery_mode": world.Bool(false), "latitude": world.Number(latitude), "longitude": world.Number(longitude),
	})
}

// Contact returns a row of CONTACT without a relationship.
func Contact(id, name, number string, isSelf bool) *worldv1.Row {
	return Row(world.Contact, Cells{
		"person_id": world.Text(id), "name": world.Text(name), "phone_number": world.Text(number), "is_self": world.Bool(isSelf),
	})
}
