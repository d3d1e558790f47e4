package scenario

import (
	"regexp"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	// schemaFile is the file of a pack with its tables.
	schemaFile = "schema.yaml"
	// allTools selects all tools.
	allTools = "all"
	// expressionKey is the only field of a mapping that represents an expression.
	expressionKey = "cel"
	// nowText is the scenario's now in place of a timestamp.
	nowText = "now"
	// stateSession is the only value of a server's state.
	stateSession = "session"
	// maxTurns is the largest number of a turn.
	maxTurns = 10000

	// These are the prefixes of enumerations, whose values have no prefix in files.
	augmentationPrefix = "AUGMENTATION_"
	snapshotPrefix     = "SNAPSHOT_MEASURE_"
	columnPrefix       = "COLUMN_MEASURE_"
	// packMeasureSuffix is the suffix of the enumeration value for a pack's measures.
	packMeasureSuffix = "PACK"

	namePattern     = `^[A-Za-z0-9][A-Za-z0-9_.-]{0,199}$`
	declaredPattern = `^[a-z][a-z0-9_]{0,59}$`
	versionPattern  = `^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`
	categoryPattern = `^[A-Z][A-Z0-9_]{0,59}$`
)

var (
	// nameExpression matches names of packs and scenarios, which are also names of folders.
	nameExpression = regexp.MustCompile(namePattern)
	// declaredExpression matches names of declared tables, columns, measures and servers.
	declaredExpression = regexp.MustCompile(declaredPattern)
	// versionExpression matches versions of packs: semantic versions without build metadata.
	versionExpression = regexp.MustCompile(versionPattern)
	// categoryExpression matches names of categories.
	categoryExpression = regexp.MustCompile(categoryPattern)
)

// cellKinds returns the types of cells in a pack's tables.
func cellKinds() []world.Kind { return []world.Kind{world.KindText, world.KindNumber, world.KindBool} }

// cellTypes returns the names of cellKinds in files.
func cellTypes() []string {
	var types []string
	for _, kind := range cellKinds() {
		types = append(types, kind.String())
	}
	return types
}

// tableNames returns the names of tables in files.
func tableNames(schema *world.Schema) []string {
	var names []string
	for _, table := range schema.Tables() {
		names = append(names, world.AuthorName(table.Name))
	}
	return names
}

// roleNames returns the names of roles in files.
func roleNames() []string {
	return []string{
		world.RoleName(worldv1.Role_ROLE_SYSTEM), world.RoleName(worldv1.Role_ROLE_USER),
		world.RoleName(worldv1.Role_ROLE_AGENT), world.RoleName(worldv1.Role_ROLE_EXECUTION_ENVIRONMENT),
	}
}

// AuthorCategories returns the categories for authors in the usual order. The caller owns the
// result.
func AuthorCategories() []string {
	return []string{
		"STATE_DEPENDENCY", "CANONICALIZATION", "SINGLE_TOOL_CALL", "MULTIPLE_TOOL_CALL", "SINGLE_USER_TURN",
		"MULTIPLE_USER_TURN", "INSUFFICIENT_INFORMATION", "COREFERENCE", "DISAMBIGUATION",
	}
}

// augmentationNames returns the names of augmentations in files, sorted.
func augmentationNames() []string {
	var names []string
	for number, name := range setupv1.Augmentation_name {
		if number != 0 {
			names = append(names, strings.TrimPrefix(name, augmentationPrefix))
		}
	}
	slices.Sort(names)
	return names
}

// cellMeasures returns the names of the built-in measures of cells.
func cellMeasures() []string { return measureNames(columnPrefix, evaluationv1.ColumnMeasure_value) }

// rowMeasures returns the names of the built-in measures of rows.
func rowMeasures() []string {
	return measureNames(snapshotPrefix, evaluationv1.SnapshotMeasure_value)
}

// measureNames returns the names of an enumeration's measures in files, sorted.
func measureNames(prefix string, numbers map[string]int32) []string {
	var names []string
	for name, number := range numbers {
		if number != 0 && name != prefix+packMeasureSuffix {
			names = append(names, measureName(prefix, name))
		}
	}
	slices.Sort(names)
	return names
}

// measureName returns the name of a measure in files, from its name in an enumeration.
func measureName(prefix, name string) string {
	if text := strings.ToLower(strings.TrimPrefix(name, prefix)); text != "tool_trace_dependant" {
		return text
	}
	return "derived"
}
