package hooks

import (
	"encoding/json"
	"time"
)

// Input is what a hook is told, for a command as one JSON object on stdin
// (EX-08). The first fields are those of every event; of the others those of the
// event are set.
type Input struct {
	SessionID      string    `json:"session_id"`
	TranscriptPath string    `json:"transcript_path"` // of the recording; "": there is none
	CWD            string    `json:"cwd"`
	Event          Event     `json:"hook_event_name"`
	Timestamp      time.Time `json:"timestamp"`

	// BeforeTool and AfterTool.
	ToolName            string          `json:"tool_name,omitempty"`
	ToolInput           json.RawMessage `json:"tool_input,omitempty"`            // the arguments, an object
	MCPContext          *MCPContext     `json:"mcp_context,omitempty"`           // of a tool of an MCP server
	OriginalRequestName string          `json:"original_request_name,omitempty"` // the call comes from an AfterTool of a call of this tool
	ToolResponse        *ToolResponse   `json:"tool_response,omitempty"`         // AfterTool

	// BeforeAgent and AfterAgent.
	Prompt         *string `json:"prompt,omitempty"`
	PromptResponse *string `json:"prompt_response,omitempty"`  // AfterAgent: the texts of the answers
	StopHookActive *bool   `json:"stop_hook_active,omitempty"` // AfterAgent: one has made the prompt go on

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

// MCPContext says where a tool of an MCP server comes from. It holds no secret.
type MCPContext struct {
	ServerName string   `json:"server_name"`
	ToolName   string   `json:"tool_name"` // as the server calls it
	Command    string   `json:"command,omitempty"`
	Args       []string `json:"args,omitempty"`
	CWD        string   `json:"cwd,omitempty"`
	URL        string   `json:"url,omitempty"`
	TCP        string   `json:"tcp,omitempty"`
}

// ToolResponse is what a call gave.
type ToolResponse struct {
	LLMContent    json.RawMessage `json:"llmContent"`
	ReturnDisplay json.RawMessage `json:"returnDisplay"`
	Error         json.RawMessage `json:"error,omitempty"`
}

// LLMRequest is a request to a model in words of no provider. Of turns only the
// texts are told; those without one are left out.
type LLMRequest struct {
	Model      string       `json:"model"`
	Messages   []LLMMessage `json:"messages"`
	Config     LLMConfig    `json:"config"`
	ToolConfig *ToolConfig  `json:"toolConfig,omitempty"`
}

// LLMMessage is what somebody said: user, model or system.
type LLMMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// LLMConfig says how the model answers; what is nil is the provider's.
type LLMConfig struct {
	Temperature     *float64 `json:"temperature,omitempty"`
	MaxOutputTokens *int     `json:"maxOutputTokens,omitempty"`
	TopP            *float64 `json:"topP,omitempty"`
	TopK            *float64 `json:"topK,omitempty"` // read, and told to no provider
}

// ToolConfig says which tools a model may call: AUTO, ANY or NONE, and for ANY
// the names; empty: all.
type ToolConfig struct {
	Mode                 string   `json:"mode"`
	AllowedFunctionNames []string `json:"allowedFunctionNames,omitempty"`
}

// The modes of a [ToolConfig].
const (
	ToolsAuto = "AUTO"
	ToolsAny  = "ANY"
	ToolsNone = "NONE"
)

// LLMResponse is an answer of a model, or a piece of one.
type LLMResponse struct {
	Text       string         `json:"text,omitempty"`
	Candidates []LLMCandidate `json:"candidates"`
	Usage      *LLMUsage      `json:"usageMetadata,omitempty"`
}

// LLMCandidate is one way to answer.
type LLMCandidate struct {
	Content      LLMContent `json:"content"`
	FinishReason string     `json:"finishReason,omitempty"` // STOP, MAX_TOKENS, SAFETY, RECITATION, OTHER
	Index        int        `json:"index"`
}

// LLMContent is what the model says.
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
