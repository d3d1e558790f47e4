package resultfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

const (
	// AllCategories is the category of all scenarios.
	AllCategories = "ALL_CATEGORIES"
	// threeDistractionTools does not count for scenarios with a scrambling, which all include it.
	// noDistractionTools does not count for scenarios whose tools need consent or fail.
	threeDistractionTools = "THREE_DISTRACTION_TOOLS"
	noDistractionTools    = "NO_DISTRACTION_TOOLS"
	scrambledSuffix       = "_SCRAMBLED"
	confirmation          = "CONFIRMATION"
	failingTools          = "FAILING_TOOLS"
)

// Summary is the content of result_summary.json. It has exactly the original's keys.
type Summary struct {
	// Scenarios has one entry per rollout, in the given order.
	Scenarios []ScenarioResult `json:"per_scenario_results"`
	// Categories has the means per category, in order of first occurrence.
	Categories Categories `json:"category_aggregated_results"`
	// GitSHA is always null: a run is not tied to a repository.
	GitSHA *string `json:"git_sha"`
}

// ScenarioResult is the score of one rollout.
type ScenarioResult struct {
	// Name is the name of the rollout's directory.
	Name string `json:"name"`
	// Categories are the categories of the scenario.
	Categories []string `json:"categories"`
	// Traceback describes the failure of the rollout.
	Traceback *string `json:"traceback"`
	// ExceptionType is the type of the failure.
	ExceptionType *string `json:"exception_type"`
	// MilestoneSimilarity, MinefieldSimilarity and Similarity are null if the rollout does not count.
	// See Scored.
	MilestoneSimilarity Similarity `json:"milestone_similarity"`
	MinefieldSimilarity Similarity `json:"minefield_similarity"`
	Similarity          Similarity `json:"similarity"`
	// TurnCount counts turns as the original does.
	TurnCount int `json:"turn_count"`
	// MilestoneMapping and MinefieldMapping are the matches of nodes.
	MilestoneMapping Mapping `json:"milestone_mapping"`
	MinefieldMapping Mapping `json:"minefield_mapping"`
}

// Match is the matched message of a node and its similarity.
type Match struct {
	Node       int
	Index      int
	Similarity Similarity
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
	var raw map[string][]Similarity
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*m = Mapping{}
	for key, pair := range raw {
		node, err := strconv.Atoi(key)
		if err != nil || len(pair) != 2 {
			return fmt.Errorf("mapping of node %q is no index with a similarity", key)
		}
		index, err := strconv.Atoi(string(pair[0]))
		if err != nil {
			return fmt.Errorf("mapping of node %q: index %q is no integer", key, pair[0])
		}
		*m = append(*m, Match{node, index, pair[1]})
	}
	slices.SortFunc(*m, func(a, b Match) int { return a.Node - b.Node })
	return nil
}

// Category holds the means over the scored rollouts of a category. They are nil, and null in JSON,
// if there are none. The original's JSON has no numbers of rollouts.
type Category struct {
	Name       string
	Similarity *float64
	TurnCount  *float64
	// Rollouts is the number of rollouts, Scored of those with a score. They are 0 if the category was
	// read from JSON.
	Rollouts, Scored int
}

// Categories is a list of categories; in JSON an object in the same order.
type Categories []Category

// MarshalJSON writes the object.
func (c Categories) MarshalJSON() ([]byte, error) {
	out := object{}
	for _, category := range c {
		out = append(out, member{category.Name, object{
			{"similarity", mean(category.Similarity)}, {"turn_count", mean(category.TurnCount)},
		}})
	}
	return out.MarshalJSON()
}

func mean(f *float64) any {
	if f == nil {
		return nil
	}
	return Finite(python.Float(*f))
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
			Similarity *float64 `json:"similarity"`
			TurnCount  *float64 `json:"turn_count"`
		}
		if err := decoder.Decode(&means); err != nil {
			return err
		}
		name, _ := key.(string)
		*c = append(*c, Category{Name: name, Similarity: means.Similarity, TurnCount: means.TurnCount})
	}
	return nil
}

// Summarize returns the summary of a run's rollouts in their order. It lists rollouts without a
// score but does not average them.
func Summarize(rollouts []Rollout) *Summary {
	summary := &Summary{Scenarios: []ScenarioResult{}, Categories: CategoriesOf(rollouts)}
	for _, r := range rollouts {
		summary.Scenarios = append(summary.Scenarios, scenarioResult(r))
	}
	return summary
}

// CategoriesOf returns the means of the rollouts with a score. ALL_CATEGORIES is always present.
func CategoriesOf(rollouts []Rollout) Categories {
	var sums sums
	for _, r := range rollouts {
		for _, name := range CountedCategories(r.Scenario.GetSetup().GetCategories()) {
			sum := sums.category(name)
			sum.rollouts++
			if !Scored(r.Result) {
				continue
			}
			if !r.Failed() {
				sum.similarity += r.Result.GetSimilarity()
			}
			sum.turns += float64(r.Result.GetTurnCount())
			sum.count++
		}
	}
	sums.category(AllCategories)
	return sums.means()
}

// Mean returns the mean similarity of all counted rollouts, nil without any.
func (c Categories) Mean() *float64 {
	for _, category := range c {
		if category.Name == AllCategories {
			return category.Similarity
		}
	}
	return nil
}

