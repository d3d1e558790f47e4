package conformance

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// promptField is the field of a completion request with the conversation.
const promptField = "prompt"

// anyProse is a mask that matches any text.
const anyProse = "«prose:0»"

// normalizePrompt rewrites Mistral's prompts. A tokenizer wrote the recorded ones, with marks for
// spaces and bytes, and with random ids.
func normalizePrompt(_ *roleRequest, want, got map[string]any) error {
	for _, fields := range []map[string]any{want, got} {
		if text, ok := fields[promptField].(string); ok {
			fields[promptField] = decodeTokens(text)
		}
	}
	return nil
}

func decodeTokens(text string) string {
	text = strings.ReplaceAll(text, "\u2581", " ")
	text = regexp.MustCompile(`<0x[0-9A-F]{2}>`).ReplaceAllStringFunc(text, func(token string) string {
		code, _ := strconv.ParseUint(token[3:5], 16, 8) // the pattern matches two digits
		return string([]byte{byte(code)})
	})
	return regexp.MustCompile(`("(?:call_)?id": )"[0-9A-Za-z]{9}"`).ReplaceAllString(text, `$1"-"`)
}

// template is the input of Command-R's tokenizer.
type template struct {
	Conversation []templateTurn
	Tools        []templateTool
}

type templateTurn struct {
	Role, Content string
	ToolCalls     []struct {
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

type templateTool struct {
	Name        string
	Description any
	Parameters  json.RawMessage `json:"parameter_definitions"`
}

// templatePrompt replaces the recorded prompt, which depends on the tokenizer's template, by the
// expected one: all tools, then all turns, in order.
func templatePrompt(request *roleRequest, want, _ map[string]any) error {
	var t template
	if err := json.Unmarshal(request.BeforeTemplate, &t); err != nil {
		return fmt.Errorf("before_template: %w", err)
	}
	var b strings.Builder
	b.WriteString(turnOf("SYSTEM"))
	turns := t.Conversation
	if len(turns) > 0 && turns[0].Role == "system" {
		b.WriteString(anyProse + strings.TrimSpace(turns[0].Content))
		turns = turns[1:]
	}
	for _, tool := range t.Tools {
		signature, err := tool.signature()
		if err != nil {
			return fmt.Errorf("before_template: %w", err)
		}
		b.WriteString(anyProse + signature + anyProse)
	}
	b.WriteString(anyProse + turnEnd)
	for _, turn := range turns {
		b.WriteString(turn.text() + turnEnd)
	}
	want[promptField] = b.String() + turnOf("SYSTEM") + anyProse + turnEnd + turnOf("CHATBOT")
	return nil
}

const turnEnd = "<|END_OF_TURN_TOKEN|>"

func turnOf(who string) string { return "<|START_OF_TURN_TOKEN|><|" + who + "_TOKEN|>" }

// text returns the expected text of a turn, with masks around calls and results.
func (t templateTurn) text() string {
	switch {
	case len(t.ToolCalls) > 0:
		text := turnOf("CHATBOT") + anyProse
		for _, call := range t.ToolCalls {
			text += strconv.Quote(call.Function.Name) + anyProse + call.Function.Arguments + anyProse
		}
		return text
	case t.Role == "tool":
		return turnOf("SYSTEM") + anyProse + t.Content + anyProse
	default:
		who := map[string]string{"system": "SYSTEM", "user": "USER", "assistant": "CHATBOT"}[t.Role]
		return turnOf(who) + strings.TrimSpace(t.Content)
	}
}

// signature returns a tool as a Python stub with its arguments in order.
func (t templateTool) signature() (string, error) {
	var arguments, described []string
	decoder := json.NewDecoder(strings.NewReader(string(t.Parameters)))
	if _, err := decoder.Token(); err != nil {
		return "", err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return "", err
		}
		var a struct {
			Type        string
			Description any
			Required    bool
		}
		if err := decoder.Decode(&a); err != nil {
			return "", err
		}
		kind, value := a.Type, ""
		if !a.Required {
			kind, value = "Optional["+a.Type+"]", " = None"
		}
		arguments = append(arguments, fmt.Sprintf("%s: %s%s", name, kind, value))
		described = append(described, fmt.Sprintf("%s (%s): %s", name, kind, prose(a.Description)))
	}
	text := fmt.Sprintf("def %s(%s) -> List[Dict]:\n    \"\"\"%s", t.Name, strings.Join(arguments, ", "), prose(t.Description))
	if len(described) > 0 {
		text += "\n\n    Args:\n        " + strings.Join(described, "\n        ")
	}
	return text + "\n    \"\"\"", nil
}

// prose returns a text, or the mask for a hash of prose.
func prose(text any) string {
	if s, ok := text.(string); ok {
		return s
	}
	return anyProse
}
