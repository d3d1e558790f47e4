package toolhost

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/world"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// refusals are the errors of tools without a service of the phone, by service.
func refusals() map[string]string {
	return map[string]string{
		"wifi":             "ConnectionError: Wifi is not enabled",
		"cellular":         "ConnectionError: Cellular service is not enabled",
		"location_service": "PermissionError: Location service is not enabled.",
	}
}

// TestNeeds calls every tool with its required arguments, with each service of the phone turned
// off. It must fail exactly if ListTools declares the service. No call of a read-only tool stores a
// version.
func TestNeeds(t *testing.T) {
	client := start(t)
	list, err := client.ListTools(t.Context(), &toolhostv1.ListToolsRequest{})
	if err != nil {
		t.Fatalf("list tools: %v", err)
	}
	if len(list.GetTools()) == 0 {
		t.Error("got no tools")
	}
	for number, info := range list.GetTools() {
		name := info.GetTool().GetName()
		for _, service := range slices.Sorted(maps.Keys(refusals())) {
			setup := smallSetup("small")
			settings, _ := world.Builtin().Table(world.Setting)
			setting := setup.GetTables()[0].GetRows()[0]
			setting.Cells[settings.Column(service)] = world.Bool(false)
			id := fmt.Sprintf("need.%d.%s", number, service)
			create(t, client, id, setup)
			before := versions(t, client, id)
			message := call(2, info.GetVisibleTo()[0], messagetext.ComposeSource("call_1", name, python.Repr(requiredArguments(t, info))))
			answer := run(t, client, id, 3, message).GetAnswers()[0]
			want := slices.Contains(info.GetNeeds(), service) || slices.Contains(info.GetDefaultNeeds(), service)
			if got := strings.HasPrefix(answer.GetResult().GetException(), refusals()[service]); got != want {
				t.Errorf("%s without %s: got exception %q, want refused: %v", name, service, answer.GetResult().GetException(), want)
			}
			if diff := cmp.Diff(before, versions(t, client, id)); info.GetReadOnly() && diff != "" {
				t.Errorf("%s without %s: versions (-before +after):\n%s", name, service, diff)
			}
		}
	}
}

// requiredArguments returns values for the required arguments of a tool's schema.
func requiredArguments(t *testing.T, info *toolhostv1.ToolInfo) python.Value {
	t.Helper()
	fitting := map[string]python.Value{
		"phone_number": python.Str("+14085550000"), "from_currency_code": python.Str("USD"), "to_currency_code": python.Str("CHF"),
		"from_unit": python.Str("inch"), "to_unit": python.Str("meter"), "on": python.Bool(false),
	}
	byType := map[string]python.Value{"string": python.Str("a"), "number": python.Float(1), "integer": python.Int(1), "boolean": python.Bool(true)}
	schema, err := python.ParseJSON(info.GetTool().GetParametersJson())
	if err != nil {
		t.Fatalf("schema of %s: %v", info.GetTool().GetName(), err)
	}
	object, _ := schema.AsDict()
	required, _ := object.Get("required")
	properties, _ := object.Get("properties")
	all, _ := properties.AsDict()
	names, _ := required.AsList()
	arguments := &python.Dict{}
	for _, value := range names {
		name, _ := value.AsStr()
		property, _ := all.Get(name)
		fields, _ := property.AsDict()
		kind, _ := fields.Get("type")
		text, _ := kind.AsStr()
		argument, known := fitting[name]
		if !known {
			argument = byType[text]
		}
		arguments.Set(name, argument)
	}
	return arguments.Value()
}
