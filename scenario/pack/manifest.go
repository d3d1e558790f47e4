package pack

import (
	"io/fs"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// Manifest is the content of pack.yaml, the zero value without the file.
type Manifest struct {
	Name, Version, Licence, Description string
	// Standalone reports that the pack excludes the built-in tools and tables.
	Standalone bool
	// Original reports that the scenarios are imported from the original.
	Original bool
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
	document.Position
}

// LoadManifest returns the content of pack.yaml. The error is of type document.Errors.
func LoadManifest(fsys fs.FS) (Manifest, error) {
	l := newLoader(fsys, Options{}, defaultLimits())
	manifest := Manifest{}
	if l.loadManifest(&manifest); len(l.mistakes) > 0 {
		return Manifest{}, l.mistakes
	}
	return manifest, nil
}

// loadManifest reads pack.yaml. A standalone pack declares that before its tables.
func (l *loader) loadManifest(into *Manifest) {
	l.optional(ManifestFile, func(r *document.Reader, data []byte) {
		doc := form.Pack().Read(r, r.Only(data, "description of the pack"))
		if doc == nil {
			return
		}
		into.Name, into.Licence, into.Description = r.Text(doc.Get("name")), r.Text(doc.Get("licence")), r.Text(doc.Get("description"))
		if version := doc.Get("version"); r.CheckShape(version, document.ShapeText) {
			if into.Version = version.Text; !form.VersionExpression.MatchString(version.Text) {
				r.Fail(version, "is %q, expected three numbers as in 1.4.0", spelling.Truncate(version.Text))
			}
		}
		if standalone := doc.Get("standalone"); r.CheckShape(standalone, document.ShapeBool) {
			if into.Standalone = standalone.Boolean; !into.Standalone {
				r.Fail(standalone, "is false, expected true; omit it for a pack with the built-in tools and tables")
			}
		}
		if original := doc.Get("original"); r.CheckShape(original, document.ShapeBool) {
			if into.Original = original.Boolean; !into.Original {
				r.Fail(original, "is false, expected true; omit it for scenarios that are not the original's")
			}
		}
		for _, item := range r.Items(doc.Get("categories")) {
			name := r.Text(item)
			switch {
			case !form.CategoryExpression.MatchString(name):
				r.Fail(item, "is %q, expected up to 60 capital letters, digits and underscores that start with a letter", spelling.Truncate(name))
			case scenario.IsReservedCategory(name) || slices.Contains(into.Categories, name):
				r.Fail(item, "%s exists; remove it", name)
			}
			into.Categories = append(into.Categories, name)
		}
		into.Needs = readNeeds(r, doc.Get("needs"))
		into.Servers = readServers(r, doc.Get("tools"), into.Needs)
	})
	l.shared.Categories = into.Categories
	if into.Standalone {
		l.shared.ExcludeBuiltin()
	}
}

// readNeeds reads the requirements of a pack.
func readNeeds(r *document.Reader, v *document.Value) []Need {
	if v = form.Needs().Read(r, v); v == nil {
		return nil
	}
	var needs []Need
	add := func(item *document.Value, need Need) {
		need.Position = r.At(item)
		needs = append(needs, need)
	}
	for _, item := range r.Items(v.Get("environment")) {
		if name := r.Text(item); name != "" {
			add(item, Need{Variable: name})
		}
	}
	for _, item := range r.Items(v.Get("commands")) {
		if name := r.Text(item); name != "" {
			add(item, Need{Command: name})
		}
	}
	return needs
}
