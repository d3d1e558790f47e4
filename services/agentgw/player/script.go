package player

import (
	"fmt"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/pack"
)

// readTurns reads a file with a list of turns in the form of a scenario's script.
func readTurns(path string) ([]*worldv1.ScriptTurn, error) {
	raw, err := pack.ReadFile(path, document.MaxFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return scenario.ParseTurns(path, raw)
}
