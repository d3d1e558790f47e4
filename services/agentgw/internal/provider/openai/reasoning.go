package openai

import (
	"regexp"
	"strconv"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// firstReasoningGPT is the first GPT generation of which all models reason.
const firstReasoningGPT = 5

var (
	// modelName matches a model's name. Fine-tuned and routed models have a prefix.
	modelName = regexp.MustCompile(`^(?:.*/|ft:)?(?:(o)\d|codex-|gpt-(\d+)(.*))`)
	// chatModel matches the chat models of later generations, which do not reason.
	chatModel = regexp.MustCompile(`^[0-9.]*-chat`)
)

// Reasons reports whether a model reasons, because of its settings or by default.
func Reasons(m *agentgwv1.Model) bool { return Reasoning.Reasons(m) }

// reasonsUnasked reports whether a model reasons by default.
func reasonsUnasked(m *agentgwv1.Model) bool {
	name := modelName.FindStringSubmatch(m.GetModel())
	if name == nil {
		return false
	}
	if name[2] == "" {
		return true
	}
	generation, err := strconv.Atoi(name[2])
	return err == nil && generation >= firstReasoningGPT && !chatModel.MatchString(name[3])
}

// Temperature returns the temperature to send. It is nil for a model that reasons, which would
// refuse it.
func Temperature(m *agentgwv1.Model) *float64 {
	if Reasons(m) {
		return nil
	}
	return m.Temperature
}
