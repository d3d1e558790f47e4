package pack

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const (
	catalogueDir = "../../packs/phone"
	page         = "../../docs/scenarios.md"
)

// readPack returns the scenarios of a pack.
func readPack(fsys fs.FS, opts scenario.Options) ([]Loaded, error) {
	pack, err := Load(fsys, Options{Options: opts})
	if err != nil {
		return nil, err
	}
	return pack.Scenarios, nil
}

// canonicalText returns scenarios as indented JSON with fixed spacing. The encoder's spacing varies
// between builds.
func canonicalText(t *testing.T, loaded []Loaded) string {
	t.Helper()
	catalogue := &scenariov1.Catalogue{}
	for _, l := range loaded {
		catalogue.Scenarios = append(catalogue.Scenarios, l.Scenario)
	}
	raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(catalogue)
	if err != nil {
		t.Fatal(err)
	}
	var compacted, out bytes.Buffer
	if err := json.Compact(&compacted, raw); err != nil {
		t.Fatal(err)
	}
	if err := json.Indent(&out, compacted.Bytes(), "", "  "); err != nil {
		t.Fatal(err)
	}
	return out.String() + "\n"
}

func TestGolden(t *testing.T) {
	loaded, err := readPack(directory("testdata/everything"), scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, golden := canonicalText(t, loaded), filepath.Join("testdata", "everything.golden.json")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, want := loaded[1].Position, (document.Position{File: "all.yaml", Line: 80, Column: 1}); got != want {
		t.Errorf("position of %s: got %v, want %v", loaded[1].Scenario.GetSetup().GetName(), got, want)
	}
}

// TestCatalogue checks rules for every scenario of the built-in catalogue.
func TestCatalogue(t *testing.T) {
	loaded, err := readPack(directory(catalogueDir), scenario.Options{}) // a test of the command line checks it against the tools
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded) < 16 {
		t.Errorf("got %d scenarios, want at least 16", len(loaded))
	}
	categories := map[string]int{}
	number := regexp.MustCompile(`^\+[1-9][0-9]{7,14}$`)
	for i, l := range loaded {
		setup, name := l.Scenario.GetSetup(), l.Scenario.GetSetup().GetName()
		if i > 0 && loaded[i-1].Scenario.GetSetup().GetName() >= name {
			t.Errorf("%s comes after %s", name, loaded[i-1].Scenario.GetSetup().GetName())
		}
		for _, category := range setup.GetCategories() {
			categories[category]++
		}
		oracle := setup.GetOracleScript()
		if len(oracle) == 0 || oracle[len(oracle)-1].GetSay() == "" {
			t.Errorf("%s: the oracle does not end with words", name)
			continue
		}
		if nodes := l.Scenario.GetEvaluation().GetMilestones().GetNodes(); len(nodes) > 0 {
			cells := nodes[len(nodes)-1].GetConstraints()[0].GetTarget()[0].GetCells()
			if got, want := cells[len(cells)-1].GetValue().GetText(), oracle[len(oracle)-1].GetSay(); got != want {
				t.Errorf("%s: the last milestone wants %q, the oracle says %q", name, got, want)
			}
		}
		for _, table := range setup.GetTables() {
			if table.GetName() != world.Contact {
				continue
			}
			for _, row := range table.GetRows() {
				if got := row.GetCells()[2].GetText(); !number.MatchString(got) {
					t.Errorf("%s: phone number %q is not in international form", name, got)
				}
			}
		}
		checkTurns(t, name, oracle, setup.GetUserScript())
	}
	for _, category := range form.Categories() {
		if categories[category] == 0 {
			t.Errorf("no scenario is about %s", category)
		}
	}
}

// checkTurns checks that user and oracle alternate and that the user ends the conversation after
// the oracle's last text. The user's own calls may be in between.
func checkTurns(t *testing.T, name string, oracle, user []*worldv1.ScriptTurn) {
	t.Helper()
	said := 0
	for _, turn := range oracle {
		if len(turn.GetCalls()) == 0 {
			said++
		}
	}
	answers := 0
	for _, turn := range user {
		if calls := turn.GetCalls(); len(calls) == 0 || calls[0].GetTool() == "end_conversation" {
			answers++
		}
	}
	if said != answers {
		t.Errorf("%s: the oracle speaks %d times and the user answers %d times", name, said, answers)
	}
	for i, turn := range user {
		if ends := len(turn.GetCalls()) == 1 && turn.GetCalls()[0].GetTool() == "end_conversation"; ends != (i == len(user)-1) {
			t.Errorf("%s: user turn %d of %d: ends the conversation: %v", name, i, len(user), ends)
		}
	}
}

