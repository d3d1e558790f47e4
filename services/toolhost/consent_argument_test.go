package toolhost

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/worldtest"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
)

// TestConsentToArguments limits consents to one contact. The error names the argument that differs,
// but not the value, which may be the solution.
func TestConsentToArguments(t *testing.T) {
	const other = "PermissionError: The user has allowed this with another person_id. Ask the user whether you may remove a contact, and call again when the user has said yes."
	client, setup := start(t), gatedSetup()
	addContacts(setup, "b", "c", "d")
	about := func(id, more string) string {
		return `allow_action {"action": "remove a contact", "arguments": {"person_id": "` + id + `"}` + more + `}`
	}
	call := func(id string) string { return `remove_contact {"person_id": "` + id + `"}` }
	for _, test := range []struct {
		name   string
		allow  []string
		calls  []string // one message each
		answer []string
	}{
		{"another one", []string{about("b", "")}, []string{call("c"), call("b"), call("b")}, []string{other, allowed, refusal}},
		{"for the conversation", []string{about("b", `, "scope": "conversation"`)}, []string{call("b"), call("c")}, []string{allowed, other}},
		{"each its own", []string{about("b", ""), about("c", "")}, []string{call("c"), call("d"), call("b")}, []string{allowed, other, allowed}},
		{"and any", []string{about("b", ""), `allow_action {"action": "remove a contact"}`}, []string{call("c"), call("b"), call("d")}, []string{allowed, allowed, refusal}},
		{"expired", []string{about("b", `, "minutes": 0`)}, []string{call("c"), call("b")}, []string{refusal, refusal}},
		{"no limit", []string{`allow_action {"action": "remove a contact", "arguments": {}}`}, []string{call("c")}, []string{allowed}},
		{"null", []string{`allow_action {"action": "remove a contact", "arguments": null}`}, []string{call("c")}, []string{allowed}},
		{"another type", []string{`allow_action {"action": "remove a contact", "arguments": {"person_id": ["b"]}}`}, []string{call("b")}, []string{other}},
		{"by place, in a program", []string{about("b", "")}, []string{"remove_contact('c')", "f = remove_contact\nprint(f('b'))"}, []string{other, "None"}},
	} {
		k := begin(t, client, strings.ReplaceAll(test.name, " ", "_"), setup)
		for _, source := range test.allow {
			k.accept(test.name, theUser, source)
		}
		for i, source := range test.calls {
			if got := k.execute(theAgent, source)[0]; !strings.HasPrefix(lastLine(got), test.answer[i]) {
				t.Errorf("%s: %s: got %q, want %q", test.name, source, got, test.answer[i])
			}
		}
	}

	k := begin(t, client, "batch", setup)
	k.execute(theUser, about("c", ""), about("b", ""))
	if diff := cmp.Diff([]string{allowed, other, allowed}, k.execute(theAgent, call("b"), call("d"), call("c"))); diff != "" {
		t.Errorf("three calls of one message with two consents (-want +got):\n%s", diff)
	}
	var many []string
	for n := range 20 {
		many = append(many, fmt.Sprintf("m%d", n))
	}
	addContacts(setup, many...)
	k = begin(t, client, "many", setup)
	var removals []string
	for _, id := range many {
		k.accept("consent", theUser, about(id, ""))
		removals = append(removals, call(id))
	}
	slices.Reverse(removals)
	if diff := cmp.Diff(slices.Repeat([]string{allowed}, len(many)), k.execute(theAgent, removals...)); diff != "" {
		t.Errorf("twenty calls of one message, each with its own consent (-want +got):\n%s", diff)
	}
}

