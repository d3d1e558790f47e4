package dialect

import (
	"testing"
)

func TestParsePlain(t *testing.T) {
	const ends = "end_conversation {}; "
	for text, want := range map[string]string{
		"":                              "",
		" It's Emil. \n":                "It's Emil.",
		"YOU: It's Emil.":               "It's Emil.",
		"One.\n\nTwo.":                  "One.\n\nTwo.",
		"It's Emil.\nASSISTANT: Which?": "It's Emil.",
		"ASSISTANT: Which?":             "",
		"ASSISTANT: Which?\nYOU: Mine.": "",
		"YOU: Mine.\nASSISTANT: Which?": "Mine.",
		"[END]":                         ends,
		"Thanks!\n[END]":                ends,
		"Thanks! [END]":                 ends,
		"YOU: [END]\nASSISTANT: Bye":    ends,
		"The word [END] is a mark.":     "The word [END] is a mark.",
		`[CALL] {"name": "set_wifi_status", "arguments": {"on": true}}`:                                             `set_wifi_status {"on": true}; `,
		"[CALL] {\"name\": \"a\", \"arguments\": {}}\n[CALL] {\"name\": \"b\", \"arguments\": {}}\nASSISTANT: Well": "a {}; b {}; ",
		"[CALL] {\"name\": \"a\", \"arguments\": {}}\n[END]":                                                        "a {}; " + ends,
		"[CALL] {\n  \"name\": \"a\",\n  \"arguments\": {}\n}\n[CALL] {\"name\": \"b\", \"arguments\": {}}":         "a {}; b {}; ",
		"YOU: [CALL]\n{\"name\": \"a\",\n\"arguments\": {}}\n[END]":                                                 "a {}; " + ends,
		"[CALL] {\"name\": \"a\", \"arguments\": {}} now":                                                           `tool_call_is_no_json "{\"name\": \"a\", \"arguments\": {}} now"; `,
		"[CALL] {\n\"name\": \"a\"\nASSISTANT: Well":                                                                `tool_call_is_no_json "{"; `,
		"[CALL] set_wifi_status": `tool_call_is_no_json "set_wifi_status"; `,
	} {
		answer := parsePlain(text)
		got := answer.Text
		for _, call := range answer.Calls {
			got += call.Name + " " + call.Arguments + "; "
		}
		if got != want {
			t.Errorf("parsePlain(%q): got %q, want %q", text, got, want)
		}
	}
}

func FuzzParsePlain(f *testing.F) {
	f.Add("Thanks!\n[END]")
	f.Add("[CALL] {\n\"name\": \"a\", \"arguments\": {}}\nASSISTANT: Well")
	f.Add(`[CALL] {"name": "a", "arguments": {"b": [1, "x"]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		if answer := parsePlain(text); answer.Text != "" && len(answer.Calls) > 0 {
			t.Errorf("parsePlain(%q): got a text and %d calls, want one of them", text, len(answer.Calls))
		}
	})
}
