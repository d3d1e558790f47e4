package conformance

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/row"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// similarityTolerance is the largest accepted difference of two similarities.
const similarityTolerance = 1e-6

// comparison collects differences between recorded and actual values.
type comparison struct{ differences []Difference }

func (c *comparison) add(field, want, got string) {
	c.differences = append(c.differences, Difference{Field: field, Want: want, Got: got})
}

// text compares two texts.
func (c *comparison) text(field, want, got string) {
	if want != got {
		c.add(field, want, got)
	}
}

// errorDifference reports a case that could not run.
func errorDifference(err error) []Difference {
	return []Difference{{Field: "case", Want: "an answer", Got: "error: " + err.Error()}}
}

// optionalText formats a text that may be null.
func optionalText(text *string) string {
	if text == nil {
		return null
	}
	return *text
}

// optionalText compares texts that may be null.
func (c *comparison) optionalText(field string, want, got *string) {
	if (want == nil) != (got == nil) || want != nil && *want != *got {
		c.add(field, optionalText(want), optionalText(got))
	}
}

// texts compares lists. An empty list equals null.
func (c *comparison) texts(field string, want, got []string) {
	if !slices.Equal(want, got) {
		c.add(field, textsText(want), textsText(got))
	}
}

func textsText(list []string) string {
	switch len(list) {
	case 0:
		return null
	case 1:
		return list[0]
	default:
		return fmt.Sprintf("%q", list)
	}
}

// message compares all fields of a message.
func (c *comparison) message(want, got *worldv1.Message) {
	prefix := fmt.Sprintf("message %d, ", want.GetIndex())
	wantRow, gotRow := row.Of(want), row.Of(got)
	c.text(prefix+"index", strconv.Itoa(int(want.GetIndex())), strconv.Itoa(int(got.GetIndex())))
	c.text(prefix+"sender", world.RoleName(want.GetSender()), world.RoleName(got.GetSender()))
	c.text(prefix+"recipient", world.RoleName(want.GetRecipient()), world.RoleName(got.GetRecipient()))
	c.optionalText(prefix+"content", wantRow.Content, gotRow.Content)
	c.optionalText(prefix+"openai_tool_call_id", wantRow.ToolCallID, gotRow.ToolCallID)
	c.optionalText(prefix+"openai_function_name", wantRow.FunctionName, gotRow.FunctionName)
	c.text(prefix+"conversation_active", flagText(want.ConversationActive), flagText(got.ConversationActive))
	c.optionalText(prefix+"tool_call_exception", wantRow.Exception, gotRow.Exception)
	c.texts(prefix+"tool_trace", wantRow.ToolTrace, gotRow.ToolTrace)
	c.texts(prefix+"visible_to", world.RoleTexts(want.GetVisibleTo()), world.RoleTexts(got.GetVisibleTo()))
}

func flagText(flag *bool) string {
	if flag == nil {
		return null
	}
	return strconv.FormatBool(*flag)
}

// messages compares lists of messages up to the first difference.
func (c *comparison) messages(want, got []*worldv1.Message) {
	if len(want) != len(got) {
		c.add("messages", strconv.Itoa(len(want)), strconv.Itoa(len(got)))
	}
	before := len(c.differences)
	for i := range min(len(want), len(got)) {
		if c.message(want[i], got[i]); len(c.differences) > before {
			return
		}
	}
}

// tableKey identifies a table version.
type tableKey struct {
	name  string
	index int32
}

// versions compares sets of table versions.
func (c *comparison) versions(want, got []*worldv1.Table) {
	wantVersions, gotVersions := byVersion(want), byVersion(got)
	all := maps.Clone(wantVersions)
	maps.Copy(all, gotVersions)
	keys := slices.SortedFunc(maps.Keys(all), func(a, b tableKey) int {
		return cmp.Or(world.Builtin().TableIndex(a.name)-world.Builtin().TableIndex(b.name), int(a.index)-int(b.index))
	})
	for _, key := range keys {
		c.text(fmt.Sprintf("%s at %d", key.name, key.index), versionText(wantVersions, key), versionText(gotVersions, key))
	}
}

func byVersion(tables []*worldv1.Table) map[tableKey]*worldv1.Table {
	index := make(map[tableKey]*worldv1.Table, len(tables))
	for _, table := range tables {
		index[tableKey{table.GetName(), table.GetIndex()}] = table
	}
	return index
}

// versionText formats a version. Two versions have the same text if and only if their rows are
// equal.
func versionText(tables map[tableKey]*worldv1.Table, key tableKey) string {
	table, ok := tables[key]
	if !ok {
		return "no version"
	}
	return tableText(table.GetRows())
}

// result compares a score with the recorded one.
func (c *comparison) result(want *recordedResult, got *busv1.Result) {
	c.similarity("milestone_similarity", want.Milestone, got.GetMilestoneSimilarity())
	c.similarity("minefield_similarity", want.Minefield, got.GetMinefieldSimilarity())
	c.similarity("similarity", want.Similarity, got.GetSimilarity())
	c.text("turn_count", strconv.Itoa(int(want.TurnCount)), strconv.Itoa(int(got.GetTurnCount())))
	c.mapping("milestone_mapping", want.Milestones, got.GetMilestones())
	c.mapping("minefield_mapping", want.Minefields, got.GetMinefields())
}

func (c *comparison) similarity(field string, want, got float64) {
	if !similar(want, got) {
		c.add(field, fmt.Sprint(want), fmt.Sprint(got))
	}
}

func similar(want, got float64) bool { return math.Abs(want-got) <= similarityTolerance }

func (c *comparison) mapping(field string, want map[int32]recordedMatch, got []*busv1.Match) {
	found := make(map[int32]recordedMatch, len(got))
	for _, match := range got {
		found[match.GetNode()] = recordedMatch{index: match.GetIndex(), similarity: match.GetSimilarity()}
	}
	all := maps.Clone(want)
	if all == nil {
		all = make(map[int32]recordedMatch)
	}
	maps.Copy(all, found)
	for _, node := range slices.Sorted(maps.Keys(all)) {
		w, inWant := want[node]
		g, ok := found[node]
		if inWant != ok || w.index != g.index || !similar(w.similarity, g.similarity) {
			c.add(fmt.Sprintf("%s[%d]", field, node), matchText(w, inWant), matchText(g, ok))
		}
	}
}

func matchText(match recordedMatch, matched bool) string {
	if !matched {
		return "not matched"
	}
	return fmt.Sprintf("message %d, similarity %v", match.index, match.similarity)
}
