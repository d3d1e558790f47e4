package form

import (
	"flag"
	"strings"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const (
	catalogueDir = "../../packs/phone"
	everything   = "../testdata/everything"
)

// testWorld is a valid world.
const testWorld = `clock: {now: 2025-01-02T03:04:05, time_zone: Europe/Berlin}
tables:
  contact:
    - {name: Ada, phone_number: "+493023125000", is_self: true}
`

// testScenario is valid. Tests replace lines.
const testScenario = `world: base
categories: [SINGLE_TOOL_CALL]
user:
  goal: Wifi off.
  says: Wifi off!
oracle:
  - calls: [{tool: set_wifi_status, arguments: {on: false}}]
  - say: Done.
milestones:
  off:
    table: setting
    expect: {wifi: false}
  told:
    says: Done.
`

// named returns a scenario with a name and fields.
func named(name, fields string) string {
	return name + ":\n" + strings.TrimSuffix("  "+strings.ReplaceAll(fields, "\n", "\n  "), "  ")
}
