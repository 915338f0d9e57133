package hooks

import (
	"encoding/json"
	"time"
)

// Input is the input of a hook; a command receives it as one JSON object on stdin. The
// first fields are set for every event, the others for the events that have them.
type Input struct {
	SessionID      string    `json:"session_id"`
	TranscriptPath string    `json:"transcript_path"` // of the recording; "" without one
	CWD            string    `json:"cwd"`
	Event          Event     `json:"hook_event_name"`
	Timestamp      time.Time `json:"timestamp"`

	// BeforeTool and AfterTool.
	ToolName            string          `json:"tool_name,omitempty"`
	ToolInput           json.RawMessage `json:"tool_input,omitempty"`            // the arguments, an object
	MCPContext          *MCPContext     `json:"mcp_context,omitempty"`           // of an MCP tool
	OriginalRequestName string          `json:"original_request_name,omitempty"` // the call was requested by an AfterTool hook of a call of this tool
	ToolResponse        *ToolResponse   `json:"tool_response,omitempty"`         // AfterTool

	// BeforeAgent and AfterAgent.
	Prompt         *string `json:"prompt,omitempty"`
	PromptResponse *string `json:"prompt_response,omitempty"`  // AfterAgent: the text of the answers
	StopHookActive *bool   `json:"stop_hook_active,omitempty"` // AfterAgent: a hook has continued the prompt

	// BeforeModel, BeforeToolSelection and AfterModel.
	LLMRequest  *LLMRequest  `json:"llm_request,omitempty"`
	LLMResponse *LLMResponse `json:"llm_response,omitempty"` // AfterModel

	Source  string `json:"source,omitempty"`  // SessionStart: startup, resume, clear
	Reason  string `json:"reason,omitempty"`  // SessionEnd: exit, clear, logout, prompt_input_exit, other
	Trigger string `json:"trigger,omitempty"` // PreCompress: auto, manual

	// Notification.
	NotificationType string          `json:"notification_type,omitempty"` // ToolPermission
	Message          string          `json:"message,omitempty"`
	Details          json.RawMessage `json:"details,omitempty"`
}

// MCPContext is the origin of an MCP tool. It contains no secret.
type MCPContext struct {
	ServerName string   `json:"server_name"`
	ToolName   string   `json:"tool_name"` // as on the server
	Command    string   `json:"command,omitempty"`
	Args       []string `json:"args,omitempty"`
	CWD        string   `json:"cwd,omitempty"`
	URL        string   `json:"url,omitempty"`
	TCP        string   `json:"tcp,omitempty"`
}

// ToolResponse is the result of a call.
type ToolResponse struct {
	LLMContent    json.RawMessage `json:"llmContent"`
	ReturnDisplay json.RawMessage `json:"returnDisplay"`
	Error         json.RawMessage `json:"error,omitempty"`
}

// LLMRequest is a provider-neutral model request. It contains the text of turns; turns
// without text are omitted.
type LLMRequest struct {
	Model      string       `json:"model"`
	Messages   []LLMMessage `json:"messages"`
	Config     LLMConfig    `json:"config"`
	ToolConfig *ToolConfig  `json:"toolConfig,omitempty"`
}

// LLMMessage is a message with the role user, model or system.
type LLMMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// LLMConfig is the generation configuration; nil fields have the provider's default.
type LLMConfig struct {
	Temperature     *float64 `json:"temperature,omitempty"`
	MaxOutputTokens *int     `json:"maxOutputTokens,omitempty"`
	TopP            *float64 `json:"topP,omitempty"`
	TopK            *float64 `json:"topK,omitempty"` // accepted, but not sent to a provider
}

// ToolConfig selects the tools that a model may call: AUTO, ANY or NONE, and for ANY the
// names; empty: all.
type ToolConfig struct {
	Mode                 string   `json:"mode"`
	AllowedFunctionNames []string `json:"allowedFunctionNames,omitempty"`
}

// LLMResponse is a model response, or a chunk of one.
type LLMResponse struct {
	Text       string         `json:"text,omitempty"`
	Candidates []LLMCandidate `json:"candidates"`
	Usage      *LLMUsage      `json:"usageMetadata,omitempty"`
}

// LLMCandidate is one candidate of a response.
type LLMCandidate struct {
	Content      LLMContent `json:"content"`
	FinishReason string     `json:"finishReason,omitempty"` // STOP, MAX_TOKENS, SAFETY, RECITATION, OTHER
	Index        int        `json:"index"`
}

// LLMContent is model output.
type LLMContent struct {
	Role  string   `json:"role"`
	Parts LLMParts `json:"parts"`
}

// LLMParts are texts. A hook may also write each as {"text": …}.
type LLMParts []string

// UnmarshalJSON reads a list of texts.
func (p *LLMParts) UnmarshalJSON(data []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	*p = LLMParts{}
	for _, raw := range list {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			var part struct{ Text string }
			if err := json.Unmarshal(raw, &part); err != nil {
				return err
			}
			text = part.Text
		}
		*p = append(*p, text)
	}
	return nil
}

// LLMUsage counts tokens.
type LLMUsage struct {
	Prompt     int `json:"promptTokenCount,omitempty"`
	Candidates int `json:"candidatesTokenCount,omitempty"`
	Total      int `json:"totalTokenCount,omitempty"`
}
