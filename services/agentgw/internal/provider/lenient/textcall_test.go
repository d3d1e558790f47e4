package lenient

import (
	"slices"
	"testing"
)

// TestCalledInText finds calls in the forms of several families of models.
func TestCalledInText(t *testing.T) {
	for text, called := range map[string]bool{
		`<tool_call>{"name": "set_wifi_status", "arguments": {"on": false}}</tool_call>`:          true,
		"<tool_call>set_wifi_status\n<arg_key>on</arg_key><arg_value>false</arg_value>":           true,
		"<function=set_wifi_status>\n<parameter=on>false</parameter>\n</function>":                true,
		`[TOOL_CALLS]set_wifi_status[ARGS]{"on": false}`:                                          true,
		`[TOOL_CALLS] [{"name": "set_wifi_status", "arguments": {"on": false}}]`:                  true,
		`<|tool_call_begin|>functions.set_wifi_status:0<|tool_call_argument_begin|>{"on": false}`: true,
		`<|python_tag|>set_wifi_status(on=False)`:                                                 true,
		"I call set_wifi_status(on=False).":                                                       true,
		"I would use set_wifi_status, if you agree.":                                              false,
		`Your contact is {"name": "Ada", "phone_number": "+1"}.`:                                  false,
	} {
		if got := slices.Contains(CalledInText(text), "set_wifi_status"); got != called {
			t.Errorf("%s: got a call %t, want %t", text, got, called)
		}
		if got := LooksLikeCall(text, "set_wifi_status"); got != called {
			t.Errorf("%s: looks like a call of the tool: got %t, want %t", text, got, called)
		}
	}
	for text, looks := range map[string]bool{
		`{"name": "get_time", "parameters": {}}`: true, "[TOOL_CALLS]get_time[ARGS]{}": true, "Call get_time() first.": false, `{"name": "Ada"}`: false,
	} {
		if got := LooksLikeCall(text, "set_wifi_status"); got != looks {
			t.Errorf("%s: looks like a call: got %t, want %t", text, got, looks)
		}
	}
}
