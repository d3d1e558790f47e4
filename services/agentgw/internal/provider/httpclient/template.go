package httpclient

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

// templateRefusals are what servers say when the chat template of a model, or their own check in
// its place, refuses the order or the roles of a conversation. The words are those of the
// templates, which vLLM, SGLang, TGI, llama.cpp, LM Studio and Ollama pass on, of mistral-common,
// which checks for vLLM and Mistral, and of Google, Bedrock, Perplexity and Anthropic.
var templateRefusals = []struct {
	words  *regexp.Regexp
	demand conversation.Form
}{
	// Gemma 2, Phi, Mistral before Nemo, and proxies in front of such models. Gemma at Google.
	{regexp.MustCompile(`(?i)system (role|message|prompt)s?( is| are)? not supported|does not support (the )?system (role|message|prompt)|Developer instruction is not enabled`), conversation.SystemInUser},
	// Qwen 3.5: a second system message, or a later one.
	{regexp.MustCompile(`(?i)System message must be (at the beginning|the first)`), conversation.Alternating},
	// Mistral 7B 0.1 to 0.3, before Nemo. Its exception is the system's first message.
	{regexp.MustCompile(`(?i)Only user and assistant roles are supported`), conversation.SystemInUser},
	{regexp.MustCompile(`(?i)tool (role|message)s?( is| are)? not supported|does not support (the )?tool (role|message)|(unsupported|unknown|unexpected|invalid) role:? ['"` + "`" + `]?tool\b`), conversation.CallsAsText},
	// Llama 3.1 to 3.3.
	{regexp.MustCompile(`(?i)only supports single tool-calls at once`), conversation.SingleCalls},
	// Mistral 0.3 and Nemo, and mistral-common.
	{regexp.MustCompile(`(?i)Tool call ids? should be alphanumeric strings with length 9|Tool call id (was|has to be defined|must be) .*length of 9`), conversation.ShortIDs},
	// Gemma, Mistral, Llama 2, Command R, Bedrock and Google; Perplexity; Anthropic.
	{regexp.MustCompile(`(?i)roles? must alternate|roles should be alternating|conversation must alternate|multiturn requests alternate`), conversation.Alternating},
	// Mistral-common, Bedrock, Llama 3.1 with tools, Qwen 3.5.
	{regexp.MustCompile(`(?i)(conversation|first message) must (start|begin|be) (with|from|a)? ?(a |the )?user|Cannot put tools in the first user message|No user query found in messages`), conversation.Alternating},
	{regexp.MustCompile(`(?i)(Unexpected|Expected last) role ['"]?(user|assistant|tool|system)\b`), conversation.Alternating},
}

// refusalStatuses are the statuses of a refused conversation: 400 of most servers, 422 of TGI, 500
// of llama.cpp and of Ollama.
var refusalStatuses = []int{http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError}

// templateException precedes the template's words at llama.cpp, after an excerpt of the template
// that may hold other exceptions.
const templateException = "Jinja Exception: "

// demandedForm returns the form that the server's chat template demands, 0 if the error has another
// cause. The words that come first count.
func (c *apiError) demandedForm(status int) (demanded conversation.Form) {
	if !slices.Contains(refusalStatuses, status) {
		return 0
	}
	text := c.text[strings.LastIndex(c.text, templateException)+1:]
	first := len(text)
	for _, refusal := range templateRefusals {
		if at := refusal.words.FindStringIndex(text); at != nil && at[0] < first {
			first, demanded = at[0], refusal.demand
		}
	}
	return demanded
}
