package httpclient

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

// templateRefusals are what servers say when the chat template of a model, or their own check in
// its place, refuses the order or the roles of a conversation, and the form that it demands. vLLM,
// SGLang, TGI, llama.cpp, LM Studio and Ollama pass on the words of the template. mistral-common
// checks for vLLM and for Mistral.
var templateRefusals = []struct {
	words  *regexp.Regexp
	demand conversation.Form
}{
	// Gemma 2; Gemma at Google.
	{regexp.MustCompile(`(?i)system (role|message|prompt)s?( is| are)? not supported|does not support (the )?system (role|message|prompt)|` +
		`developer instruction is not enabled`), conversation.SystemInUser},
	// Mistral 7B, Mixtral and Phi.
	{regexp.MustCompile(`(?i)only user(, | and )(assistant|model)( and tool)? roles are supported`), conversation.SystemInUser},
	// Qwen 3.5, about a second system text.
	{regexp.MustCompile(`(?i)system message must be (at the beginning|the first)`), conversation.Alternating},
	// Templates without tools.
	{regexp.MustCompile(`(?i)tool (role|message)s?( is| are)? not supported|does not support (the )?tool (role|message)|` +
		`(unsupported|unknown|invalid) role:? ['"]?tool\b`), conversation.CallsAsText},
	// Llama 3.1 to 3.3.
	{regexp.MustCompile(`(?i)only supports single tool-calls at once`), conversation.SingleCalls},
	// Mistral 7B 0.3 and Nemo; mistral-common.
	{regexp.MustCompile(`(?i)tool call ids should be alphanumeric strings with length 9|tool call id (was|has) .{0,200}length of 9`), conversation.ShortIDs},
	// Gemma, Mistral, Llama 2 and Command R; Bedrock; Perplexity; Google; Anthropic.
	{regexp.MustCompile(`(?i)roles must alternate|roles should be alternating|conversation must alternate|multiturn requests alternate`), conversation.Alternating},
	// Bedrock and mistral-common; Perplexity; Llama 3.1 with tools; Qwen 3.5.
	{regexp.MustCompile("(?i)conversation (roles )?must (start|begin) with (a |the )?user|last message must have role .?user|" +
		`cannot put tools in the first user message|no user query found`), conversation.Alternating},
	// mistral-common.
	{regexp.MustCompile(`(?i)unexpected role ['"](user|assistant|tool|system)['"] after role|expected last role user or tool`), conversation.Alternating},
}

// refusalStatuses are the statuses of a refused conversation: 400 of most servers, 422 of TGI, 500
// of llama.cpp and of Ollama.
var refusalStatuses = []int{http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError}

// templateException precedes the template's words at llama.cpp, after an excerpt of the template
// that may hold other exceptions.
const templateException = "Jinja Exception: "

// templateWords returns a message from the words of the template on, all of it if it does not mark
// them.
func templateWords(text string) string {
	if i := strings.LastIndex(text, templateException); i >= 0 {
		return text[i+len(templateException):]
	}
	return text
}

// demandedForm returns the form that the server's chat template demands, 0 if the error has another
// cause. The words that come first count.
func (c *apiError) demandedForm(status int) (demanded conversation.Form) {
	if !slices.Contains(refusalStatuses, status) {
		return 0
	}
	text := templateWords(c.text)
	first := len(text)
	for _, refusal := range templateRefusals {
		if at := refusal.words.FindStringIndex(text); at != nil && at[0] < first {
			first, demanded = at[0], refusal.demand
		}
	}
	return demanded
}
