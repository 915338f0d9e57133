package hooks

import "encoding/json"

// Sample returns an example input for an event: a call of tool, or a few words. For an
// unknown event only the name is set.
func (e Event) Sample(tool string) Input {
	in := Input{Event: e}
	if r := e.row(); r.sample != nil {
		r.sample(&in, tool)
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

func samplePrompt(in *Input, _ string) {
	prompt := "a sample prompt"
	in.Prompt = &prompt
}

func sampleAnswer(in *Input, tool string) {
	samplePrompt(in, tool)
	answer, again := "a sample answer", false
	in.PromptResponse, in.StopHookActive = &answer, &again
}

func sampleNotification(in *Input, _ string) {
	in.NotificationType, in.Message, in.Details = "ToolPermission", "a sample question", json.RawMessage(`{"type":"info","title":"a sample"}`)
}

func sampleRequest(in *Input, _ string) {
	in.LLMRequest = &LLMRequest{Model: "sample", Messages: []LLMMessage{{Role: "user", Content: "a sample prompt"}}}
}

func sampleChunk(in *Input, tool string) {
	sampleRequest(in, tool)
	const answer = "a sample answer"
	in.LLMResponse = &LLMResponse{Text: answer, Candidates: []LLMCandidate{{Content: LLMContent{Role: "model", Parts: LLMParts{answer}}}}}
}
