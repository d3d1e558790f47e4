package scenario

import (
	"regexp"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// versionPattern matches versions of packs: semantic versions without build metadata.
const versionPattern = `^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`

// categoryPattern matches names of categories.
const categoryPattern = `^[A-Z][A-Z0-9_]{0,59}$`

var (
	versionExpression  = regexp.MustCompile(versionPattern)
	categoryExpression = regexp.MustCompile(categoryPattern)
)

// Manifest is the content of pack.yaml, the zero value without the file.
type Manifest struct {
	Name, Version, Licence, Description string
	// Standalone reports that the pack excludes the built-in tools and tables.
	Standalone bool
	// Categories are the pack's own categories.
	Categories []string
	// Needs are the requirements of the pack.
	Needs []Need
	// Servers are the pack's tool servers.
	Servers []Server
}

// Need is a requirement for running a pack's scenarios.
type Need struct {
	// Variable is the name of an environment variable, Command that of a program on the PATH. One of
	// them is empty.
	Variable, Command string
	// Position is its position in pack.yaml.
	Position
}

// loadManifest reads pack.yaml. A standalone pack declares that before its tables.
func (l *loader) loadManifest(into *Manifest) {
	l.optional(packFile, func(r *reader, data []byte) {
		doc := r.object(r.only(data, "description of the pack"), packForm())
		if doc == nil {
			return
		}
		into.Name, into.Licence, into.Description = r.text(doc.get("name")), r.text(doc.get("licence")), r.text(doc.get("description"))
		if version := doc.get("version"); r.checkShape(version, shapeText) {
			if into.Version = version.text; !versionExpression.MatchString(version.text) {
				r.fail(version, "is %q, expected three numbers as in 1.4.0", truncate(version.text))
			}
		}
		if standalone := doc.get("standalone"); r.checkShape(standalone, shapeBool) {
			if into.Standalone = standalone.boolean; !into.Standalone {
				r.fail(standalone, "is false, expected true; omit it for a pack with the built-in tools and tables")
			}
		}
		for _, item := range r.items(doc.get("categories")) {
			name := r.text(item)
			switch {
			case !categoryExpression.MatchString(name):
				r.fail(item, "is %q, expected up to 60 capital letters, digits and underscores that start with a letter", truncate(name))
			case slices.Contains(knownCategories(), name) || name == allCategories || slices.Contains(into.Categories, name):
				r.fail(item, "%s exists; remove it", name)
			}
			into.Categories = append(into.Categories, name)
		}
		into.Needs = r.needs(doc.get("needs"))
		into.Servers = r.servers(doc.get("tools"), into.Needs)
	})
	l.opts.categories = into.Categories
	if into.Standalone {
		l.declared = []*worldv1.TableSchema{world.StandaloneMarker()}
		l.schema = world.SchemaOrBuiltin(l.declared)
	}
}

// needs reads the requirements of a pack.
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
