// Package random plays an agent that calls random tools with random arguments of the right types.
// It is the baseline of every score. Its turn is a function of the seed, the turn number, the view
// and the tools.
package random

import (
	"hash/fnv"
	"math/rand/v2"
	"strconv"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/turn"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	// turns is the number of turns with calls.
	turns = 5
	// maxCalls is the largest number of calls in one turn.
	maxCalls    = 3
	closingText = "That is as far as I got."
)

// Respond plays the next turn. Safe for concurrent use. The error is a *turn.Mistake.
func Respond(req *agentgwv1.RespondRequest, tools *turn.Tools) ([]*worldv1.Message, error) {
	composer := turn.Composer{Role: req.GetRole(), Index: req.GetIndex(), Compat: req.GetCompat()}
	player := req.GetPlayer().GetRandom()
	if req.GetTurn() >= turns {
		return composer.Say(closingText), nil
	}
	list := tools.List()
	if len(list) == 0 {
		return composer.Say(closingText), nil
	}
	draw := drawer{
		Rand:  rand.New(rand.NewPCG(uint64(req.GetSeed())+uint64(player.GetSeed()), turnHash(req))),
		words: wordsOf(req.GetView()),
	}
	calls := make([]turn.Call, 1+draw.IntN(maxCalls))
	for i := range calls {
		tool := list[draw.IntN(len(list))]
		calls[i] = turn.Call{IDRule: turn.IndexID, Tool: tool.GetExecutionName(), Arguments: draw.arguments(tool.GetParametersJson())}
	}
	messages, _, err := composer.Calls(calls, tools)
	return messages, err
}

// turnHash is the second half of the generator's seed: the position of the turn within any rollout.
func turnHash(req *agentgwv1.RespondRequest) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(strconv.Itoa(int(req.GetIndex())) + "/" + strconv.Itoa(int(req.GetTurn()))))
	return h.Sum64()
}
