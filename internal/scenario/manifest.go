package scenario

import (
	"regexp"

	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// versionPattern is what the version of a pack must look like: that of semantic versioning, without
// build metadata.
const versionPattern = `^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`

var versionExpression = regexp.MustCompile(versionPattern)

// Manifest is what pack.yaml says of a pack; the zero value without one.
type Manifest struct {
	Name, Version, Licence, Description string
	// Standalone says that the pack has none of the built-in tools and tables.
	Standalone bool
	// Needs is what has to be there before the pack's scenarios are played.
	Needs []Need
}

// Need is something that has to be there before a pack's scenarios are played.
type Need struct {
	// Variable is the name of an environment variable, or Command that of a program on the PATH. The
	// other one is empty.
	Variable, Command string
	// Position is where it stands, in pack.yaml.
	Position
}

// loadManifest reads pack.yaml. What stands alone declares that before its tables.
func (l *loader) loadManifest(into *Manifest) {
	l.optional(packFile, func(r *reader, data []byte) {
		doc := r.object(r.only(data, "description of the pack"), packForm())
		if doc == nil {
			return
		}
		into.Name, into.Licence, into.Description = r.text(doc.get("name")), r.text(doc.get("licence")), r.text(doc.get("description"))
		if version := doc.get("version"); r.want(version, shapeText) {
			if into.Version = version.text; !versionExpression.MatchString(version.text) {
				r.fail(version, "is %q, expected three numbers as in 1.4.0", brief(version.text))
			}
		}
		if standalone := doc.get("standalone"); r.want(standalone, shapeBool) {
			if into.Standalone = standalone.boolean; !into.Standalone {
				r.fail(standalone, "is false, expected true; leave it out for a pack with the built-in tools and tables")
			}
		}
		into.Needs = r.needs(doc.get("needs"))
	})
	if into.Standalone {
		l.declared = []*worldv1.TableSchema{world.Alone()}
		l.schema = world.SchemaOf(l.declared)
	}
}

// needs reads what a pack needs.
func (r *reader) needs(v *value) []Need {
	if v = r.object(v, needsForm()); v == nil {
		return nil
	}
	var needs []Need
	add := func(item *value, need Need) {
		need.Position = Position{r.file, item.line, item.column}
		needs = append(needs, need)
	}
	for _, item := range r.items(v.get("environment")) {
		if name := r.text(item); name != "" {
			add(item, Need{Variable: name})
		}
	}
	for _, item := range r.items(v.get("commands")) {
		if name := r.text(item); name != "" {
			add(item, Need{Command: name})
		}
	}
	return needs
}
