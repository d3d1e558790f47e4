package scenario

import (
	"cmp"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// extendsKey is the field with the name of the scenario that this one extends.
const extendsKey = "extends"

// Extends returns the name of the scenario that a scenario's document extends, nil if it extends
// none.
func Extends(f document.Field) *document.Value {
	if f.Value == nil || f.Value.Shape != document.ShapeMapping {
		return nil
	}
	return f.Value.Get(extendsKey)
}

// Extended is the whole document of a scenario, with what it takes over from those that it extends.
type Extended struct {
	document.Field
	// Lineage is nil for a seed.
	Lineage *scenariov1.Lineage
}

// Extend returns the scenario of a document that extends base. It records the mistakes with r. What
// the scenario takes over has the position of its extends, so that a mistake that follows from its
// changes is reported there. It changes neither document.
func Extend(r *document.Reader, budget *Budget, base Extended, extension document.Field) Extended {
	at := Extends(extension)
	budget.CountCopied(r, at, base.Value.Size())
	mistakes := len(r.Errors)
	whole := merged(base.Field, extension, at)
	for _, f := range extension.Value.Fields {
		if slices.Contains(inheritedFields(), f.Key) {
			r.Fail(f.Position, "comes from %s, and has to stay: a scenario with other milestones or minefields extends none", base.Key)
		}
	}
	if len(extension.Value.Fields) == 1 {
		r.Fail(at, "is the only field; say what this scenario changes of %s", base.Key)
	}
	if oracle := extension.Value.Get("oracle"); oracle != nil && oracle.Shape == document.ShapeList && len(r.Errors) == mistakes {
		sameMilestones(r, oracle, base.Field, whole)
	}
	lineage := &scenariov1.Lineage{Extends: base.Key, Seed: base.Key, Kind: scenariov1.Kind_KIND_PARAPHRASED}
	if base.Lineage != nil {
		lineage.Seed, lineage.Kind = base.Lineage.GetSeed(), base.Lineage.GetKind()
	}
	if !isParaphrase(extension.Value) {
		lineage.Kind = scenariov1.Kind_KIND_DERIVED
	}
	return Extended{whole, lineage}
}

// inheritedFields are the fields that an extension cannot have.
func inheritedFields() []string { return []string{"milestones", "minefields", "guardrails"} }

// mergedFields are the mappings of which an extension replaces single fields.
func mergedFields() []string { return []string{"user", "clock", "tables"} }

// merged returns the extension with the fields that it does not replace.
func merged(base, extension document.Field, at *document.Value) document.Field {
	whole := extension.Value.Copy()
	for _, f := range base.Value.Fields {
		own := whole.Get(f.Key)
		inherited := document.Field{Key: f.Key, Position: f.Position.CopyTo(at, base.Key, extension.Key), Value: f.Value.CopyTo(at, base.Key, extension.Key)}
		switch {
		case f.Key == "orders" && whole.Get("oracle") != nil: // of other turns
		case own == nil:
			whole.Fields = append(whole.Fields, inherited)
		case slices.Contains(mergedFields(), f.Key) && own.Shape == document.ShapeMapping && f.Value.Shape == document.ShapeMapping:
			for _, inner := range inherited.Value.Fields {
				if own.Get(inner.Key) == nil {
					own.Fields = append(own.Fields, inner)
				}
			}
		}
	}
	return document.Field{Key: extension.Key, Position: extension.Position, Value: whole}
}

// isParaphrase reports whether an extension changes words alone.
func isParaphrase(extension *document.Value) bool {
	words := []string{extendsKey, "notes", "categories", "max_idle_score", "max_messages", "system", "user", "messages"}
	return !slices.ContainsFunc(extension.Fields, func(f document.Field) bool {
		return !slices.Contains(words, f.Key) || f.Key == "user" && f.Value.Shape == document.ShapeMapping && f.Value.Get("tools") != nil
	})
}

// sameMilestones records a mistake unless the oracle's turns carry the same milestones.
func sameMilestones(r *document.Reader, oracle *document.Value, base, extension document.Field) {
	want, got := writtenMilestones(base.Value), writtenMilestones(extension.Value)
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got) || i < len(want) && got[i].Key != want[i].Key:
			r.Fail(oracle, "lacks the milestone %q of %s at its place", want[i].Key, base.Key)
		case i >= len(want):
			r.Fail(oracle, "has a milestone %q, which %s has not; write milestone: none for a last text that is none", got[i].Key, base.Key)
		case document.JSON(got[i].Value) != document.JSON(want[i].Value):
			r.Fail(oracle, "changes what the milestone %q of %s wants; define it below milestones there, so that no turn has to be the same", want[i].Key, base.Key)
		default:
			continue
		}
		return
	}
}

// writtenMilestones returns the milestones of a scenario as its document has them.
func writtenMilestones(v *document.Value) []document.Field {
	v = v.Copy()
	b := &builder{reader: &reader{Reader: &document.Reader{}}} // Build reports the mistakes
	for _, turn := range b.Items(v.Get("oracle")) {
		if b.object(turn, form.OracleTurn()) == nil {
			continue
		}
		for _, call := range b.Items(turn.Get(form.CallsKey)) {
			b.object(call, form.OracleCall())
		}
	}
	return b.milestones(v)
}

// lineage checks where a scenario comes from.
func (c *checker) lineage(l *scenariov1.Lineage) {
	if l == nil {
		return
	}
	for _, name := range []struct{ path, text string }{{"lineage.extends", l.GetExtends()}, {"lineage.seed", l.GetSeed()}} {
		if !form.NameExpression.MatchString(name.text) {
			c.fail(name.path, "is %q, expected the name of a scenario", spelling.Truncate(name.text))
		}
	}
	if scenariov1.Kind_name[int32(l.GetKind())] == "" || l.GetKind() == scenariov1.Kind_KIND_UNSPECIFIED {
		c.fail("lineage.kind", "is %v, expected KIND_PARAPHRASED or KIND_DERIVED", l.GetKind())
	}
}

// Paraphrased is the kind of a scenario that only rewords its seed.
const Paraphrased = "paraphrased"

// Kinds returns the kinds of scenarios: seed for one that extends none, paraphrased and derived.
func Kinds() []string { return []string{"seed", Paraphrased, "derived"} }

// Kind returns the kind of a scenario, which says what it changes of the seed that it comes from.
func Kind(s *scenariov1.Scenario) string {
	if kind := s.GetLineage().GetKind(); scenariov1.Kind_name[int32(kind)] != "" {
		return Kinds()[kind]
	}
	return "unknown"
}

// Base returns the name of the scenario whose variants and extensions s belongs to. Their scores
// are one cluster.
func Base(s *scenariov1.Scenario) string {
	return cmp.Or(s.GetLineage().GetSeed(), BaseName(s.GetSetup().GetName()))
}
