package euroeval

import (
	"regexp"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
)

const (
	// TokenLimit is the number of tokens that a model may generate for an answer.
	TokenLimit = 500
	// ReasoningTokenLimit is the limit for a model that reasons.
	ReasoningTokenLimit = 8192
	// Schema is the JSON Schema of an answer for constrained decoding. It declares every argument as a
	// text.
	Schema = `{"$defs": {"ToolCall": {"properties": {"function": {"title": "Function", "type": "string"}, ` +
		`"arguments": {"additionalProperties": {"type": "string"}, "title": "Arguments", "type": "object"}}, ` +
		`"required": ["function", "arguments"], "title": "ToolCall", "type": "object"}}, ` +
		`"properties": {"tool_calls": {"items": {"$ref": "#/$defs/ToolCall"}, "title": "Tool Calls", "type": "array"}}, ` +
		`"required": ["tool_calls"], "title": "ToolCallingResponse", "type": "object"}`
	// SchemaName is the name of the schema in API requests.
	SchemaName = "ModelMetaclass"
	// ResponseFormat is the response_format of API requests to models without reasoning. Requests to
	// reasoning models have none.
	ResponseFormat = `{"type": "json_schema", "json_schema": {"name": "` + SchemaName + `", "schema": ` + Schema + `}}`
)

// These are EuroEval's texts (MIT License, src/euroeval/prompt_templates/tool_calling.py, commit
// f37841c8). They are part of the format: published scores hold for exactly these texts.
const (
	promptHead = "A list of names and descriptions of functions available, and a user question is given below: \n"
	promptTail = "\nAnswer with a JSON, strictly following this (model) schema: "
	promptEnd  = ". The value of tool_calls must list the function call(s) to execute to fulfill the users request, " +
		"in the right order and number, using double quotes for all keys and strings, and nothing else " +
		"(no additional explanatory text)."
)

var blankLines = regexp.MustCompile(`\n{2,}`)

// Prompt returns the user message that asks for the answer to a record. text is the record's text.
// The prompt contains the schema without its dollar signs.
func Prompt(text string) string {
	text = python.Strip(blankLines.ReplaceAllString(text, "\n"))
	return promptHead + text + instruction()
}

// instruction returns the part after the record's text.
func instruction() string { return promptTail + strings.ReplaceAll(Schema, "$", "") + promptEnd }

// promptFormat returns the prompt as a format for Python's str.format.
func promptFormat() string {
	return promptHead + "{text}" + strings.NewReplacer("{", "{{", "}", "}}").Replace(instruction())
}
