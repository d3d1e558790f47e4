package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

const (
	// allCategories is the category that every scenario belongs to.
	allCategories = "ALL_CATEGORIES"
	// threeDistractionTools is not counted for scenarios with a scrambling, which all build on it.
	threeDistractionTools = "THREE_DISTRACTION_TOOLS"
	scrambledSuffix       = "_SCRAMBLED"
)

// Summary is the content of result_summary.json.
type Summary struct {
	// Scenarios holds one entry per rollout, in the order they were given.
	Scenarios []ScenarioResult `json:"per_scenario_results"`
	// Categories holds the means per category, in the order in which categories first occur.
	Categories Categories `json:"category_aggregated_results"`
	// GitSHA is always null: a run is not tied to a repository.
	GitSHA *string `json:"git_sha"`
	// UserContract says how often simulated users broke their contract; only where one was watched. The original has no such key.
	UserContract *UserContract `json:"user_contract,omitempty"`
}

// ScenarioResult is the score of one rollout. Similarities are JSON numbers because the original spells a similarity that
// was never computed as an integer.
type ScenarioResult struct {
	// Name is the name of the rollout's directory.
	Name string `json:"name"`
	// Categories are the scenario's.
	Categories []string `json:"categories"`
	// Traceback says what happened if the rollout failed.
	Traceback *string `json:"traceback"`
	// ExceptionType is the type of the failure.
	ExceptionType *string `json:"exception_type"`
	// NotScored says that the rollout does not count, see Scored: its similarities of 0 are no score. The original has no such key.
	NotScored bool `json:"not_scored,omitempty"`
	// FailureClass says whose fault it is that the rollout is not scored: provider, network, user (the simulated one) or internal. A failure that is
	// scored is the agent's own. The original has no such key.
	FailureClass string `json:"failure_class,omitempty"`
	// MilestoneSimilarity, MinefieldSimilarity and Similarity are from 0 to 1.
	MilestoneSimilarity json.Number `json:"milestone_similarity"`
	MinefieldSimilarity json.Number `json:"minefield_similarity"`
	Similarity          json.Number `json:"similarity"`
	// TurnCount counts turns as the original does.
	TurnCount int `json:"turn_count"`
	// MilestoneMapping and MinefieldMapping say where each node was matched.
	MilestoneMapping Mapping `json:"milestone_mapping"`
	MinefieldMapping Mapping `json:"minefield_mapping"`
	// UserFlags say where a simulated user broke its contract; the original has no such key.
	UserFlags []UserFlag `json:"user_flags,omitempty"`
	// Usage is what models used; only where one played. The original has no such key.
	Usage *Usage `json:"usage,omitempty"`
}

// Match is a node's matched message and the similarity there.
type Match struct {
	Node       int
	Index      int
	Similarity json.Number
}

// Mapping is a list of matches by node; in JSON an object from node to [index, similarity].
type Mapping []Match

// MarshalJSON writes the object, nodes in the given order.
func (m Mapping) MarshalJSON() ([]byte, error) {
	out := object{}
	for _, match := range m {
		out = append(out, member{strconv.Itoa(match.Node), []any{match.Index, match.Similarity}})
	}
	return out.MarshalJSON()
}

// UnmarshalJSON reads the object and sorts by node.
func (m *Mapping) UnmarshalJSON(data []byte) error {
	var raw map[string][]json.Number
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*m = Mapping{}
	for key, pair := range raw {
		node, err := strconv.Atoi(key)
		if err != nil || len(pair) != 2 {
			return fmt.Errorf("mapping of node %q is no index with a similarity", key)
		}
		index, err := strconv.Atoi(pair[0].String())
		if err != nil {
			return fmt.Errorf("mapping of node %q: index %q is no integer", key, pair[0])
		}
		*m = append(*m, Match{node, index, pair[1]})
	}
	slices.SortFunc(*m, func(a, b Match) int { return a.Node - b.Node })
	return nil
}

// Category holds the means over the scenarios of a category.
type Category struct {
	Name       string
	Similarity float64
	TurnCount  float64
}

// Categories is a list of categories; in JSON an object in the same order.
type Categories []Category

// MarshalJSON writes the object.
func (c Categories) MarshalJSON() ([]byte, error) {
	out := object{}
	for _, category := range c {
		out = append(out, member{category.Name, object{
			{"similarity", float(category.Similarity)}, {"turn_count", float(category.TurnCount)},
		}})
	}
	return out.MarshalJSON()
}

// UnmarshalJSON reads the object and keeps its order.
func (c *Categories) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return fmt.Errorf("category results are no object")
	}
	*c = Categories{}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return err
		}
		var means struct {
			Similarity float64 `json:"similarity"`
			TurnCount  float64 `json:"turn_count"`
		}
		if err := decoder.Decode(&means); err != nil {
			return err
		}
		name, _ := key.(string)
		*c = append(*c, Category{name, means.Similarity, means.TurnCount})
	}
	return nil
}

