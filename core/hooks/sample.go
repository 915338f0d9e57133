package hooks

import "encoding/json"

// Sample returns an example input for an event: a call of tool, or a few words. For an
// unknown event only the name is set.
func (e Event) Sample(tool string) Input {
	in := Input{Event: e}
	switch e {
	case BeforeTool:
		sampleCall(&in, tool)
	case AfterTool:
		sampleResult(&in, tool)
	case BeforeAgent:
		samplePrompt(&in)
	case AfterAgent:
		sampleAnswer(&in)
	case Notification:
		sampleNotification(&in)
	case SessionStart:
		in.Source = "startup"
	case SessionEnd:
		in.Reason = "exit"
	case PreCompress:
		in.Trigger = "manual"
	case BeforeModel, BeforeToolSelection:
		sampleRequest(&in)
	case AfterModel:
		sampleChunk(&in)
	}
	return in
}

func sampleCall(in *Input, tool string) {
	in.ToolName, in.ToolInput = tool, json.RawMessage(`{}`)
	if tool == "run_shell_command" {
		in.ToolInput = json.RawMessage(`{"command":"true"}`)
	}
}

func sampleResult(in *Input, tool string) {
	sampleCall(in, tool)
	in.ToolResponse = &ToolResponse{LLMContent: json.RawMessage(`"a sample result"`), ReturnDisplay: json.RawMessage(`"a sample result"`)}
}

func samplePrompt(in *Input) {
	prompt := "a sample prompt"
	in.Prompt = &prompt
}

func sampleAnswer(in *Input) {
	samplePrompt(in)
	answer, again := "a sample answer", false
	in.PromptResponse, in.StopHookActive = &answer, &again
}

func sampleNotification(in *Input) {
	in.NotificationType, in.Message, in.Details = "ToolPermission", "a sample question", json.RawMessage(`{"type":"info","title":"a sample"}`)
}

func sampleRequest(in *Input) {
	in.LLMRequest = &LLMRequest{Model: "sample", Messages: []LLMMessage{{Role: "user", Content: "a sample prompt"}}}
}

func sampleChunk(in *Input) {
	sampleRequest(in)
	const answer = "a sample answer"
	in.LLMResponse = &LLMResponse{Text: answer, Candidates: []LLMCandidate{{Content: LLMContent{Role: "model", Parts: LLMParts{answer}}}}}
}
