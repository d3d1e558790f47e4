package scenario

import (
	"slices"
	"strings"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// These categories follow from a scenario's augmentations.
const (
	noDistractionTools = "NO_DISTRACTION_TOOLS"
	allToolsAvailable  = "ALL_TOOLS_AVAILABLE"
)

// These categories follow from the solution, unless the author sets others.
const (
	singleToolCall   = "SINGLE_TOOL_CALL"
	multipleToolCall = "MULTIPLE_TOOL_CALL"
	singleUserTurn   = "SINGLE_USER_TURN"
	multipleUserTurn = "MULTIPLE_USER_TURN"
	// insufficient marks tasks without a category of tool calls, because the necessary calls are
	// unknown.
	insufficient = "INSUFFICIENT_INFORMATION"
)

// derivedCategories returns the categories that follow from a solution and are missing in explicit:
// whether it calls several tools, and whether the user speaks after the first message.
func derivedCategories(explicit []string, tools map[string]bool, speaks bool) []string {
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(explicit, name) })
	}
	var derived []string
	if !has(singleToolCall, multipleToolCall, insufficient) && len(tools) > 0 {
		derived = append(derived, map[bool]string{false: singleToolCall, true: multipleToolCall}[len(tools) > 1])
	}
	if !has(singleUserTurn, multipleUserTurn) {
		derived = append(derived, map[bool]string{false: singleUserTurn, true: multipleUserTurn}[speaks])
	}
	return derived
}

// solutionCategories returns the derived categories that a scenario lacks, none without a solution.
func solutionCategories(setup *setupv1.Setup) []string {
	if len(setup.GetOracleScript()) == 0 {
		return nil
	}
	tools := make(map[string]bool)
	for call := range Calls(setup.GetOracleScript()...) {
		tools[call.GetTool()] = true
	}
	speaks := slices.ContainsFunc(setup.GetUserScript(), func(turn *worldv1.ScriptTurn) bool { return turn.GetSay() != "" })
	return derivedCategories(setup.GetCategories(), tools, speaks)
}

// allCategories is the row of a summary for all rollouts.
const allCategories = "ALL_CATEGORIES"

// AugmentationCategories returns the categories of augmentations: the level of distraction, then
// the scramblings in the given order. The default level is NO_DISTRACTION_TOOLS.
func AugmentationCategories(augmentations []setupv1.Augmentation) []string {
	level := noDistractionTools
	var scrambled []string
	for _, a := range augmentations {
		switch name := augmentationText(a); {
		case a == setupv1.Augmentation_AUGMENTATION_ALL_TOOLS:
			level = allToolsAvailable
		case isDistraction(a):
			level = name
		default:
			scrambled = append(scrambled, name)
		}
	}
	return append([]string{level}, scrambled...)
}

// isDistraction reports whether an augmentation is a level of distraction.
func isDistraction(a setupv1.Augmentation) bool {
	return a == setupv1.Augmentation_AUGMENTATION_ALL_TOOLS || strings.HasSuffix(augmentationText(a), "_DISTRACTION_TOOLS")
}

func augmentationText(a setupv1.Augmentation) string {
	return strings.TrimPrefix(a.String(), form.AugmentationPrefix)
}

// IsReservedCategory reports whether a category exists without a pack, so that none can declare it.
func IsReservedCategory(name string) bool {
	return name == allCategories || slices.Contains(knownCategories(), name)
}

// knownCategories returns all categories of canonical scenarios.
func knownCategories() []string {
	known := append(form.Categories(), noDistractionTools, allToolsAvailable)
	for _, name := range form.Augmentations() {
		if name != "ALL_TOOLS" {
			known = append(known, name)
		}
	}
	return known
}
