package scenario

import (
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// TemplateWorld is the name of the template's starting world.
const TemplateWorld = "plain"

// templateText is a valid scenario. NAME is the placeholder of its name.
const templateText = `# yaml-language-server: $schema=schema.json
# A scenario: toolsandbox scenario validate checks it, scenario show explains it, scenario prove shows that it is sound.
NAME:
  # For other authors; no role ever sees it.
  notes: The number is in the address book under the person's job.
  # A file in worlds/. Change its tables for this scenario alone with tables.
  world: plain
  # Where it fits, categories: [STATE_DEPENDENCY, CANONICALIZATION, INSUFFICIENT_INFORMATION, COREFERENCE, DISAMBIGUATION]. Those that
  # count calls and turns of the user follow from the solution.
  # The agent gets the tools that the oracle calls. Others stand in extra_tools; distraction tools are added in the variants.
  user:
    # What a simulated user wants, and what it may tell when asked.
    goal: Find out the phone number of your plumber.
    knowledge: The pipe below the kitchen sink leaks.
    # The first message.
    says: What's my plumber's number?
  # A solution, turn by turn. It scores 1. A turn that every solution has in common is a milestone, as the last text is by itself,
  # called told. Others, like changes of the world, stand by name in milestones.
  oracle:
    - {search_contacts: {relationship: plumber}, milestone: searched}
    - say: Your plumber Ada Quist has the number +493023125099.
`

const templateWorldText = `# yaml-language-server: $schema=../schema.json
clock: {now: 2025-01-02T09:00:00, time_zone: Europe/Berlin}
tables:
  setting: [{cellular: true, wifi: true, location_service: true, low_battery_mode: false, latitude: 52.52, longitude: 13.405}]
  contact:
    - {name: Juno Falk, phone_number: "+493023125040", relationship: self, is_self: true}
    - {name: Ada Quist, phone_number: "+493023125099", relationship: plumber, is_self: false}
`

// Template returns a new scenario with a name, and its starting world. Both are in canonical form,
// and the scenario can be run and scored. The error is about the name.
func Template(name string) (scenario, world []byte, err error) {
	if !form.NameExpression.MatchString(name) {
		return nil, nil, fmt.Errorf("%q is no name, expected up to 200 letters, digits, dots, dashes and underscores that start with a letter or digit", name)
	}
	if suffix := variantSuffix(name); suffix != "" {
		return nil, nil, fmt.Errorf("%q ends in %s, as the name of a variant does: take another one", name, suffix)
	}
	return []byte(strings.Replace(templateText, "NAME", name, 1)), []byte(templateWorldText), nil
}
