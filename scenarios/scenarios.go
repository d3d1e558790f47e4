// Package scenarios is the built-in catalogue: the scenarios and the worlds they start from, as the
// YAML files that docs/scenarios.md describes. Package scenario of module internal loads them.
package scenarios

import "embed"

// FS holds the scenarios at its top and the worlds in worlds/. It is read-only and safe for
// concurrent use.
//
//go:embed *.yaml worlds/*.yaml
var FS embed.FS
