package computed

import (
	"hash/fnv"
	"math/rand/v2"
	"strconv"

	"github.com/toolsandbox/toolsandbox/internal/turn"
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

// random plays the next turn of an agent that calls random tools with random arguments of the right
// types. It is the baseline of every score. Its turn is a function of the seeds, the position, the
// view and the tools. The error is a *turn.Mistake.
func random(player *agentgwv1.Random, p *Position) ([]*worldv1.Message, error) {
	list := p.Tools.List()
	if p.Turn >= turns || len(list) == 0 {
		return p.composer().Say(closingText), nil
	}
	draw := drawer{
		Rand:  rand.New(rand.NewPCG(uint64(p.Seed)+uint64(player.GetSeed()), turnHash(p))),
		words: wordsOf(p.View()),
	}
	made := make([]turn.Call, 1+draw.IntN(maxCalls))
	for i := range made {
		tool := list[draw.IntN(len(list))]
		made[i] = turn.Call{IDRule: turn.IndexID, Tool: tool.GetExecutionName(), Arguments: draw.arguments(tool.GetParametersJson())}
	}
	messages, _, err := p.composer().Calls(made, p.Tools)
	return messages, err
}

// turnHash is the second half of the generator's seed: the position of the turn within any rollout.
func turnHash(p *Position) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(strconv.Itoa(int(p.Index)) + "/" + strconv.Itoa(p.Turn)))
	return h.Sum64()
}
