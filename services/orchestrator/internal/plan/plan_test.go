package plan_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/plan"
)

var update = flag.Bool("update", false, "write the golden file")

func sweep() *busv1.Sweep {
	return &busv1.Sweep{
		Id:   "sweep-1",
		Seed: 42,
		Scenarios: []*busv1.SweepScenario{
			{Name: "first", SetupDigest: "s1", EvaluationDigest: "e1"},
			{Name: "second", SetupDigest: "s2", EvaluationDigest: "e2"},
		},
		Agents: []*agentgwv1.Player{{Name: "oracle"}, {Name: "random"}},
		Users:  []*agentgwv1.Player{{Name: "scripted"}, {Name: "other"}},
		Trials: 3,
		Compat: true,

		HostedServices: toolhostv1.HostedServices_HOSTED_SERVICES_LIVE,
		MaxBytes:       5 << 20,
		RepeatLimit:    5,
	}
}

func TestPlanIsStable(t *testing.T) {
	var got strings.Builder
	for _, r := range plan.Expand(sweep()) {
		fmt.Fprintf(&got, "%s %s %s %d %s %s %s %s %d %v\n", r.GetId(), r.GetSweepId(), r.GetScenario(), r.GetTrial(), r.GetAgent().GetName(),
			r.GetUser().GetName(), r.GetSetupDigest(), r.GetEvaluationDigest(), r.GetSeed(), r.GetCompat())
		if services := r.GetHostedServices(); services != toolhostv1.HostedServices_HOSTED_SERVICES_LIVE {
			t.Errorf("hosted services of %s: got %v, want the sweep's", r.GetId(), services)
		}
		if got := r.GetRepeatLimit(); got != 5 {
			t.Errorf("repeat limit: got %d, want 5", got)
		}
		if got := r.GetMaxBytes(); got != 5<<20 {
			t.Errorf("byte limit of %s: got %d, want the sweep's", r.GetId(), got)
		}
	}
	path := filepath.Join("testdata", "plan.golden")
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

func TestSizeIsThatOfThePlan(t *testing.T) {
	for _, change := range []func(*busv1.Sweep){
		func(*busv1.Sweep) {},
		func(s *busv1.Sweep) { s.Trials = 1 },
		func(s *busv1.Sweep) { s.Agents = s.GetAgents()[:1] },
		func(s *busv1.Sweep) { s.Users = nil },
		func(s *busv1.Sweep) { s.Scenarios = nil },
	} {
		s := sweep()
		change(s)
		if got, want := plan.Size(s), len(plan.Expand(s)); got != want {
			t.Errorf("Size: got %d, want %d", got, want)
		}
	}
}

// Seeds follow from the sweep's seed, the scenario and the trial, and from nothing else.
func TestSeeds(t *testing.T) {
	bySeed := func(s *busv1.Sweep) map[string]int64 {
		seeds := make(map[string]int64)
		for _, r := range plan.Expand(s) {
			key := fmt.Sprintf("%s/%d", r.GetScenario(), r.GetTrial())
			if seed, ok := seeds[key]; ok && seed != r.GetSeed() {
				t.Errorf("seed of %s with agent %s: got %d, want %d as with other players", key, r.GetAgent().GetName(), r.GetSeed(), seed)
			}
			seeds[key] = r.GetSeed()
		}
		return seeds
	}
	want := bySeed(sweep())
	distinct := make(map[int64]bool)
	for _, seed := range want {
		distinct[seed] = true
	}
	if len(distinct) != 6 {
		t.Errorf("distinct seeds: got %d, want 6", len(distinct))
	}
	same := sweep()
	same.Id, same.Agents, same.Users, same.Compat = "another", same.GetAgents()[1:], same.GetUsers()[1:], false
	same.Scenarios[0], same.Scenarios[1] = same.GetScenarios()[1], same.GetScenarios()[0]
	if diff := cmp.Diff(want, bySeed(same)); diff != "" {
		t.Errorf("seeds of another sweep with the same seed (-want +got):\n%s", diff)
	}
	other := sweep()
	other.Seed++
	for key, seed := range bySeed(other) {
		if seed == want[key] {
			t.Errorf("seed of %s under another sweep seed: got the same, %d", key, seed)
		}
	}
}

// TestHas looks for ids of a plan and for ones that are none.
func TestHas(t *testing.T) {
	s := sweep()
	for n := range plan.Size(s) {
		if id := plan.ID(s.GetId(), n); !plan.Has(s, id) {
			t.Errorf("Has(%s): got false, want true", id)
		}
	}
	for _, id := range []string{plan.ID(s.GetId(), plan.Size(s)), plan.ID(s.GetId(), -1), plan.ID("another", 0), s.GetId() + ".00", s.GetId() + ".x", s.GetId(), ""} {
		if plan.Has(s, id) {
			t.Errorf("Has(%s): got true, want false", id)
		}
	}
}
