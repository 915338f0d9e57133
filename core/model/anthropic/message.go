package anthropic

import "encoding/json"

// request is a request in the form of the Messages API.
type request struct {
	Model        string        `json:"model"`
	MaxTokens    int           `json:"max_tokens,omitempty"`
	System       []block       `json:"system,omitempty"`
	Messages     []message     `json:"messages"`
	Tools        []tool        `json:"tools,omitempty"`
	ToolChoice   *toolChoice   `json:"tool_choice,omitempty"`
	OutputConfig *outputConfig `json:"output_config,omitempty"`
	Temperature  *float64      `json:"temperature,omitempty"`
	TopP         *float64      `json:"top_p,omitempty"`
	Stream       bool          `json:"stream,omitempty"`
}

// message is a turn of the conversation.
type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// block is a content block of a request. Type selects the fields that belong to it.
type block struct {
	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`
	Thinking     *string         `json:"thinking,omitempty"` // required in a thought, also if it is empty
	Signature    string          `json:"signature,omitempty"`
	Data         string          `json:"data,omitempty"` // of a redacted thought
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	ToolUseID    string          `json:"tool_use_id,omitempty"`
	IsError      bool            `json:"is_error,omitempty"`
	Content      []block         `json:"content,omitempty"` // of a tool's result
	Source       *source         `json:"source,omitempty"`
	Title        string          `json:"title,omitempty"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

// source is the data of an image or a document.
type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// cacheControl marks the end of a prefix that later requests share.
type cacheControl struct {
	Type string `json:"type"`
}

// ephemeral returns the mark of a prefix that is kept for some minutes.
func ephemeral() *cacheControl { return &cacheControl{Type: "ephemeral"} }

// tool is the declaration of a tool; with a Type, of a tool that the API defines.
type tool struct {
	Type         string          `json:"type,omitempty"`
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema,omitempty"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

// toolChoice states which tools the model may call.
type toolChoice struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
}

// outputConfig requests structured output.
type outputConfig struct {
	Format outputFormat `json:"format"`
}

// outputFormat is the schema of structured output.
type outputFormat struct {
	Type   string         `json:"type"`
	Schema map[string]any `json:"schema"`
}