// TestSecrecy checks that the setup contains nothing of the evaluation.
func TestSecrecy(t *testing.T) {
	loaded, err := readPack(directory("testdata/everything"), scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range loaded {
		text := protojson.Format(l.Scenario.GetSetup())
		for _, secret := range []string{"Uses every field once", "trace.result", "It is {amount}"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s: the setup contains %q", l.Scenario.GetSetup().GetName(), secret)
			}
		}
	}
}

// TestPage loads the example in docs/scenarios.md.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{}
	for _, block := range regexp.MustCompile("(?s)```yaml\n# file: ([^\n]+)\n(.*?)```").FindAllSubmatch(text, -1) {
		fsys[string(block[1])] = &fstest.MapFile{Data: block[2]}
	}
	loaded, err := readPack(fsys, scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(fsys) != 3 || len(loaded) != 2 {
		t.Fatalf("got %d files with %d scenarios, want 3 with 2", len(fsys), len(loaded))
	}
	again, err := readPack(fsys, scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(loaded[0].Scenario, again[0].Scenario, protocmp.Transform()); diff != "" {
		t.Errorf("loading twice differs:\n%s", diff)
	}
	// The example's call names a row by its id in the world.
	arguments := loaded[0].Scenario.GetSetup().GetOracleScript()[2].GetCalls()[0].GetArgumentsJson()
	if id := loaded[0].Scenario.GetSetup().GetTables()[1].GetRows()[1].GetCells()[0].GetText(); !strings.Contains(arguments, id) {
		t.Errorf("the example calls with %s, want the id %s", arguments, id)
	}
}

// TestValidateCanonical checks mistakes that are impossible in YAML files.
func TestValidateCanonical(t *testing.T) {
	loaded, err := readPack(directory("testdata/everything"), scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	good := loaded[0].Scenario
	for _, c := range []struct {
		name   string
		change func(*scenariov1.Scenario)
		want   scenario.Problem
	}{
		{"nothing", func(*scenariov1.Scenario) {}, scenario.Problem{}},
		{"edge out of range", func(s *scenariov1.Scenario) {
			s.Evaluation.Milestones.Edges[0].After = 9
		}, scenario.Problem{Path: "evaluation.milestones.edges[0]", Reason: "leads from 0 to 9, expected numbers below 4"}},
		{"edge to itself", func(s *scenariov1.Scenario) {
			s.Evaluation.Milestones.Edges[0].Before = 2
		}, scenario.Problem{Path: "evaluation.milestones.edges[0]", Reason: "the order has a cycle: filled before filled"}},
		{"reference out of range", func(s *scenariov1.Scenario) {
			s.Evaluation.Milestones.Nodes[2].Constraints[0].Reference = proto.Int32(4)
		}, scenario.Problem{Path: "evaluation.milestones.nodes[2].constraints[0].reference", Reason: "is 4, expected -1 or a number below 4"}},
		{"trace no JSON", func(s *scenariov1.Scenario) {
			s.Evaluation.Milestones.Nodes[0].Constraints[0].Target[0].Cells[2].Value = world.Text("{")
		}, scenario.Problem{Path: "evaluation.milestones.nodes[0].constraints[0].target[0].cells[2]", Reason: "is no tool trace in JSON: {"}},
		{"arguments no object", func(s *scenariov1.Scenario) {
			s.Setup.OracleScript[0].Calls[0].ArgumentsJson = "null"
		}, scenario.Problem{Path: "setup.oracle_script[0].calls[0].arguments_json", Reason: "is no JSON object: null"}},
		{"gap", func(s *scenariov1.Scenario) {
			s.Setup.Messages[2].Index = 3
		}, scenario.Problem{Path: "setup.messages[2]", Reason: "has index 3, expected 2"}},
		{"no version", func(s *scenariov1.Scenario) {
			s.Setup.Tables = s.Setup.Tables[:3]
		}, scenario.Problem{Path: "setup.tables", Reason: "reminder has no version"}},
		{"short row", func(s *scenariov1.Scenario) {
			s.Setup.Tables[1].Rows[0].Cells = s.Setup.Tables[1].Rows[0].Cells[1:]
		}, scenario.Problem{Path: "setup.tables[1].rows[0]", Reason: "a row of contact has 4 cells, expected 5"}},
		{"wrong cell", func(s *scenariov1.Scenario) {
			s.Setup.Tables[1].Rows[0].Cells[4] = world.Text("yes")
		}, scenario.Problem{Path: "setup.tables[1].rows[0].cells[4]", Reason: "contact.is_self must be a boolean"}},
		{"no measure", func(s *scenariov1.Scenario) {
			s.Evaluation.Minefields.Nodes[0].Constraints[0].Measure = evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_UNSPECIFIED
		}, scenario.Problem{Path: "evaluation.minefields.nodes[0].constraints[0].measure", Reason: "is missing"}},
		{"user calls another tool", func(s *scenariov1.Scenario) {
			s.Setup.UserScript[1].Calls[0].Tool = "search_contacts"
		}, scenario.Problem{Path: "setup.user_script[1].calls[0].tool", Reason: `the user cannot call "search_contacts", only modify_contact, add_reminder, end_conversation; list it in user.tools if it should`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := proto.CloneOf(good)
			c.change(s)
			var want []scenario.Problem
			if c.want.Path != "" {
				want = []scenario.Problem{c.want}
			}
			if diff := cmp.Diff(want, scenario.Validate(s, scenario.Options{})); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidateEmpty(t *testing.T) {
	if problems := scenario.Validate(&scenariov1.Scenario{}, scenario.Options{}); len(problems) == 0 {
		t.Error("an empty scenario passes")
	}
}

// FuzzLoad checks that Load does not panic, that Validate accepts the result, and that every
// mistake is one line with a position.
// variedScenario has most fields of the format.
const variedScenario = `one:
  max_idle_score: 0.5 # generous
  tables: {contact: {add: [{name: SETTING}]}}
  categories: [COREFERENCE]
  user: {goal: Know., knowledge: You do not know why. Or how., unknown: her name, demonstrations: [{user: Hi.}], says: Look at wifi.}
  oracle:
    - get_wifi_status: {trip: CONTACT, floor: 1, timestamp_0: 2025-03-15T10:00}
    - {say: It is on., milestone: first}
    - calls: [{get_wifi_status: {}, id: x}]
    - say: Bye.
    - say: "No, bye."
  recordings:
    - {url: a, params: {timestamp: {python: now}}, response: 1}
  guardrails: {except: [contact, setting]}
  milestones:
    first:
    second: {says: It is on.}
    # a call
    status: {call: {get_wifi_status: {trip: CONTACT, floor: 1, timestamp_0: 2025-03-15T10:00}}}
    asked: {call: {get_wifi_status: {timestamp: now, at: {python: now}}}}
    filled:
      table: sandbox
      measure: derived
      reference: asked
      expect: {content: "{days} fill_to"}
      into: content
      extractor: days_extractor
    told: {after: [asked]}
  minefields:
    tripped: {says: trip, triggered_by: [{say: trip}]}
`

func FuzzLoad(f *testing.F) {
	f.Add(named("one", testScenario), testWorld)
	f.Add(named("one", strings.Replace(relativeScenario, "world: later", "world: base", 1)), earlyWorld)
	f.Add(named("one", nameScenario), namedWorld)
	f.Add(named("one", nameScenario), ownNames)
	f.Add(variedScenario, testWorld)
	f.Add(named("one", strings.Replace(turnScenario, "ORACLE", "oracle:\n  - {say: Done., milestone: said}\n  - say: Bye.\nmilestones: {told: , x: {after: []}}\n", 1)), testWorld)
	for _, seed := range []string{"a: [", "- - - -", "? {a: b}\n: c", "name: &a [*a]", "a: |\n  b\n---\n...", "<<: {a: b}", "\t", "x: !!map"} {
		f.Add(seed, seed)
	}
	if everything, err := os.ReadFile("testdata/everything/all.yaml"); err == nil {
		f.Add(string(everything), testWorld)
	}
	f.Fuzz(func(t *testing.T, text, start string) {
		loaded, err := readPack(fstest.MapFS{"a.yaml": {Data: []byte(text)}, "worlds/base.yaml": {Data: []byte(start)}}, testOptions())
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !regexp.MustCompile(`^(a|worlds/base)\.yaml:[1-9][0-9]*:[1-9][0-9]*: .+: .+`).MatchString(line) {
					t.Errorf("mistake %q has no place", line)
				}
			}
			return
		}
		for _, l := range loaded {
			if problems := scenario.Validate(l.Scenario, testOptions()); problems != nil {
				t.Errorf("accepted in spite of %v", problems)
			}
		}
	})
}

// TestDeepNesting loads documents that would exhaust a recursive parser.
func TestDeepNesting(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("[", 300_000), strings.Repeat("{a: ", 200_000), strings.Repeat("- ", 300_000) + "x",
		strings.Repeat("? ", 300_000), strings.Repeat("x", document.MaxFile+1),
	} {
		if loaded, err := readPack(files(text, testWorld), testOptions()); err == nil {
			t.Errorf("%.20q…: got %d scenarios, want an error", text, len(loaded))
		}
	}
}
