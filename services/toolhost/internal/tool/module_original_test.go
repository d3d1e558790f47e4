package tool

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/worldtest"
	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// originalFile reads a file of testdata/original.
func originalFile(tb testing.TB, name string) string {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "original", name))
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

// TestOriginalTool loads tools that are written for the original. Each change that makes them load
// is named at once; after these changes they load and work.
func TestOriginalTool(t *testing.T) {
	extend := func(file string) (*Catalogue, error) {
		return Builtin().Extend(Pack{Modules: []*setupv1.ToolModule{{Name: "greet", Source: originalFile(t, file)}}, Schema: world.Builtin()})
	}
	_, err := extend("before.py")
	if err == nil {
		t.Fatal("the file for the original: got no error, want its changes")
	}
	if *update {
		if err := os.WriteFile(filepath.Join("testdata", "original", "changes.txt"), []byte(err.Error()+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(originalFile(t, "changes.txt"), err.Error()+"\n"); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	catalogue, err := extend("after.py")
	if err != nil {
		t.Fatalf("the changed file: %v", err)
	}
	w := session.NewWorld(&session.Config{Zone: time.UTC, Schema: world.Builtin()}, 1_700_000_000)
	w.Load(world.Contact, session.Decode([]*worldv1.Row{worldtest.Contact("id0", "Ann Example", "+14155550100", false)}))
	for _, test := range []struct{ tool, arguments, want string }{
		{"my_new_tool", `{"name": "Ann Example"}`, "'Dear Ann Example, your number is +14155550100'"},
		{"my_new_tool", `{"name": "Ann Example", "tone": "brief"}`, "'Ann Example, your number is +14155550100'"},
		{"my_new_tool", `{"name": "Ann Example", "tone": "loud"}`, "ValueError: Parameter 'tone' is 'loud', but expected one of 'warm', 'brief'."},
		{"my_new_tool", `{"name": "Bob"}`, "polars.exceptions.NoDataError: Nobody is called Bob"},
		{"keep_greeting", `{"content": "Hello", "reminder_timestamp": 1700000500}`, "'fb9bcfe3-dbbf-59d1-894c-7d680a04c416'"},
		{"drop_greeting", `{"reminder_id": "fb9bcfe3-dbbf-59d1-894c-7d680a04c416"}`, "None"},
	} {
		if got := call(t, catalogue, &w, test.tool, test.arguments); got != test.want {
			t.Errorf("%s with %s: got %s, want %s", test.tool, test.arguments, got, test.want)
		}
	}
	if roles := catalogue.Find("keep_greeting").VisibleTo(); !slices.Equal(roles, []worldv1.Role{worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_USER}) {
		t.Errorf("keep_greeting: got %v, want both roles", roles)
	}
}

// TestOriginalUses checks what is named for single uses of the original.
func TestOriginalUses(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"return get_current_context().get_database(DatabaseNamespace.NOTE)", `7:12: act: write world.rows("note") instead`},
		{"return get_current_context().get_database(namespace=DatabaseNamespace.NOTE).filter((pl.col('title') == x) & (pl.col('pages') == 5)).to_dicts()", `7:12: act: write world.rows("note", title=x, pages=5) instead`},
		{"return get_current_context().get_database(DatabaseNamespace.NOTE)['title'].to_list()",
			`7:12: act: write world.rows("note") instead, a list of rows that are dicts, and do the rest of this expression with them`},
		{"get_current_context().add_to_database(DatabaseNamespace.NOTE, rows)", `7:5: act: write world.add("note", row) for each row instead`},
		{"get_current_context().update_database(namespace=DatabaseNamespace.NOTE, dataframe=x)", `7:5: act: write world.update("note", {column: new value}, id_column=id) instead`},
		{"get_current_context().remove_from_database(DatabaseNamespace.NOTE, x)", `7:5: act: write world.remove("note", column=value) instead`},
	} {
		wantMistakes(t, toolSource(test.line), []string{test.want})
	}
	for _, test := range []struct{ source, want string }{
		{"@register_as_tool()\ndef act() -> None:\n    '''Acts.'''\n", "1:2: act: remove this decorator: a tool is the agent's"},
		{"@register_as_tool(visible_to=(RoleType.USER,), backend=ToolBackend.RAPID)\ndef act() -> None:\n    '''Acts.'''\n", `1:2: act: write @user and @backend("RAPID") instead of this decorator`},
		{"from uuid import uuid4\ndef act() -> str:\n    '''Acts.'''\n    return str(uuid4())\n", strings.Join([]string{
			"1:1: file: remove this import of uuid: ids come from world.new_id()", "4:12: act: write world.new_id() instead of str(uuid4())"}, "\n")},
		{"import random\ndef act() -> float:\n    '''Acts.'''\n    return random.choice([1.0])\n", strings.Join([]string{
			"1:1: file: remove this import of random: a number from 0 to below 1 comes from world.random()", "4:12: act: random of random is not here; write it without"}, "\n")},
	} {
		wantMistakes(t, test.source, strings.Split(test.want, "\n"))
	}
}
