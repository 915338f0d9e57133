package custom

import (
	"encoding/json"

	"github.com/fettle-dev/fettle/core/hooks"
)

// sampleInput returns an example input for an event: a call of tool, or a few words. For an
// unknown event only the name is set.
func sampleInput(e hooks.Event, tool string) hooks.Input {
	in := hooks.Input{Event: e}
	switch e {
	case hooks.BeforeTool:
		sampleCall(&in, tool)
	case hooks.AfterTool:
		sampleResult(&in, tool)
	case hooks.BeforeAgent:
		samplePrompt(&in)
	case hooks.AfterAgent:
		sampleAnswer(&in)
	case hooks.Notification:
		sampleNotification(&in)
	case hooks.SessionStart:
		in.Source = "startup"
	case hooks.SessionEnd:
		in.Reason = "exit"
	case hooks.PreCompress:
		in.Trigger = "manual"
	case hooks.BeforeModel, hooks.BeforeToolSelection:
		sampleRequest(&in)
	case hooks.AfterModel:
		sampleChunk(&in)
	}
	return in
}

func sampleCall(in *hooks.Input, tool string) {
	in.ToolName, in.ToolInput = tool, json.RawMessage(`{}`)
	if tool == "run_shell_command" {
		in.ToolInput = json.RawMessage(`{"command":"true"}`)
	}
}

func sampleResult(in *hooks.Input, tool string) {
	sampleCall(in, tool)
	in.ToolResponse = &hooks.ToolResponse{LLMContent: json.RawMessage(`"a sample result"`), ReturnDisplay: json.RawMessage(`"a sample result"`)}
}

func samplePrompt(in *hooks.Input) {
	prompt := "a sample prompt"
	in.Prompt = &prompt
}

func sampleAnswer(in *hooks.Input) {
	samplePrompt(in)
	answer, again := "a sample answer", false
	in.PromptResponse, in.StopHookActive = &answer, &again
}

func sampleNotification(in *hooks.Input) {
	in.NotificationType, in.Message, in.Details = "ToolPermission", "a sample question", json.RawMessage(`{"type":"info","title":"a sample"}`)
}

func sampleRequest(in *hooks.Input) {
	in.LLMRequest = &hooks.LLMRequest{Model: "sample", Messages: []hooks.LLMMessage{{Role: "user", Content: "a sample prompt"}}}
}

func sampleChunk(in *hooks.Input) {
	sampleRequest(in)
	const answer = "a sample answer"
	in.LLMResponse = &hooks.LLMResponse{Text: answer, Candidates: []hooks.LLMCandidate{{Content: hooks.LLMContent{Role: "model", Parts: hooks.LLMParts{answer}}}}}
}
