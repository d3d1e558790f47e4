package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"github.com/toolsandbox/toolsandbox/original/importer"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	// defaultZone is the time zone of tool cases without one.
	defaultZone = "America/Los_Angeles"
	// caseTime is the time of all tool cases, in POSIX seconds.
	caseTime = 1716399000
	// maxMessages has no effect in a session without a rollout.
	maxMessages = 30
)

// startingWorld is the initial state of tool cases.
type startingWorld struct {
	// maxIndex is the index of the last message, which goes from the user to the agent.
	maxIndex int32
	tables   []*worldv1.Table
}

func readWorlds(path string) (map[string]startingWorld, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read worlds: %w", err)
	}
	worlds, err := decodeWorlds(raw)
	if err != nil {
		return nil, fmt.Errorf("read worlds %s: %w", path, err)
	}
	return worlds, nil
}

func decodeWorlds(raw []byte) (map[string]startingWorld, error) {
	var recorded map[string]struct {
		MaxIndex int32 `json:"max_index"`
		Tables   json.RawMessage
	}
	if err := json.Unmarshal(raw, &recorded); err != nil {
		return nil, err
	}
	worlds := make(map[string]startingWorld, len(recorded))
	for name, source := range recorded {
		if source.MaxIndex < 0 {
			return nil, fmt.Errorf("world %s: max_index is below 0", name)
		}
		tables, err := importer.Tables(source.Tables)
		if err != nil {
			return nil, fmt.Errorf("world %s: %w", name, err)
		}
		worlds[name] = startingWorld{maxIndex: source.MaxIndex, tables: tables}
	}
	return worlds, nil
}

// setup returns the setup of a case. It allows all tools: the original's cases had no list of
// tools.
func (w startingWorld) setup(name, zone string, recordings []*setupv1.RecordedAnswer) *setupv1.Setup {
	setup := &setupv1.Setup{
		Name:        name,
		MaxMessages: maxMessages,
		Clock:       &setupv1.Clock{Now: caseTime, TimeZone: zone},
		Tables:      w.tables,
		Recordings:  recordings,
	}
	for i := range w.maxIndex {
		setup.Messages = append(setup.Messages, startingMessage(i, worldv1.Role_ROLE_SYSTEM))
	}
	setup.Messages = append(setup.Messages, startingMessage(w.maxIndex, worldv1.Role_ROLE_USER))
	return setup
}

// startingMessage returns a starting message to the agent.
func startingMessage(index int32, sender worldv1.Role) *worldv1.Message {
	content := "message " + strconv.Itoa(int(index))
	return &worldv1.Message{Index: index, Sender: sender, Recipient: worldv1.Role_ROLE_AGENT, Body: &worldv1.Message_Text{Text: content}}
}
