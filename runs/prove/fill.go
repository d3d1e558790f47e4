package prove

import (
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/parameter"
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
	add := func(p parameter.Parameter) {
		var next [][]argument
		for _, list := range lists {
			for _, value := range s.values(tool, p) {
				next = append(next, append(slices.Clone(list), argument{p.Name, value}))
			}
		}
		lists = next
	}
	has := func(name string) bool {
		return slices.ContainsFunc(arguments, func(a argument) bool { return a.name == name })
	}
	optional := strings.HasPrefix(tool, "modify_") || strings.HasPrefix(tool, "search_")
	for _, p := range info.parameters {
		if p.Required && !has(p.Name) {
			add(p)
		}
	}
	for _, p := range info.parameters {
		// Tools that change or search need at least one optional argument.
		if optional && !p.Required && len(lists) > 0 && !slices.ContainsFunc(arguments, func(a argument) bool { return !info.required(a.name) }) &&
			(p.Name == "name" || p.Name == "content") {
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
	return slices.ContainsFunc(t.parameters, func(p parameter.Parameter) bool { return p.Name == name && p.Required })
}

// maxValues is the number of rows to try for one argument.
const maxValues = 3

// values returns plausible values of an argument in the initial world.
func (s *candidate) values(tool string, p parameter.Parameter) []string {
	creates := strings.HasPrefix(tool, "add_") || strings.HasPrefix(tool, "modify_")
	for _, table := range s.oracle.schema.StoredTables() {
		if p.Name == table.Columns[0].Name {
			return s.column(table.Name, p.Name)
		}
	}
	switch {
	case p.Name == "phone_number" && !creates, p.Name == "name" && !creates:
		return s.column(tableContact, p.Name)
	case p.Name == "content" && tool == "search_messages":
		return s.column(tableMessaging, p.Name)
	case p.Name == "content" && !creates && tool == "search_reminder":
		return s.column(tableReminder, p.Name)
	}
	sample := map[string]string{
		"name": quote(strangeName), "phone_number": quote(strangeNumber), "content": quote(strangeContent),
		"from_unit": `"meter"`, "to_unit": `"foot"`, "from_currency_code": `"EUR"`, "to_currency_code": `"USD"`,
		"holiday_name": `"Christmas Day"`, "location": `"cafe"`, "query": `"Apple"`, "year": "2025",
	}
	if value, ok := sample[p.Name]; ok {
		return []string{value}
	}
	if strings.Contains(p.Name, "timestamp") {
		return []string{strconv.FormatFloat(s.scenario.GetSetup().GetClock().GetNow()+day, 'f', 1, 64)}
	}
	switch p.Type {
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
