package e2e_test

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/pack"
	"github.com/toolsandbox/toolsandbox/services/toolhost"
)

// transcript is an agent's turns in a scenario, with the classes of errors that a reader found in
// the conversation, before the evaluator had seen it.
type transcript struct {
	name    string // of the scenario, and the source
	classes []string
	played  *scenariov1.Scenario
}

// errorClasses are the classes of an error analysis.
var errorClasses = []busv1.CauseKind{
	busv1.CauseKind_CAUSE_KIND_WRONG_PARALLEL_CALLS, busv1.CauseKind_CAUSE_KIND_PREMATURE_CALL, busv1.CauseKind_CAUSE_KIND_GUESSED_ARGUMENT,
	busv1.CauseKind_CAUSE_KIND_INFORMATION_MISSING, busv1.CauseKind_CAUSE_KIND_WRONG_CANONICALIZATION,
}

// loadCatalogue returns the built-in scenarios by name.
func loadCatalogue(t *testing.T) map[string]*scenariov1.Scenario {
	t.Helper()
	loaded, err := pack.Load(os.DirFS("../packs/phone"), pack.Options{Options: scenario.Options{ConsentTools: toolhost.ConsentTools()}})
	if err != nil {
		t.Fatal(err)
	}
	catalogue := make(map[string]*scenariov1.Scenario)
	for _, l := range loaded.Scenarios {
		catalogue[l.Scenario.GetSetup().GetName()] = l.Scenario
	}
	return catalogue
}

// readTranscripts reads testdata/classes.txt.
func readTranscripts(t *testing.T) []*transcript {
	t.Helper()
	catalogue := loadCatalogue(t)
	raw, err := os.ReadFile(filepath.Join("testdata", "classes.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var list []*transcript
	for i, block := range strings.Split(string(raw), "\n== ")[1:] {
		head, rest, _ := strings.Cut(block, "\n: ")
		classes, turns, _ := strings.Cut(rest, "\n")
		name, _, _ := strings.Cut(head, ", ")
		script, err := scenario.ParseTurns("classes.txt", []byte(turns))
		if err != nil || catalogue[name] == nil {
			t.Fatalf("transcript %d, %s: %v", i+1, head, err)
		}
		one := &transcript{name: head, classes: strings.Fields(classes), played: proto.CloneOf(catalogue[name])}
		n := 0
		for call := range scenario.Calls(script...) {
			n++
			call.Id = proto.String(fmt.Sprintf("call_%d", n))
		}
		setup := one.played.GetSetup()
		setup.Name, setup.OracleScript = fmt.Sprintf("%s_%d", name, i+1), script
		list = append(list, one)
	}
	return list
}

// TestErrorClasses compares the classes of errors with those that a reader found: of those that the
// evaluator finds in a transcript, nine in ten must be right.
func TestErrorClasses(t *testing.T) {
	const wanted = 0.9
	list := readTranscripts(t)
	found := classify(t, list)
	for _, kind := range errorClasses {
		class := results.CauseName(kind)
		var right, wrong, missed []string
		for _, one := range list {
			isFound, isLabelled := slices.Contains(found[one.played.GetSetup().GetName()], class), slices.Contains(one.classes, class)
			at := one.played.GetSetup().GetName() + " (" + one.name + ")"
			switch {
			case isFound && isLabelled:
				right = append(right, at)
			case isFound:
				wrong = append(wrong, at)
			case isLabelled:
				missed = append(missed, at)
			}
		}
		precision, recall := share(right, wrong), share(right, missed)
		t.Logf("%s: precision %.2f (%d of %d), recall %.2f (%d of %d)\nwrong: %s\nmissed: %s", class,
			precision, len(right), len(right)+len(wrong), recall, len(right), len(right)+len(missed), strings.Join(wrong, ", "), strings.Join(missed, ", "))
		if precision < wanted || len(right) == 0 {
			t.Errorf("precision of %s: got %.2f, want %.2f or more", class, precision, wanted)
		}
	}
	t.Logf("%d transcripts", len(list))
}

// TestSolutionsWithoutClasses finds no class in the solutions of the catalogue without their last
// turn, except that a solution may try a call before it switches a service on.
func TestSolutionsWithoutClasses(t *testing.T) {
	var list []*transcript
	catalogue := loadCatalogue(t)
	for _, name := range slices.Sorted(maps.Keys(catalogue)) {
		one := catalogue[name]
		setup := one.GetSetup()
		setup.OracleScript = setup.GetOracleScript()[:len(setup.GetOracleScript())-1]
		list = append(list, &transcript{played: one})
	}
	for name, found := range classify(t, list) {
		for _, kind := range errorClasses {
			class := results.CauseName(kind)
			if kind != busv1.CauseKind_CAUSE_KIND_PREMATURE_CALL && slices.Contains(found, class) {
				t.Errorf("%s: got %s, want no class", name, class)
			}
		}
	}
}

func share(part, rest []string) float64 {
	return float64(len(part)) / float64(max(1, len(part)+len(rest)))
}

// classify plays the transcripts and returns the kinds of their causes, by name of the scenario.
func classify(t *testing.T, list []*transcript) map[string][]string {
	t.Helper()
	cfg := standalone.DefaultConfig()
	cfg.Dir, cfg.Network.Grace = t.TempDir(), 100*time.Millisecond
	running, err := standalone.Start(t.Context(), cfg, rpc.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Close(); err != nil {
			t.Errorf("Close: got %v, want nil", err)
		}
	})
	scripted := &agentgwv1.Player_Scripted{Scripted: &agentgwv1.Scripted{Source: agentgwv1.Scripted_SOURCE_SCENARIO}}
	spec := sweep.Spec{
		Agents: []*agentgwv1.Player{{Name: "transcript", Kind: scripted}}, Users: []*agentgwv1.Player{{Name: "scripted", Kind: scripted}},
		Trials: 1, Parallel: 8,
	}
	for _, one := range list {
		spec.Scenarios = append(spec.Scenarios, one.played)
	}
	prepared, err := sweep.Prepare(t.Context(), running.Node().Conn(rpc.Orchestrator), running.Node().Conn(rpc.Evaluator), spec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := prepared.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	found := make(map[string][]string)
	err = prepared.Watch(t.Context(), nil, func(result *busv1.Result) error {
		name := result.GetRollout().GetScenario()
		for _, c := range result.GetCauses() {
			found[name] = append(found[name], results.CauseName(c.GetKind()))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
