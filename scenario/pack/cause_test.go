package pack

import (
	"testing"
	"testing/fstest"
)

// TestCauses reports a mistake without those that follow from it.
func TestCauses(t *testing.T) {
	const (
		table   = "tables:\n  - name: order\n    columns: [{name: order_id, type: text}, {name: dish, type: text, measure: rouge_l}]\n"
		orders  = "  order: [{dish: Soup}, {dish: Rice}]\n"
		wanting = "  off:\n    update: {order: {order_id: $soup, dish: Stew}}\n"
	)
	for _, test := range []struct {
		name, file, old, replacement string
		want                         []string
	}{
		{"type in the schema", "schema.yaml", "type: text, measure", "type: string, measure", []string{
			`schema.yaml:3:64: tables[0].columns[1].type: unknown type "string"; expected one of text, number, boolean, and 2 more that may follow from it`}},
		{"measure in the schema", "schema.yaml", "rouge_l", "rouge", []string{
			`schema.yaml:3:79: tables[0].columns[1].measure: unknown measure "rouge"; expected one of close, contains, exact, one, rouge_l, tool_trace, and 2 more that may follow from it`}},
		{"name of a column in the schema", "schema.yaml", "name: dish, ", "", []string{
			`schema.yaml:3:45: tables[0].columns[1]: has no "name", which is required, and 2 more that may follow from it`}},
		{"table", "schema.yaml", "name: order\n", "name: orders\n", []string{
			`a.yaml:13:16: one.milestones.off.update.order: unknown field; did you mean "orders"?`,
			`worlds/base.yaml:7:3: tables.order: unknown table "order"; did you mean "orders"?`}},
		{"column", "schema.yaml", "dish", "food", []string{
			`a.yaml:13:41: one.milestones.off.update.order.dish: order has no column "dish"; expected one of order_id, food`,
			`worlds/base.yaml:7:12: tables.order[0].dish: order has no column "dish"; expected one of order_id, food`,
			`worlds/base.yaml:7:26: tables.order[1].dish: order has no column "dish"; expected one of order_id, food`}},
		{"world", "a.yaml", "world: base", "world: bass", []string{
			`a.yaml:2:10: one.world: there is no worlds/bass.yaml; did you mean "base"?`}},
		{"extended world", "worlds/base.yaml", "clock: {", "extends: bass\nclock: {", []string{
			`worlds/base.yaml:1:10: extends: there is no worlds/bass.yaml; did you mean "base"?`}},
		{"rows with the same id", "worlds/base.yaml", "Rice", "Soup", []string{
			`worlds/base.yaml:7:32: tables.order[1].dish: has the order_id of the row of order at worlds/base.yaml:7:18, as it is made of dish; ` +
				`write another one, or order_id: $… with a name of its own`}},
		{"rows without the row that is named", "worlds/base.yaml", "{dish: Soup}, {dish: Rice}", "{dish: Rice}, {dish: Rice}", []string{
			`worlds/base.yaml:7:32: tables.order[1].dish: has the order_id of the row of order at worlds/base.yaml:7:18, as it is made of dish; ` +
				`write another one, or order_id: $… with a name of its own`}},
		{"measure of a milestone", "a.yaml", "update: {order", "updates: {order", []string{
			`a.yaml:13:7: one.milestones.off.updates: unknown field; did you mean "update"?`}},
		{"tables of the schema", "schema.yaml", "tables:", "table:", []string{
			`schema.yaml:1:1: table: unknown field; did you mean "tables"?, and 2 more that may follow from it`}},
		{"category", "a.yaml", "SINGLE_TOOL_CALL", "BOOKS", []string{
			`a.yaml:3:16: one.categories[0]: unknown category "BOOKS"; categories in pack.yaml lists those of the pack`}},
		{"tab", "a.yaml", "  user:", "\tuser:", []string{
			"a.yaml:5:1: document: not readable as YAML: the line is indented with a tab; write spaces, two for each level"}},
		{"indentation", "schema.yaml", "    columns", "   columns", []string{
			"schema.yaml:3:4: document: not readable as YAML: value is not allowed in this context; indent the line like those beside it, and 2 more that may follow from it"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			scenario := edit(t, testScenario, "  off:\n    table: setting\n    expect: {wifi: false}\n", wanting)
			fsys := files(scenario, testWorld+orders)
			fsys["schema.yaml"] = &fstest.MapFile{Data: []byte(table)}
			if _, err := readPack(fsys, testOptions()); err != nil {
				t.Fatal(err)
			}
			fsys[test.file] = &fstest.MapFile{Data: []byte(edit(t, string(fsys[test.file].Data), test.old, test.replacement))}
			checkErrors(t, fsys, test.want)
		})
	}
}