// Summarize returns the summary of a run over the given rollouts, in their order. Rollouts that infrastructure or a
// cancellation ended are listed but not averaged: they say nothing about the agent.
func Summarize(rollouts []Rollout) *Summary {
	summary := &Summary{Scenarios: []ScenarioResult{}, Categories: Categories{}, UserContract: userContract(rollouts)}
	type sum struct {
		similarity, turns float64
		count             int
	}
	sums := map[string]*sum{}
	var order []string
	for _, r := range rollouts {
		summary.Scenarios = append(summary.Scenarios, scenarioResult(r))
		if !Scored(r.Result) {
			continue
		}
		for _, name := range CountedCategories(r.Scenario.GetSetup().GetCategories()) {
			if sums[name] == nil {
				sums[name] = &sum{}
				order = append(order, name)
			}
			if !r.failed() {
				sums[name].similarity += r.Result.GetSimilarity()
			}
			sums[name].turns += float64(r.Result.GetTurnCount())
			sums[name].count++
		}
	}
	for _, name := range order {
		s := sums[name]
		summary.Categories = append(summary.Categories, Category{name, s.similarity / float64(s.count), s.turns / float64(s.count)})
	}
	return summary
}

// Scored says whether a result counts: that of a rollout that the infrastructure failed or that was cancelled does not.
func Scored(result *busv1.Result) bool {
	switch result.GetEnd().GetReason() {
	case busv1.EndReason_END_REASON_INFRASTRUCTURE, busv1.EndReason_END_REASON_CANCELLED:
		return false
	default:
		return true
	}
}

// CountedCategories returns the categories that a scenario counts for, ALL_CATEGORIES last. The result is the caller's own.
func CountedCategories(categories []string) []string {
	scrambled := slices.ContainsFunc(categories, func(name string) bool { return strings.HasSuffix(name, scrambledSuffix) })
	var counted []string
	for _, name := range categories {
		if !scrambled || name != threeDistractionTools {
			counted = append(counted, name)
		}
	}
	return append(counted, allCategories)
}

// scenarioResult returns a rollout's entry. What the original never computes it writes as integers: the similarities of
// a rollout that raised and of a graph without nodes.
func scenarioResult(r Rollout) ScenarioResult {
	out := ScenarioResult{
		Name: r.directory(), Categories: append([]string{}, r.Scenario.GetSetup().GetCategories()...),
		MilestoneSimilarity: "0", MinefieldSimilarity: "0", Similarity: "0", TurnCount: int(r.Result.GetTurnCount()),
		MilestoneMapping: Mapping{}, MinefieldMapping: Mapping{},
	}
	out.UserFlags, out.Usage, out.NotScored = userFlags(r.Flags), usage(r.Usage), !Scored(r.Result)
	if r.failed() {
		kind, trace := exceptionType(r.Result.GetEnd()), traceback(r.Result.GetEnd())
		out.ExceptionType, out.Traceback = &kind, &trace
		if class := r.Result.GetEnd().GetFailureClass(); out.NotScored && class != agentgwv1.FailureClass_FAILURE_CLASS_UNSPECIFIED {
			out.FailureClass = strings.ToLower(strings.TrimPrefix(class.String(), "FAILURE_CLASS_"))
		}
		return out
	}
	evaluation := r.Scenario.GetEvaluation()
	if len(evaluation.GetMinefields().GetNodes()) > 0 {
		out.MinefieldSimilarity = spelled(r.Result.GetMinefieldSimilarity())
	}
	if len(evaluation.GetMilestones().GetNodes()) > 0 {
		out.MilestoneSimilarity = spelled(r.Result.GetMilestoneSimilarity())
		out.Similarity = spelled(r.Result.GetSimilarity())
	} else {
		out.MilestoneSimilarity = json.Number(strconv.FormatFloat(r.Result.GetMilestoneSimilarity(), 'f', -1, 64))
		out.Similarity = json.Number(strconv.FormatFloat(r.Result.GetSimilarity(), 'f', -1, 64))
	}
	out.MilestoneMapping = mapping(r.Result.GetMilestones())
	out.MinefieldMapping = mapping(r.Result.GetMinefields())
	return out
}

// spelled is a similarity as a float; NaN, which no score is, becomes 0.
func spelled(f float64) json.Number {
	if number, ok := float(f).(json.Number); ok {
		return number
	}
	return "0.0"
}

func mapping(matches []*busv1.Match) Mapping {
	out := Mapping{}
	for _, m := range matches {
		out = append(out, Match{int(m.GetNode()), int(m.GetIndex()), spelled(m.GetSimilarity())})
	}
	return out
}

// exceptionType names a failure; one that carries no type is named after its reason.
func exceptionType(end *busv1.End) string {
	if end.GetExceptionType() != "" {
		return end.GetExceptionType()
	}
	return strings.TrimPrefix(end.GetReason().String(), "END_REASON_")
}

// traceback describes a failure in one line, as the last line of a Python traceback would.
func traceback(end *busv1.End) string {
	text := exceptionType(end)
	if end.GetDetail() != "" {
		text += ": " + end.GetDetail()
	}
	return text + "\n"
}

// ReadSummary reads the summary of a run from its directory. Unknown fields are skipped; a file that is no summary is an
// error.
func ReadSummary(dir string) (*Summary, error) {
	data, err := os.ReadFile(filepath.Join(dir, SummaryFile))
	if err != nil {
		return nil, fmt.Errorf("read summary: %w", err)
	}
	summary := &Summary{}
	if err := json.Unmarshal(data, summary); err != nil {
		return nil, fmt.Errorf("read summary %s: %w", dir, err)
	}
	if summary.Scenarios == nil {
		return nil, fmt.Errorf("read summary %s: no per_scenario_results", dir)
	}
	return summary, nil
}