// TestConsentToDefaults limits consents to arguments that calls omit, and to numbers with several
// spellings.
func TestConsentToDefaults(t *testing.T) {
	setup := gatedSetup()
	setup.ToolModules = []*setupv1.ToolModule{{Name: "bank", Source: "from typing import Optional\n\n\n@confirm\n" +
		"def pay(amount: float, fast: bool = False, note: Optional[str] = None) -> str:\n  '''Pays.\n\n  Args:\n    amount: How much.\n" +
		"    fast: Whether at once.\n    note: What for.\n  '''\n  return 'paid'\n"}}
	_, setup.ConsentTools, _ = PackTools(setup)
	client := start(t)
	for i, test := range []struct {
		arguments, call string
		want            bool
	}{
		{`{"amount": 5}`, `pay {"amount": 5.0}`, true},
		{`{"amount": 5.5}`, `pay {"amount": 5}`, false},
		{`{"fast": false}`, `pay {"amount": 5}`, true},
		{`{"fast": true}`, `pay {"amount": 5}`, false},
		{`{"note": null, "fast": false}`, `pay {"amount": 5, "fast": false}`, true},
		{`{"note": null}`, `pay {"amount": 5, "note": "rent"}`, false},
		{`{"note": "rent", "amount": 7}`, `pay {"note": "rent", "amount": 7}`, true},
	} {
		k := begin(t, client, fmt.Sprintf("d%d", i), setup)
		k.accept("consent", theUser, `allow_action {"action": "pay", "arguments": `+test.arguments+`}`)
		if got := k.execute(theAgent, test.call)[0]; (got == "'paid'") != test.want {
			t.Errorf("%s: %s: got %q, want it allowed: %v", test.arguments, test.call, got, test.want)
		}
	}
}

// addContacts adds contacts to the address book of a setup.
func addContacts(setup *setupv1.Setup, ids ...string) {
	contacts := setup.GetTables()[2] // the last version
	for i, id := range ids {
		contacts.Rows = append(contacts.GetRows(), worldtest.Contact(id, "Contact "+id, fmt.Sprintf("+1408555%04d", 2000+i), false))
	}
}

// lastLine returns the last line of a traceback or of the output.
func lastLine(text string) string {
	return text[strings.LastIndexByte(strings.TrimSpace(text), '\n')+1:]
}

// TestInvalidConsent makes invalid consents. None is stored.
func TestInvalidConsent(t *testing.T) {
	k := begin(t, start(t), "s", gatedSetup())
	deep := strings.Repeat("[", 2000) + strings.Repeat("]", 2000)
	for source, want := range map[string]string{
		`allow_action {"action": "remove a contact", "arguments": {"persn_id": "a"}}`:           "ValueError: Parameter 'arguments' names 'persn_id', expected some of: person_id",
		`allow_action {"action": "remove a contact", "arguments": "person_id"}`:                 "TypeError: Parameter 'arguments' is of type '<class 'str'>', but expected 'typing.Optional[dict]'.",
		`allow_action {"action": "remove a contact", "arguments": [{"person_id": "a"}]}`:        "TypeError: Parameter 'arguments' is of type '<class 'list'>'",
		"n = [1]\nn.append(n)\nallow_action('remove a contact', arguments={'person_id': n})":    "RecursionError",
		"n = {1: 'a'}\nallow_action('remove a contact', arguments=n)":                           "ValueError: Parameter 'arguments'",
		"n = {'person_id': 'a'}\nallow_action('remove a contact', arguments=n, minutes=[])":     "TypeError: Parameter 'minutes'",
		`allow_action {"action": "remove a contact", "arguments": {"person_id": ` + deep + `}}`: "TypeError: ",
		`allow_action {"action": 5}`:                                                                "TypeError: Parameter 'action' is of type '<class 'int'>'",
		`allow_action {"action": ""}`:                                                               "ValueError: Parameter 'action' is '', expected one of: ",
		`allow_action {"action": "remove a contact", "minutes": -0.0001}`:                           "ValueError: Parameter 'minutes' is smaller",
		`allow_action {"action": "remove a contact", "minutes": 1` + strings.Repeat("0", 400) + `}`: "ValueError: Parameter 'minutes' is larger",
		`allow_action {"action": "remove a contact", "scope": null}`:                                "TypeError: Parameter 'scope'",
		`allow_action {"action": "remove a contact", "scope": "Once"}`:                              "ValueError: Parameter 'scope' is 'Once', expected one of: once, conversation",
		`allow_action {"action": "remove a contact", "person": "a"}`:                                "TypeError",
	} {
		if got := k.execute(theUser, source)[0]; !strings.HasPrefix(lastLine(got), want) {
			t.Errorf("%.80s: got %.200q, want %q", source, got, want)
		}
	}
	if got := k.consents(); got != nil {
		t.Errorf("consents: got %v, want none", got)
	}
}
