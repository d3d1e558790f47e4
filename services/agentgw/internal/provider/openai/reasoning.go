package openai

import (
	"regexp"
	"strconv"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// firstReasoning is the first generation of GPT models that all reason.
const firstReasoning = 5

var (
	// generations reads a model's name. Fine-tuned models and those behind a router have it after a
	// prefix.
	generations = regexp.MustCompile(`^(?:.*/|ft:)?(?:(o)\d|codex-|gpt-(\d+)(.*))`)
	// chatty recognises the chat models of later generations, which do not reason.
	chatty = regexp.MustCompile(`^[0-9.]*-chat`)
)

// Reasons says whether a model is to reason: because it is told how much, or because all models of
// its name do.
func Reasons(m *agentgwv1.Model) bool { return Reasoning.Reasons(m) }

// reasonsUnasked says whether all models of a model's name reason.
func reasonsUnasked(m *agentgwv1.Model) bool {
	name := generations.FindStringSubmatch(m.GetModel())
	if name == nil {
		return false
	}
	if name[2] == "" {
		return true
	}
	generation, err := strconv.Atoi(name[2])
	return err == nil && generation >= firstReasoning && !chatty.MatchString(name[3])
}

// Temperature returns the temperature to send: none to a model that reasons, which would refuse it.
func Temperature(m *agentgwv1.Model) *float64 {
	if Reasons(m) {
		return nil
	}
	return m.Temperature
}
