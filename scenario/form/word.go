package form

import (
	"regexp"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
)

const (
	// SchemaFile is the file of a pack with its tables.
	SchemaFile = "schema.yaml"
	// ToolFolder is the folder of a pack with its tools.
	ToolFolder = "tools"
	// AllTools selects all tools.
	AllTools = "all"
	// ExpressionKey is the only field of a mapping that represents an expression.
	ExpressionKey = "python"
	// NowText is the scenario's now in place of a timestamp.
	NowText = "now"
	// StateSession is the only value of a server's state.
	StateSession = "session"
	// MaxTurns is the largest number of a turn.
	MaxTurns = 10000

	namePattern     = `^[A-Za-z0-9][A-Za-z0-9_.-]{0,199}$`
	declaredPattern = `^[a-z][a-z0-9_]{0,59}$`
	versionPattern  = `^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`
	categoryPattern = `^[A-Z][A-Z0-9_]{0,59}$`
)

// AugmentationPrefix is the prefix of the enumeration, whose values have none in files.
const AugmentationPrefix = "AUGMENTATION_"

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

// CellTypes returns the names of CellKinds in files.
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
