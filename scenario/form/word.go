package form

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
	// SchemaFile is the file of a pack with its tables.
	SchemaFile = "schema.yaml"
	// AllTools selects all tools.
	AllTools = "all"
	// ExpressionKey is the only field of a mapping that represents an expression.
	ExpressionKey = "cel"
	// NowText is the scenario's now in place of a timestamp.
	NowText = "now"
	// StateSession is the only value of a server's state.
	StateSession = "session"
	// MaxTurns is the largest number of a turn.
	MaxTurns = 10000

	// PackMeasureSuffix is the suffix of the enumeration value for a pack's measures.
	PackMeasureSuffix = "PACK"

	namePattern     = `^[A-Za-z0-9][A-Za-z0-9_.-]{0,199}$`
	declaredPattern = `^[a-z][a-z0-9_]{0,59}$`
	versionPattern  = `^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`
	categoryPattern = `^[A-Z][A-Z0-9_]{0,59}$`
)

// These are the prefixes of enumerations, whose values have no prefix in files.
const (
	AugmentationPrefix = "AUGMENTATION_"
	SnapshotPrefix     = "SNAPSHOT_MEASURE_"
	ColumnPrefix       = "COLUMN_MEASURE_"
)

var (
	// NameExpression matches names of packs and scenarios, which are also names of folders.
	NameExpression = regexp.MustCompile(namePattern)
	// DeclaredExpression matches names of declared tables, columns, measures and servers.
	DeclaredExpression = regexp.MustCompile(declaredPattern)
	// VersionExpression matches versions of packs: semantic versions without build metadata.
	VersionExpression = regexp.MustCompile(versionPattern)
	// CategoryExpression matches names of categories.
	CategoryExpression = regexp.MustCompile(categoryPattern)
)

// CellKinds returns the types of cells in a pack's tables.
func CellKinds() []world.Kind { return []world.Kind{world.KindText, world.KindNumber, world.KindBool} }

// CellTypes returns the names of cellKinds in files.
func CellTypes() []string {
	var types []string
	for _, kind := range CellKinds() {
		types = append(types, kind.String())
	}
	return types
}

// Tables returns the names of tables in files.
func Tables(schema *world.Schema) []string {
	var names []string
	for _, table := range schema.Tables() {
		names = append(names, world.AuthorName(table.Name))
	}
	return names
}

// Roles returns the names of roles in files.
func Roles() []string {
	return []string{
		world.RoleName(worldv1.Role_ROLE_SYSTEM), world.RoleName(worldv1.Role_ROLE_USER),
		world.RoleName(worldv1.Role_ROLE_AGENT), world.RoleName(worldv1.Role_ROLE_EXECUTION_ENVIRONMENT),
	}
}

// Categories returns the categories for authors in the usual order. The caller owns the
// result.
func Categories() []string {
	return []string{
		"STATE_DEPENDENCY", "CANONICALIZATION", "SINGLE_TOOL_CALL", "MULTIPLE_TOOL_CALL", "SINGLE_USER_TURN",
		"MULTIPLE_USER_TURN", "INSUFFICIENT_INFORMATION", "COREFERENCE", "DISAMBIGUATION",
	}
}

// Augmentations returns the names of augmentations in files, sorted.
func Augmentations() []string {
	var names []string
	for number, name := range setupv1.Augmentation_name {
		if number != 0 {
			names = append(names, strings.TrimPrefix(name, AugmentationPrefix))
		}
	}
	slices.Sort(names)
	return names
}

// CellMeasures returns the names of the built-in measures of cells.
func CellMeasures() []string { return measureNames(ColumnPrefix, evaluationv1.ColumnMeasure_value) }

// RowMeasures returns the names of the built-in measures of rows.
func RowMeasures() []string {
	return measureNames(SnapshotPrefix, evaluationv1.SnapshotMeasure_value)
}

// measureNames returns the names of an enumeration's measures in files, sorted.
func measureNames(prefix string, numbers map[string]int32) []string {
	var names []string
	for name, number := range numbers {
		if number != 0 && name != prefix+PackMeasureSuffix {
			names = append(names, MeasureName(prefix, name))
		}
	}
	slices.Sort(names)
	return names
}

// MeasureName returns the name of a measure in files, from its name in an enumeration.
func MeasureName(prefix, name string) string {
	if text := strings.ToLower(strings.TrimPrefix(name, prefix)); text != "tool_trace_dependant" {
		return text
	}
	return "derived"
}
