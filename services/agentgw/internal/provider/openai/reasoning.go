package openai

import (
	"regexp"
	"strconv"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

const (
	// effortNone turns a model's reasoning off.
	effortNone = "none"
	// firstReasoning is the first generation of GPT models that all reason.
	firstReasoning = 5
)

// Reasons says whether a model is to reason: because it is told how much, or because all models of its name do.
func Reasons(m *agentgwv1.Model) bool {
	switch m.GetReasoningEffort() {
	case "":
	case effortNone:
		return false
	default:
		return true
	}
	// Fine-tuned models and those behind a router have the name after a prefix; chat models of later generations do not reason.
	name := regexp.MustCompile(`^(?:.*/|ft:)?(?:(o)\d|codex-|gpt-(\d+)(.*))`).FindStringSubmatch(m.GetModel())
	if name == nil {
		return false
	}
	if name[2] == "" {
		return true
	}
	generation, err := strconv.Atoi(name[2])
	return err == nil && generation >= firstReasoning && !regexp.MustCompile(`^[0-9.]*-chat`).MatchString(name[3])
}

// Temperature returns the temperature to send: none to a model that reasons, which would refuse it.
func Temperature(m *agentgwv1.Model) *float64 {
	if Reasons(m) {
		return nil
	}
	return m.Temperature
}
