package prove

import (
	"slices"
	"strconv"
	"strings"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// filled returns calls of a tool with the given arguments. Other required arguments get values of
// the initial world, where there are any.
func (s *candidate) filled(tool string, arguments []argument) []*worldv1.ToolCall {
	info := s.tools[tool]
	if info == nil || !info.agent {
		return nil
	}
	lists := [][]argument{arguments}
	add := func(p parameter) {
		var next [][]argument
		for _, list := range lists {
			for _, value := range s.values(tool, p) {
				next = append(next, append(slices.Clone(list), argument{p.name, value}))
			}
		}
		lists = next
	}
	has := func(name string) bool {
		return slices.ContainsFunc(arguments, func(a argument) bool { return a.name == name })
	}
	optional := strings.HasPrefix(tool, "modify_") || strings.HasPrefix(tool, "search_")
	for _, p := range info.parameters {
		if p.required && !has(p.name) {
			add(p)
		}
	}
	for _, p := range info.parameters {
		// Tools that change or search need at least one optional argument.
		if optional && !p.required && len(lists) > 0 && !slices.ContainsFunc(arguments, func(a argument) bool { return !info.required(a.name) }) &&
			(p.name == "name" || p.name == "content") {
			add(p)
			break
		}
	}
	var calls []*worldv1.ToolCall
	for _, list := range lists {
		calls = append(calls, callOf(tool, list...))
	}
	return calls
}

// required returns whether a tool requires an argument.
func (t *toolInfo) required(name string) bool {
	return slices.ContainsFunc(t.parameters, func(p parameter) bool { return p.name == name && p.required })
}

// maxValues is the number of rows to try for one argument.
const maxValues = 3

// values returns plausible values of an argument in the initial world.
func (s *candidate) values(tool string, p parameter) []string {
	creates := strings.HasPrefix(tool, "add_") || strings.HasPrefix(tool, "modify_")
	for _, table := range s.oracle.schema.StoredTables() {
		if p.name == table.Columns[0].Name {
			return s.column(table.Name, p.name)
		}
	}
	switch {
	case p.name == "phone_number" && !creates, p.name == "name" && !creates:
		return s.column(tableContact, p.name)
	case p.name == "content" && tool == "search_messages":
		return s.column(tableMessaging, p.name)
	case p.name == "content" && !creates && tool == "search_reminder":
		return s.column(tableReminder, p.name)
	}
	sample := map[string]string{
		"name": quote(strangeName), "phone_number": quote(strangeNumber), "content": quote(strangeContent),
		"from_unit": `"meter"`, "to_unit": `"foot"`, "from_currency_code": `"EUR"`, "to_currency_code": `"USD"`,
		"holiday_name": `"Christmas Day"`, "location": `"cafe"`, "query": `"Apple"`, "year": "2025",
	}
	if value, ok := sample[p.name]; ok {
		return []string{value}
	}
	if strings.Contains(p.name, "timestamp") {
		return []string{strconv.FormatFloat(s.scenario.GetSetup().GetClock().GetNow()+day, 'f', 1, 64)}
	}
	switch p.kind {
	case "boolean":
		return []string{"true", "false"}
	case "integer", "number":
		return []string{"1"}
	default:
		return []string{quote(strangeContent)}
	}
}

// column returns some of a table's initial cells, as JSON; the phone's owner comes last.
func (s *candidate) column(table string, name string) []string {
	var others, self []string
	for _, r := range s.oracle.records(table, 0) {
		switch value := quote(r.text(name)); {
		case r.text(name) == "":
		case r["is_self"].GetBoolean():
			self = append(self, value)
		default:
			others = append(others, value)
		}
	}
	all := slices.Concat(others[:min(len(others), maxValues)], self)
	if len(all) == 0 {
		return []string{quote(strangeContent)}
	}
	return all
}
