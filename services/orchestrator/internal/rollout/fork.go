package rollout

import busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"

// Given returns how many messages a fork begins with, including the starting ones. It is 0 for a
// rollout that is played from the start.
func Given(fork *busv1.Fork) int {
	given := int(fork.GetMessage())
	if fork.GetEdited() {
		given++
	}
	return given
}
