package telemetry

import "go.opentelemetry.io/otel/attribute"

// The names here are API, and listed in the tables of docs/telemetry.md. Names that begin with
// gen_ai., error. or http. are those of OpenTelemetry's semantic conventions, version 1.41; names
// that begin with fettle. are fettle's own.

// scope is the name of the instrumentation scope.
const scope = "github.com/fettle-dev/fettle/core/telemetry"

// Spans. The names of the semantic conventions consist of the operation and its object.
const (
	spanPrompt     = "invoke_agent"
	spanTurn       = "turn"
	spanChat       = "chat"
	spanTool       = "execute_tool"
	spanCompaction = "compact"
)

// Attributes of the semantic conventions.
const (
	attrOperation     = attribute.Key("gen_ai.operation.name")
	attrProvider      = attribute.Key("gen_ai.provider.name")
	attrAgent         = attribute.Key("gen_ai.agent.name")
	attrConversation  = attribute.Key("gen_ai.conversation.id")
	attrModel         = attribute.Key("gen_ai.request.model")
	attrStream        = attribute.Key("gen_ai.request.stream")
	attrTemperature   = attribute.Key("gen_ai.request.temperature")
	attrMaxTokens     = attribute.Key("gen_ai.request.max_tokens")
	attrResponseID    = attribute.Key("gen_ai.response.id")
	attrResponseModel = attribute.Key("gen_ai.response.model")
	attrFinish        = attribute.Key("gen_ai.response.finish_reasons")
	attrInput         = attribute.Key("gen_ai.usage.input_tokens")
	attrOutput        = attribute.Key("gen_ai.usage.output_tokens")
	attrCached        = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	attrReasoning     = attribute.Key("gen_ai.usage.reasoning.output_tokens")
	attrTokenType     = attribute.Key("gen_ai.token.type")
	attrTool          = attribute.Key("gen_ai.tool.name")
	attrToolType      = attribute.Key("gen_ai.tool.type")
	attrCallID        = attribute.Key("gen_ai.tool.call.id")
	attrErrorType     = attribute.Key("error.type")
	attrHTTPStatus    = attribute.Key("http.response.status_code")
)

// Attributes of the semantic conventions that contain content.
const (
	attrInputMessages  = attribute.Key("gen_ai.input.messages")
	attrOutputMessages = attribute.Key("gen_ai.output.messages")
	attrSystem         = attribute.Key("gen_ai.system_instructions")
	attrArguments      = attribute.Key("gen_ai.tool.call.arguments")
	attrResult         = attribute.Key("gen_ai.tool.call.result")
)

// Attributes of fettle.
const (
	attrPromptID         = attribute.Key("fettle.prompt.id")
	attrPurpose          = attribute.Key("fettle.purpose")
	attrTurns            = attribute.Key("fettle.prompt.turns")
	attrCalls            = attribute.Key("fettle.prompt.calls")
	attrTurn             = attribute.Key("fettle.turn.number")
	attrAttempt          = attribute.Key("fettle.attempt")
	attrDeclared         = attribute.Key("fettle.tools.declared")
	attrDeclaredBytes    = attribute.Key("fettle.tools.declared_bytes")
	attrDeferred         = attribute.Key("fettle.tools.deferred")
	attrErrorReason      = attribute.Key("fettle.error.reason")
	attrStatus           = attribute.Key("fettle.tool.status")
	attrVerdict          = attribute.Key("fettle.decision.verdict")
	attrTier             = attribute.Key("fettle.decision.tier")
	attrSource           = attribute.Key("fettle.decision.source")
	attrLine             = attribute.Key("fettle.decision.line")
	attrForced           = attribute.Key("fettle.compaction.forced")
	attrCompactionStatus = attribute.Key("fettle.compaction.status")
	attrTokensBefore     = attribute.Key("fettle.compaction.tokens_before")
	attrTokensAfter      = attribute.Key("fettle.compaction.tokens_after")
)

// Attributes of fettle that contain content.
const (
	attrRule   = attribute.Key("fettle.decision.rule")
	attrReason = attribute.Key("fettle.decision.reason")
)

// Metrics.
const (
	metricTokens           = "gen_ai.client.token.usage"
	metricOperation        = "gen_ai.client.operation.duration"
	metricSessions         = "fettle.session.count"
	metricPromptDuration   = "fettle.prompt.duration"
	metricTurnDuration     = "fettle.turn.duration"
	metricRetries          = "fettle.retry.count"
	metricCalls            = "fettle.tool.call.count"
	metricCallDuration     = "fettle.tool.call.duration"
	metricDecisions        = "fettle.decision.count"
	metricCompactions      = "fettle.compaction.count"
	metricAgentRuns        = "fettle.agent.run.count"
	metricAgentRunDuration = "fettle.agent.run.duration"
)
