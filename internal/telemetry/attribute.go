package telemetry

import "go.opentelemetry.io/otel/attribute"

// Scope is the instrumentation scope of the spans.
const Scope = "toolsandbox"

// These are attributes of the semantic conventions.
const (
	OperationName  = attribute.Key("gen_ai.operation.name")
	ProviderName   = attribute.Key("gen_ai.provider.name")
	AgentName      = attribute.Key("gen_ai.agent.name")
	ConversationID = attribute.Key("gen_ai.conversation.id")
	RequestModel   = attribute.Key("gen_ai.request.model")
	ResponseModel  = attribute.Key("gen_ai.response.model")
	FinishReasons  = attribute.Key("gen_ai.response.finish_reasons")
	InputTokens    = attribute.Key("gen_ai.usage.input_tokens")
	CachedTokens   = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	OutputTokens   = attribute.Key("gen_ai.usage.output_tokens")
	ToolName       = attribute.Key("gen_ai.tool.name")
	ToolCallID     = attribute.Key("gen_ai.tool.call.id")
	ErrorType      = attribute.Key("error.type")
	HTTPMethod     = attribute.Key("http.request.method")
	HTTPStatus     = attribute.Key("http.response.status_code")
	HTTPResend     = attribute.Key("http.request.resend_count")
	ServerAddress  = attribute.Key("server.address")
	// With Config.Content only.
	InputMessages  = attribute.Key("gen_ai.input.messages")
	OutputMessages = attribute.Key("gen_ai.output.messages")
	ToolArguments  = attribute.Key("gen_ai.tool.call.arguments")
	ToolResult     = attribute.Key("gen_ai.tool.call.result")
)

// These are attributes of this program.
const (
	SweepID      = attribute.Key("toolsandbox.sweep.id")
	RolloutID    = attribute.Key("toolsandbox.rollout.id")
	Scenario     = attribute.Key("toolsandbox.scenario")
	Variant      = attribute.Key("toolsandbox.variant")
	Categories   = attribute.Key("toolsandbox.categories")
	UserName     = attribute.Key("toolsandbox.user.name")
	Trial        = attribute.Key("toolsandbox.trial")
	Seed         = attribute.Key("toolsandbox.seed")
	Round        = attribute.Key("toolsandbox.round")
	Score        = attribute.Key("toolsandbox.score")
	End          = attribute.Key("toolsandbox.end")
	Causes       = attribute.Key("toolsandbox.causes")
	CostUSD      = attribute.Key("toolsandbox.cost_usd")
	Messages     = attribute.Key("toolsandbox.messages")
	Worker       = attribute.Key("toolsandbox.worker")
	Attempt      = attribute.Key("toolsandbox.attempt")
	Role         = attribute.Key("toolsandbox.role")
	MessageIndex = attribute.Key("toolsandbox.message.index")
	Exception    = attribute.Key("toolsandbox.tool.exception")
	RetryReason  = attribute.Key("toolsandbox.retry.reason")
	Throttled    = attribute.Key("toolsandbox.throttled")
	Rollouts     = attribute.Key("toolsandbox.rollouts")
)
