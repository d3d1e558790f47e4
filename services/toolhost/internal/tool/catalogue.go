package tool

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/packs"
)

// originalOrder is the order of tools in the original. Agents see tools in this order, and it
// breaks ties.
func originalOrder() []string {
	return []string{
		"add_contact", "modify_contact", "remove_contact", "search_contacts", "get_cellular_service_status",
		"search_messages", "send_message_with_phone_number", "convert_currency", "get_current_location",
		"get_location_service_status", "get_wifi_status", "search_lat_lon", "search_location_around_lat_lon",
		"search_stock", "search_weather_around_lat_lon", "add_reminder", "modify_reminder", "remove_reminder",
		"search_reminder", "get_low_battery_mode_status", "set_cellular_service_status", "set_location_service_status",
		"set_low_battery_mode_status", "set_wifi_status", "end_conversation", "calculate_lat_lon_distance",
		"datetime_info_to_timestamp", "get_current_timestamp", "search_holiday", "seconds_to_hours_minutes_seconds",
		"shift_timestamp", "timestamp_diff", "timestamp_to_datetime_info", "unit_conversion",
	}
}

// Catalogue is a set of tools. It is immutable and safe for concurrent use.
type Catalogue struct {
	tools     []*Tool
	byName    map[string]*Tool
	scrambled map[string]string
}

// Builtin returns the tools of the pack phone, which are functions of its Python files, and those
// of the simulated user.
func Builtin() *Catalogue { return builtin() }

var builtin = sync.OnceValue(builtinTools)

func builtinTools() *Catalogue {
	tools := userTools()
	owners, confirm, actions := make(map[implementation]string), make(map[string]bool), make(map[string]string)
	sources := packs.PhoneTools()
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		m := &module{name: name, source: sources[name], schema: world.Builtin(), owners: owners, confirm: confirm, actions: actions, builtin: true}
		m.compile()
		if len(m.mistakes) > 0 {
			panic(m.mistakes) // the files are part of the program
		}
		tools = append(tools, m.tools...)
	}
	return New(tools)
}

// New returns a catalogue of tools in the original's order. Other tools follow in the given order.
// Names must be unique. Catalogues own the tools.
func New(tools []*Tool) *Catalogue {
	indices := make(map[string]int, len(originalOrder()))
	for i, name := range originalOrder() {
		indices[name] = i
	}
	at := func(t *Tool) int {
		if i, exists := indices[t.Name]; exists {
			return i
		}
		return len(indices)
	}
	c := &Catalogue{tools: slices.Clip(slices.Clone(tools)), byName: make(map[string]*Tool, len(tools)), scrambled: scramble(tools)}
	slices.SortStableFunc(c.tools, func(a, b *Tool) int { return cmp.Compare(at(a), at(b)) })
	for _, t := range c.tools {
		c.byName[t.Name] = t
		if t.signature.Func == "" { // set if the tool is in another catalogue
			t.setSignature()
		}
	}
	return c
}

// All returns all tools in order. The slice must not be changed, but may be appended to.
func (c *Catalogue) All() []*Tool { return c.tools }

// Find returns a tool by name, nil if it is unknown.
func (c *Catalogue) Find(name string) *Tool { return c.byName[name] }
