package euroeval

import (
	"regexp"
	"strings"
)

const (
	// TokenLimit is the number of tokens that a model may generate for an answer.
	TokenLimit = 500
	// ReasoningTokenLimit is that of a model that reasons first.
	ReasoningTokenLimit = 8192
	// Schema is the JSON schema of an answer as a constrained decoder gets it. It declares every
	// argument as a text.
	Schema = `{"$defs": {"ToolCall": {"properties": {"function": {"title": "Function", "type": "string"}, ` +
		`"arguments": {"additionalProperties": {"type": "string"}, "title": "Arguments", "type": "object"}}, ` +
		`"required": ["function", "arguments"], "title": "ToolCall", "type": "object"}}, ` +
		`"properties": {"tool_calls": {"items": {"$ref": "#/$defs/ToolCall"}, "title": "Tool Calls", "type": "array"}}, ` +
		`"required": ["tool_calls"], "title": "ToolCallingResponse", "type": "object"}`
	// SchemaName is the name under which an API model gets the schema.
	SchemaName = "ModelMetaclass"
	// ResponseFormat is the response_format of a request to an API model that does not reason. A
	// model that reasons gets none.
	ResponseFormat = `{"type": "json_schema", "json_schema": {"name": "` + SchemaName + `", "schema": ` + Schema + `}}`
)

// The fixed words of a prompt are EuroEval's own (MIT License, src/euroeval/prompt_templates/
// tool_calling.py, commit f37841c8). They are part of the format: a published score holds for these
// words only.
const (
	promptHead = "A list of names and descriptions of functions available, and a user question is given below: \n"
	promptTail = "\nAnswer with a JSON, strictly following this (model) schema: "
	promptEnd  = ". The value of tool_calls must list the function call(s) to execute to fulfill the users request, " +
		"in the right order and number, using double quotes for all keys and strings, and nothing else " +
		"(no additional explanatory text)."
)

var blankLines = regexp.MustCompile(`\n{2,}`)

// Prompt returns the one message, from the user, that asks for the answer to a record with this
// text. The schema stands in it without its dollar signs.
func Prompt(text string) string {
	text = strip(blankLines.ReplaceAllString(text, "\n"))
	return promptHead + text + instruction()
}

// instruction is what follows the record's text.
func instruction() string { return promptTail + strings.ReplaceAll(Schema, "$", "") + promptEnd }

// promptFormat is the prompt as Python's str.format fills it with a text.
func promptFormat() string {
	return promptHead + "{text}" + strings.NewReplacer("{", "{{", "}", "}}").Replace(instruction())
}
