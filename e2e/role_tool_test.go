package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// unrestrictedScenario gives the agent all tools, so that the environment lets both roles call
// every tool.
const unrestrictedScenario = `wifi_off:
  world: flat
  extra_tools: all
  user:
    goal: Have the wifi of your phone turned off.
    says: Turn the wifi off, please.
  oracle:
    - set_wifi_status: {on: false}
    - {say: Wifi is now off., milestone: none}
  milestones:
    wifi_off: {snapshot: {setting: {wifi: false, cellular: true, location_service: true, low_battery_mode: false}}}
`

const unrestrictedWorld = `clock: {now: 2025-01-02T09:00:00, time_zone: Europe/Berlin}
tables:
  setting:
    - {cellular: true, wifi: true, location_service: true, low_battery_mode: false, latitude: 52.52, longitude: 13.405}
`

// TestLongToolOfAnotherRole checks that a role cannot call another role's tools in a scenario
// without a selection of tools. A user calls one of the agent's, and an agent calls
// end_conversation.
func TestLongToolOfAnotherRole(t *testing.T) {
	t.Parallel()
	pack := t.TempDir()
	for name, text := range map[string]string{"wifi_off.yaml": unrestrictedScenario, "worlds/flat.yaml": unrestrictedWorld} {
		path := filepath.Join(pack, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	play := func(t *testing.T, args ...string) (out string) {
		t.Helper()
		out = filepath.Join(t.TempDir(), "out")
		toolsandbox(t, append([]string{"run", "--probe=false", "--pack", pack, "--out", out}, append(args, "wifi_off")...)...)
		return out
	}
	end := userTurn{tool: "end_conversation", arguments: "{}"}
	for _, m := range userModels() {
		t.Run("user "+m.player, func(t *testing.T) {
			t.Parallel()
			address, requests := m.start(t, []userTurn{{tool: "set_wifi_status", arguments: `{"on": false}`}, {text: "Well?"}, end})
			got, scored := entry(t, play(t, "--agent", "unhelpful", "--user", m.player, "--user-base-url", address)).Similarity.Number()
			if !scored || got != 0 || len(requests()) != 3 {
				t.Errorf("got a score of %g (%t) after %d requests, want 0 after 3", got, scored, len(requests()))
			}
		})
	}
	for _, m := range userModels() {
		if strings.HasPrefix(m.player, "plain:") {
			continue // the model can only be the user
		}
		t.Run("agent "+m.player, func(t *testing.T) {
			t.Parallel()
			address, requests := m.start(t, []userTurn{end, {text: "I am still here."}})
			out := play(t, "--agent", m.player, "--base-url", address)
			raw, err := os.ReadFile(filepath.Join(out, "trajectories", "wifi_off", "conversation.json"))
			if err != nil {
				t.Fatal(err)
			}
			const refused = "NameError: name 'end_conversation_' is not defined"
			if got := string(raw); !strings.Contains(got, refused) || !strings.Contains(got, "I am still here.") {
				t.Errorf("got after %d requests\n%s\nwant a call that is refused, and then the conversation going on", len(requests()), got)
			}
		})
	}
}
