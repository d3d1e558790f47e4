package messagetext

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func jsonCall(id *string, arguments string) *worldv1.ToolCall {
	return &worldv1.ToolCall{Id: id, Tool: "f", ArgumentsJson: arguments}
}

func textCall(id *string, arguments string) *worldv1.ToolCall {
	return &worldv1.ToolCall{Id: id, Tool: "f", ArgumentsText: &arguments}
}

func TestSource(t *testing.T) {
	t.Parallel()
	id := proto.String("a")
	named := jsonCall(id, "{}")
	named.Variable = proto.String("f")
	for name, test := range map[string]struct {
		call *worldv1.ToolCall
		want string
	}{
		"object":        {jsonCall(id, `{"x": 1.0, "y": "\ud800"}`), "a_parameters = {'x': 1.0, 'y': '\\ud800'}\na_response = f(**a_parameters)\nprint(repr(a_response))"},
		"no arguments":  {&worldv1.ToolCall{Id: id, Tool: "f"}, "a_parameters = {}\na_response = f(**a_parameters)\nprint(repr(a_response))"},
		"no id":         {jsonCall(nil, "{}"), "None_parameters = {}\nNone_response = f(**None_parameters)\nprint(repr(None_response))"},
		"empty id":      {jsonCall(proto.String(""), "{}"), "_parameters = {}\n_response = f(**_parameters)\nprint(repr(_response))"},
		"variable":      {named, "f_parameters = {}\nf_response = f(**f_parameters)\nprint(repr(f_response))"},
		"text":          {jsonCall(id, `"on"`), "a_parameters = 'on'\na_response = f(**a_parameters)\nprint(repr(a_response))"},
		"spelled":       {jsonCall(id, `"{\"x\": true}"`), "a_parameters = {\"x\": true}\na_response = f(**a_parameters)\nprint(repr(a_response))"},
		"no JSON":       {textCall(id, "{'x'}"), "a_parameters = \"{'x'}\"\na_response = f(**a_parameters)\nprint(repr(a_response))"},
		"never run":     {textCall(id, "{}"), "a_parameters = '{}'\na_response = f(**a_parameters)\nprint(repr(a_response))"},
		"empty text":    {textCall(id, ""), "a_parameters = ''\na_response = f(**a_parameters)\nprint(repr(a_response))"},
		"unsound JSON":  {jsonCall(id, "{"), "a_parameters = '{'\na_response = f(**a_parameters)\nprint(repr(a_response))"},
		"not a mapping": {jsonCall(id, "null"), "a_parameters = None\na_response = f(**a_parameters)\nprint(repr(a_response))"},
	} {
		if diff := cmp.Diff(test.want, Source(test.call)); diff != "" {
			t.Errorf("%s: Source (-want +got):\n%s", name, diff)
		}
	}
}