// sums are the sums by category, in order of first appearance.
type sums []*sum

type sum struct {
	category          string
	similarity, turns float64
	count             int // of rollouts with a score
	rollouts          int
}

// category returns the sum of a category.
func (s *sums) category(category string) *sum {
	for _, sum := range *s {
		if sum.category == category {
			return sum
		}
	}
	*s = append(*s, &sum{category: category})
	return (*s)[len(*s)-1]
}

func (s sums) means() Categories {
	means := make(Categories, len(s))
	for i, sum := range s {
		means[i].Name, means[i].Scored, means[i].Rollouts = sum.category, sum.count, sum.rollouts
		if sum.count > 0 {
			similarity, turns := sum.similarity/float64(sum.count), sum.turns/float64(sum.count)
			means[i].Similarity, means[i].TurnCount = &similarity, &turns
		}
	}
	return means
}

// Scored reports whether a result counts. Results of infrastructure failures, cancelled rollouts
// and NaN similarities do not.
func Scored(result *busv1.Result) bool {
	switch result.GetEnd().GetReason() {
	case busv1.EndReason_END_REASON_INFRASTRUCTURE, busv1.EndReason_END_REASON_CANCELLED:
		return false
	default:
		return !math.IsNaN(result.GetSimilarity()) && !math.IsInf(result.GetSimilarity(), 0)
	}
}

// CountedCategories returns the categories of a scenario that count, with ALL_CATEGORIES last. The
// caller owns the result.
func CountedCategories(categories []string) []string {
	scrambled := slices.ContainsFunc(categories, func(name string) bool { return strings.HasSuffix(name, scrambledSuffix) })
	harder := slices.Contains(categories, confirmation) || slices.Contains(categories, failingTools)
	result := slices.DeleteFunc(slices.Clone(categories), func(name string) bool {
		return scrambled && name == threeDistractionTools || harder && name == noDistractionTools
	})
	return append(result, AllCategories)
}

// scenarioResult returns a rollout's entry. Similarities that the original does not compute are
// integers: those of a failed rollout and of a graph without nodes.
func scenarioResult(r Rollout) ScenarioResult {
	out := ScenarioResult{
		Name: r.Name(), Categories: append([]string{}, r.Scenario.GetSetup().GetCategories()...),
		TurnCount: int(r.Result.GetTurnCount()), MilestoneMapping: Mapping{}, MinefieldMapping: Mapping{},
	}
	if r.Failed() {
		kind, trace := exceptionType(r.Result.GetEnd()), traceback(r.Result.GetEnd())
		out.ExceptionType, out.Traceback = &kind, &trace
	}
	switch {
	case !Scored(r.Result):
		return out
	case r.Failed():
		out.MilestoneSimilarity, out.MinefieldSimilarity, out.Similarity = "0", "0", "0"
		return out
	}
	evaluation := r.Scenario.GetEvaluation()
	out.MinefieldSimilarity = "0"
	if len(evaluation.GetMinefields().GetNodes()) > 0 {
		out.MinefieldSimilarity = similarityOf(r.Result.GetMinefieldSimilarity())
	}
	spell := integerSimilarity
	if len(evaluation.GetMilestones().GetNodes()) > 0 {
		spell = similarityOf
	}
	out.MilestoneSimilarity, out.Similarity = spell(r.Result.GetMilestoneSimilarity()), spell(r.Result.GetSimilarity())
	out.MilestoneMapping = mapping(r.Result.GetMilestones())
	out.MinefieldMapping = mapping(r.Result.GetMinefields())
	return out
}

func mapping(matches []*busv1.Match) Mapping {
	out := Mapping{}
	for _, m := range matches {
		out = append(out, Match{int(m.GetNode()), int(m.GetIndex()), similarityOf(m.GetSimilarity())})
	}
	return out
}

// exceptionType returns the type of a failure, or a name for its reason.
func exceptionType(end *busv1.End) string {
	return cmp.Or(end.GetExceptionType(), strings.TrimPrefix(end.GetReason().String(), "END_REASON_"))
}

// traceback describes a failure on one line, like the last line of a Python traceback.
func traceback(end *busv1.End) string {
	text := exceptionType(end)
	if end.GetDetail() != "" {
		text += ": " + end.GetDetail()
	}
	return text + "\n"
}

// ParseSummary parses a result_summary.json. It ignores unknown fields.
func ParseSummary(data []byte) (*Summary, error) {
	summary := &Summary{}
	if err := json.Unmarshal(data, summary); err != nil {
		return nil, err
	}
	if summary.Scenarios == nil {
		return nil, errors.New("no per_scenario_results")
	}
	for i := range summary.Scenarios {
		if err := summary.Scenarios[i].check(); err != nil {
			return nil, err
		}
	}
	return summary, nil
}

// check reports a similarity that no score has. The original's may exceed 1 by their rounding.
func (r *ScenarioResult) check() error {
	for _, field := range []struct {
		name       string
		similarity Similarity
	}{
		{"milestone_similarity", r.MilestoneSimilarity}, {"minefield_similarity", r.MinefieldSimilarity}, {"similarity", r.Similarity},
	} {
		if number, ok := field.similarity.Number(); ok && (number < 0 || number > 1+1e-9) {
			return fmt.Errorf("%s of %s is %s, expected null or 0 to 1", field.name, r.Name, field.similarity)
		}
	}
	return nil
}
