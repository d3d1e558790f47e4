package euroeval

import (
	"testing"

	"github.com/toolsandbox/toolsandbox/python"
)

const strictFunctions = `[
	{"name": "pay", "parameters": {"type": "dict", "required": ["amount"], "properties": {
		"amount": {"type": "float"}, "to": {"type": "string"}, "express": {"type": "boolean"}}}},
	{"name": "plan", "parameters": {"type": "dict", "required": ["days"], "properties": {
		"days": {"type": "array", "items": {"type": "integer"}}, "where": {"type": "dict"},
		"stops": {"type": "array", "items": {"type": "dict"}}, "code": {"type": "integer"}}}}]`

func TestGradeStrict(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, answers, calls string
		want                 Check
	}{
		{"exact", `[{"pay": {"amount": [1.5]}}]`, `[{"function": "pay", "arguments": {"amount": 1.5}}]`, CheckNone},
		{"integer for float", `[{"pay": {"amount": [1.0]}}]`, `[{"function": "pay", "arguments": {"amount": 1}}]`, CheckNone},
		{"boolean for float", `[{"pay": {"amount": [1.0]}}]`, `[{"function": "pay", "arguments": {"amount": true}}]`, CheckType},
		{"text for float", `[{"pay": {"amount": [1.0]}}]`, `[{"function": "pay", "arguments": {"amount": "1.0"}}]`, CheckType},
		{"integer for boolean", `[{"pay": {"amount": [1.0], "express": [true]}}]`,
			`[{"function": "pay", "arguments": {"amount": 1, "express": 1}}]`, CheckType},
		{"standard text", `[{"pay": {"amount": [1.0], "to": ["Dr. O'Neill-Smith"]}}]`,
			`[{"function": "pay", "arguments": {"amount": 1, "to": "dr O\"neill smith"}}]`, CheckNone},
		{"other text", `[{"pay": {"amount": [1.0], "to": ["A"]}}]`, `[{"function": "pay", "arguments": {"amount": 1, "to": "B"}}]`, CheckValue},
		{"required missing", `[{"pay": {"amount": ["", 1.0]}}]`, `[{"function": "pay", "arguments": {}}]`, CheckMissing},
		{"optional left out", `[{"pay": {"amount": [1.0], "to": ["", "A"]}}]`, `[{"function": "pay", "arguments": {"amount": 1}}]`, CheckNone},
		{"demanded left out", `[{"pay": {"amount": [1.0], "to": ["A"]}}]`, `[{"function": "pay", "arguments": {"amount": 1}}]`, CheckMissing},
		{"unknown argument", `[{"pay": {"amount": [1.0]}}]`, `[{"function": "pay", "arguments": {"amount": 1, "x": 1}}]`, CheckUnexpected},
		{"argument beyond the answer", `[{"pay": {"amount": [1.0]}}]`,
			`[{"function": "pay", "arguments": {"amount": 1, "to": "A"}}]`, CheckUnexpected},
		{"list", `[{"plan": {"days": [[1, 2]]}}]`, `[{"function": "plan", "arguments": {"days": [1, 2]}}]`, CheckNone},
		{"list in another order", `[{"plan": {"days": [[1, 2]]}}]`, `[{"function": "plan", "arguments": {"days": [2, 1]}}]`, CheckValue},
		{"boolean in list", `[{"plan": {"days": [[1, 2]]}}]`, `[{"function": "plan", "arguments": {"days": [true, 2]}}]`, CheckType},
		{"text in list", `[{"plan": {"days": [[1, 2]]}}]`, `[{"function": "plan", "arguments": {"days": ["1", "2"]}}]`, CheckType},
		{"float for integer", `[{"plan": {"days": [[1]], "code": [2]}}]`,
			`[{"function": "plan", "arguments": {"days": [1], "code": 2.0}}]`, CheckType},
		{"variable", `[{"plan": {"days": [[1]], "code": ["my_code"]}}]`,
			`[{"function": "plan", "arguments": {"days": [1], "code": "my_code"}}]`, CheckNone},
		{"nested option", `[{"plan": {"days": [[1]], "where": [{"city": ["Bergen", "Oslo"], "zip": ["", 1]}]}}]`,
			`[{"function": "plan", "arguments": {"days": [1], "where": {"city": "oslo"}}}]`, CheckNone},
		{"nested key unknown", `[{"plan": {"days": [[1]], "where": [{"city": ["Oslo"]}]}}]`,
			`[{"function": "plan", "arguments": {"days": [1], "where": {"city": "Oslo", "x": 1}}}]`, CheckValue},
		{"list of objects", `[{"plan": {"days": [[1]], "stops": [[{"at": ["A"]}, {"at": ["B", "C"]}]]}}]`,
			`[{"function": "plan", "arguments": {"days": [1], "stops": [{"at": "a"}, {"at": "c"}]}}]`, CheckNone},
		{"own description in any order", `[{"pay": {"amount": [1.0]}}, {"plan": {"days": [[1]]}}]`,
			`[{"function": "plan", "arguments": {"days": [1]}}, {"function": "pay", "arguments": {"amount": 1}}]`, CheckNone},
		{"greedy assignment fails", `[{"pay": {"amount": [1.0, 2.0]}}, {"pay": {"amount": [1.0]}}]`,
			`[{"function": "pay", "arguments": {"amount": 1}}, {"function": "pay", "arguments": {"amount": 2}}]`, CheckNone},
		{"one call for two", `[{"pay": {"amount": [1.0]}}, {"pay": {"amount": [1.0]}}]`,
			`[{"function": "pay", "arguments": {"amount": 1}}]`, CheckCount},
		{"two calls for one", `[{"pay": {"amount": [1.0]}}]`, `[{"function": "pay", "arguments": {"amount": 1}}, null]`, CheckCount},
		{"no call", `[{"pay": {"amount": [1.0]}}]`, `[null]`, CheckCallShape},
		{"other function", `[{"pay": {"amount": [1.0]}}]`, `[{"function": "plan", "arguments": {}}]`, CheckFunction},
		{"irrelevance", `[]`, `[]`, CheckNone},
		{"idle", `[{"pay": {"amount": [1.0]}}]`, `null`, CheckToolCalls},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := GradeStrict(parse(t, strictFunctions), parse(t, test.answers), `{"tool_calls": `+test.calls+`}`)
			if got.Check != test.want || got.Correct != (test.want == CheckNone) {
				t.Errorf("got correct = %v, check %q (%s), want %q", got.Correct, got.Check, got.Detail, test.want)
			}
		})
	}
	for _, prediction := range []string{"", "[]", "{}", "```json\n{}\n```"} {
		if got := GradeStrict(parse(t, strictFunctions), parse(t, "[]"), prediction); got.Correct {
			t.Errorf("GradeStrict(%q) = correct, want wrong", prediction)
		}
	}
}

// parse parses JSON as Python does, with lone surrogates and exact numbers.
func parse(t *testing.T, text string) python.Value {
	t.Helper()
	v, err := python.ParseJSON(text)
	if err != nil {
		t.Fatalf("ParseJSON(%.80s): %v", text, err)
	}
	return v
}
