package model

import (
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/euroeval"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

// setPrompt makes a query of one prompt without tools. It defaults the settings that the player
// leaves open to EuroEval's: a schema for the answer unless the model reasons, temperature 0, and a
// seed where the provider takes one.
func setPrompt(query *provider.Query, prompt string, reasoning provider.Reasoning) {
	query.Tools = nil
	query.Transcript = []conversation.Entry{{Kind: conversation.User, Text: prompt}}
	if query.Seed == nil {
		query.Seed = proto.Int64(euroeval.Seed)
	}
	query.Model = proto.CloneOf(query.Model)
	limit := int32(euroeval.TokenLimit)
	if reasoning.Reasons(query.Model) {
		limit = euroeval.ReasoningTokenLimit
		if reasoning.BudgetInAnswer {
			limit += query.Model.GetThinkingBudget()
		}
	} else {
		query.Schema = &provider.Schema{Name: euroeval.SchemaName, JSON: euroeval.Schema}
		if query.Model.Temperature == nil {
			query.Model.Temperature = proto.Float64(0)
		}
	}
	if query.Model.GetMaxTokens() == 0 {
		query.Model.MaxTokens = limit
	}
}
