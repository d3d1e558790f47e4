package executor

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/tool"
)

const (
	wifiIsOn  = `{"tool_name": "get_wifi_status", "arguments": {}, "result": true}`
	wifiIsOff = `{"tool_name": "get_wifi_status", "arguments": {}, "result": false}`
	wifiOff   = `{"tool_name": "set_wifi_status", "arguments": {"on": false}, "result": null}`
)

func TestProgram(t *testing.T) {
	tests := []struct {
		name, source string
		want         Answer
	}{
		{"calls on one line", "print(repr(set_wifi_status(not get_wifi_status())))", Answer{Content: "None", Traces: traced(wifiIsOn, wifiOff)}},
		{"calls in a row", "get_wifi_status()\nset_wifi_status(on=False)\nprint(f'{get_wifi_status()}')", Answer{Content: "False", Traces: traced(wifiIsOn, wifiOff, wifiIsOff)}},
		{"in a function", "def g():\n    return get_wifi_status()\n\nprint(g())", Answer{Content: "True", Traces: traced(wifiIsOn)}},
		{"no call", "print('  é\\n\\n')", Answer{Content: "é"}},
		{"a tool as a value", "print(repr(search_contacts))", Answer{Content: "<function search_contacts at 0x7F0000000000>"}},
		{"a call, then an exception", "print(get_wifi_status(), end=''); 1/0", Answer{
			Content: "True\nZeroDivisionError: division by zero", Exception: "ZeroDivisionError: division by zero", Traces: traced(wifiIsOn),
		}},
		{"a tool raises", "print('a')\nset_wifi_status('x')\nprint('b')", Answer{
			Content:   "a\nTypeError: Parameter 'on' is of type '<class 'str'>', but expected '<class 'bool'>'.",
			Exception: "TypeError: Parameter 'on' is of type '<class 'str'>', but expected '<class 'bool'>'.",
		}},
		{"an exception of a tool is handled", "try:\n    add_contact('x', 'bad')\nexcept Exception as e:\n    print(type(e).__name__, e.args)", Answer{
			Content: "NumberParseException ('(1) The string supplied did not seem to be a phone number.',)",
		}},
		{"the text of an exception ends with a line break", "raise ValueError('a\\n')", Answer{Content: "ValueError: a", Exception: "ValueError: a"}},
		{"only an exception", "undefined_name", Answer{
			Content: "NameError: name 'undefined_name' is not defined", Exception: "NameError: name 'undefined_name' is not defined",
		}},
		{"not a number", "x = float('nan')\nsearch_contacts(name=x)", Answer{
			Content: "NameError: name 'nan' is not defined", Exception: "NameError: name 'nan' is not defined",
		}},
		{"does not compile", "a b", Answer{
			Content:   "  File \"<input>\", line 1\n    a b\n      ^\nSyntaxError: invalid syntax\n",
			Exception: "  File \"<input>\", line 1\n    a b\n      ^\nSyntaxError: invalid syntax\n",
		}},
		{"incomplete", "print(1", Answer{
			Content:   "Error: The given code was incomplete and could not be executed: 'print(1'",
			Exception: "Error: The given code was incomplete and could not be executed: 'print(1'",
		}},
		{"without end", "while True: pass", Answer{
			Content: "TimeoutError: more than 200000 steps are needed", Exception: "TimeoutError: more than 200000 steps are needed",
		}},
	}
	env := environment(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			answers, _, err := env.Run(t.Context(), someWorld(), sourceMessages(test.source), agent)
			if err != nil {
				t.Fatalf("Run(%q): %v", test.source, err)
			}
			if diff := cmp.Diff([]Answer{test.want}, answers, protocmp.Transform()); diff != "" {
				t.Errorf("Run(%q) (-want +got):\n%s", test.source, diff)
			}
		})
	}
}

// TestProgramKeepsWorld checks that changes of a program before its failure remain.
func TestProgramKeepsWorld(t *testing.T) {
	env := environment(t)
	_, world, err := env.Run(t.Context(), someWorld(), sourceMessages("set_wifi_status(False)\n1/0"), agent)
	if err != nil {
		t.Fatal(err)
	}
	answers, _, err := env.Run(t.Context(), world, sourceMessages("get_wifi_status()"), agent)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{wifiIsOff}, traces(answers[0])); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
}

