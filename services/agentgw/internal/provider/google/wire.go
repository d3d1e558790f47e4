package google

import (
	"encoding/json"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"
)

// Types of generateContent, as far as they are sent or read:
// https://ai.google.dev/api/generate-content. A field that is not read cannot make an answer
// invalid. Vertex AI may send avgLogprobs as "NaN".

const (
	roleUser  = "user"
	roleModel = "model"
	// roleTool is the role of tools on Vertex AI. On AI Studio tools have the role user.
	roleTool = "tool"

	typeObject = "OBJECT"

	mimeJSON = "application/json"
)

// request is the body of a request. Tools are a []tool.
type request struct {
	Contents          []content        `json:"contents"`
	SystemInstruction *content         `json:"systemInstruction,omitempty"`
	Tools             provider.RawJSON `json:"tools,omitempty"`
	GenerationConfig  generationConfig `json:"generationConfig,omitzero"`
}

// content is one turn. Parts are a []part, or json.RawMessage for a native turn.
type content struct {
	Role  string `json:"role"`
	Parts any    `json:"parts"`
}

// part is a text, a call or a result. A decoded one may be none of them. A text may be empty.
type part struct {
	Text *string `json:"text,omitempty"`
	// Thought: the text summarizes the model's thoughts.
	Thought bool `json:"thought,omitempty"`
	// ThoughtSignature is opaque.
	ThoughtSignature string            `json:"thoughtSignature,omitempty"`
	FunctionCall     *functionCall     `json:"functionCall,omitempty"`
	FunctionResponse *functionResponse `json:"functionResponse,omitempty"`
}

// functionCall is a call. Args stay raw to keep the order of arguments and the spelling of numbers.
type functionCall struct {
	ID   lenient.ID      `json:"id,omitempty"`
	Name string          `json:"name,omitempty"`
	Args json.RawMessage `json:"args"`
}

type functionResponse struct {
	ID       string         `json:"id,omitempty"`
	Name     string         `json:"name,omitempty"`
	Response map[string]any `json:"response,omitempty"`
}

type tool struct {
	FunctionDeclarations []functionDeclaration `json:"functionDeclarations,omitempty"`
}

// functionDeclaration describes a tool. Parameters are a schema with the interface's type names.
type functionDeclaration struct {
	Description string          `json:"description,omitempty"`
	Name        string          `json:"name,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

type generationConfig struct {
	CandidateCount  int32           `json:"candidateCount,omitempty"`
	MaxOutputTokens int32           `json:"maxOutputTokens,omitempty"`
	Temperature     *float32        `json:"temperature,omitempty"`
	ThinkingConfig  *thinkingConfig `json:"thinkingConfig,omitempty"`
	TopK            int32           `json:"topK,omitempty"`
	Stop            []string        `json:"stopSequences,omitempty"`
	Seed            *int64          `json:"seed,omitempty"`

	ResponseMIMEType string          `json:"responseMimeType,omitempty"`
	ResponseSchema   json.RawMessage `json:"responseJsonSchema,omitempty"`
}

// thinkingConfig has exactly one field set. A budget of 0 tokens turns thinking off.
type thinkingConfig struct {
	ThinkingBudget *int32 `json:"thinkingBudget,omitempty"`
	ThinkingLevel  string `json:"thinkingLevel,omitempty"`
}

// response is the body of an answer.
type response struct {
	Candidates     []candidate     `json:"candidates"`
	PromptFeedback *promptFeedback `json:"promptFeedback"`
	UsageMetadata  json.RawMessage `json:"usageMetadata"`
}

type candidate struct {
	Content struct {
		// Parts are a []part. They stay raw because later requests may carry them verbatim.
		Parts *json.RawMessage `json:"parts"`
	} `json:"content"`
	FinishReason  lenient.Word `json:"finishReason"`
	FinishMessage any          `json:"finishMessage"`
}

type promptFeedback struct {
	BlockReason        lenient.Word `json:"blockReason"`
	BlockReasonMessage any          `json:"blockReasonMessage"`
}

// usageFields are the token counts of an answer. Those of candidates exclude thoughts.
var usageFields = lenient.UsageFields{
	Input: lenient.Field("promptTokenCount"), Cached: []lenient.Count{lenient.Field("cachedContentTokenCount")},
	Output: lenient.Count{{"candidatesTokenCount"}, {"thoughtsTokenCount"}}, Reasoning: lenient.Field("thoughtsTokenCount"),
}