func TestProgramCallable(t *testing.T) {
	catalogue := tool.Builtin()
	selection, err := catalogue.Select(&setupv1.ToolSelection{Allow: []string{"get_wifi_status", "end_conversation"}})
	if err != nil {
		t.Fatalf("select tools: %v", err)
	}
	env := New(catalogue, selection)
	for _, test := range []struct {
		source string
		sender worldv1.Role
		want   string
	}{
		{"x = [get_wifi_status()]", agent, ""},
		{"x = [set_wifi_status(True)]", agent, "NameError: name 'set_wifi_status' is not defined"},
		{"x = [end_conversation()]", agent, "NameError: name 'end_conversation' is not defined"},
		{"x = [end_conversation()]", worldv1.Role_ROLE_USER, ""},
		{"x = [get_wifi_status()]", worldv1.Role_ROLE_USER, "NameError: name 'get_wifi_status' is not defined"},
	} {
		answers, _, err := env.Run(t.Context(), someWorld(), sourceMessages(test.source), test.sender)
		if err != nil {
			t.Fatalf("Run(%q): %v", test.source, err)
		}
		if got := answers[0].Exception; got != test.want {
			t.Errorf("Run(%q) by %v: got exception %q, want %q", test.source, test.sender, got, test.want)
		}
	}
}

// TestProgramsInBatch checks that the search runs programs on copies of the world.
func TestProgramsInBatch(t *testing.T) {
	pool := append(sources(),
		"if get_wifi_status(): set_wifi_status(False)\nelse: 1/0",
		"for c in search_contacts(name='bob'): modify_contact(c['person_id'], relationship='x')",
		"print([c['name'] for c in search_contacts(is_self=True)][0])",
		"set_low_battery_mode_status(True); print(get_wifi_status())",
		"x = add_contact('Gus', '+14085551111')\nremove_contact(x)",
	)
	first := len(sources())
	env := environment(t)
	for i := first; i < len(pool); i++ {
		for j := range pool {
			for k := 0; k < len(pool); k += 3 {
				texts := []string{pool[j], pool[i], pool[k]}
				calls := make([]call, len(texts))
				for n := range texts {
					calls[n] = env.resolveSource(texts[n])
				}
				wantAnswers, wantWorld := allOrders(calls, someWorld())
				gotAnswers, gotWorld, err := env.Run(t.Context(), someWorld(), sourceMessages(texts...), agent)
				if err != nil {
					t.Fatalf("Run(%q): %v", texts, err)
				}
				if diff := cmp.Diff(wantAnswers, gotAnswers, protocmp.Transform()); diff != "" {
					t.Fatalf("Run(%q): answers (-all orders +got):\n%s", texts, diff)
				}
				if got, want := worldText(gotWorld), worldText(wantWorld); got != want {
					t.Fatalf("Run(%q): got world %s\nwant %s", texts, got, want)
				}
			}
		}
	}
}

// TestProgramsInBatchAreBounded checks that the steps of programs limit the search, independent of
// the machine's speed.
func TestProgramsInBatchAreBounded(t *testing.T) {
	texts := make([]string, 8)
	for i := range texts {
		texts[i] = "for i in range(15000):\n    x = i + " + string(rune('0'+i)) + "\nsearch_contacts(name='A')\nadd_contact('A', '+14085551111')"
	}
	_, _, err := environment(t).Run(t.Context(), someWorld(), sourceMessages(texts...), agent)
	if !errors.Is(err, ErrTooManyOrders) {
		t.Errorf("got error %v, want %v", err, ErrTooManyOrders)
	}
}

// TestSourceErrors runs sources beyond a single call. Each answers output, or an error in the
// original's format.
func TestSourceErrors(t *testing.T) {
	form := regexp.MustCompile(`^(Error: The given code was incomplete|  File "<input>", line \d+\n|[\w.]+(: .*)?\n?$)`)
	env, played, failed := environment(t), 0, 0
	vectortest.Lines(t, vectortest.Dir(t, "tools/raw_source.jsonl"), func(number int, raw []byte) {
		var c struct{ Source, Expect string }
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatalf("line %d: %v", number, err)
		}
		if c.Expect == "equal" { // compared through the service
			return
		}
		answers, _, err := env.Run(t.Context(), someWorld(), sourceMessages(c.Source), agent)
		if err != nil || len(answers) != 1 {
			t.Fatalf("line %d: %d answers, error %v", number, len(answers), err)
		}
		played++
		exception := answers[0].Exception
		if exception == "" {
			return
		}
		failed++
		if !form.MatchString(exception) || !strings.HasSuffix(answers[0].Content, exception) {
			t.Errorf("line %d: %q answers %+v", number, c.Source, answers[0])
		}
	})
	t.Logf("%d sources, %d of them raise", played, failed)
}
