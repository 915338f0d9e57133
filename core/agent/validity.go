package agent

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// The reasons of an error with code invalid_stream: the defect of an answer or of a call in it.
const (
	NoFinishReason  fault.Reason = "no_finish_reason"        // no finish reason
	MalformedCall   fault.Reason = "malformed_function_call" // a call that cannot be decoded
	UnexpectedCall  fault.Reason = "unexpected_tool_call"    // a tool call although no tools were declared
	MaxTokens       fault.Reason = "max_tokens_exceeded"     // cut before any output, or within its calls
	SafetyBlocked   fault.Reason = "safety_blocked"          // blocked by the provider for safety
	RecitationBlock fault.Reason = "recitation_blocked"      // blocked because it repeats protected text
	OtherBlocked    fault.Reason = "other_blocked"           // stopped by the provider for another reason
	ThinkingOnly    fault.Reason = "thinking_only_response"  // only thoughts
	NoText          fault.Reason = "no_response_text"        // no content
	TooManyCalls    fault.Reason = "too_many_calls"          // of a call: beyond the maximum number of calls

	noDefect fault.Reason = ""
)

// emptyAnswerNudge is added to the system prompt for one attempt.
const emptyAnswerNudge = "[Your last answer had no text and no tool call. Answer with text now, or call a tool.]"

// defectOf returns the reason why an answer is invalid, or "". After responses to calls the model may
// return an empty answer without a finish reason. Calls of a blocked answer are ignored; for calls
// of a truncated one see refusals.
func defectOf(answer *model.Response, afterCalls bool) fault.Reason {
	if len(answer.Content.Calls()) > 0 {
		return map[model.FinishReason]fault.Reason{
			model.FinishMalformedCall: MalformedCall, model.FinishUnexpected: UnexpectedCall,
			model.FinishSafety: SafetyBlocked, model.FinishRecitation: RecitationBlock,
		}[answer.Finish]
	}
	empty, thoughts := true, false
	for _, p := range answer.Content.Parts {
		thoughts = thoughts || p.Thought
		if p.Data != nil || !p.Thought && visible(p.Text) {
			empty = false
		}
	}
	switch finish := answer.Finish; {
	case finish == "" && !afterCalls:
		return NoFinishReason
	case finish == model.FinishMalformedCall:
		return MalformedCall
	case finish == model.FinishUnexpected:
		return UnexpectedCall
	case !empty:
		return noDefect
	case finish == model.FinishMaxTokens:
		return MaxTokens
	case finish == model.FinishSafety:
		return SafetyBlocked
	case finish == model.FinishRecitation:
		return RecitationBlock
	case finish == model.FinishOther:
		return OtherBlocked
	case thoughts:
		return ThinkingOnly
	case !afterCalls:
		return NoText
	}
	return noDefect
}

// visible reports whether text has visible content: anything except white space, zero-width characters and comments.
func visible(text string) bool {
	for {
		plain, rest, comment := strings.Cut(text, "<!--")
		if strings.ContainsFunc(plain, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) }) {
			return true
		}
		_, after, closed := strings.Cut(rest, "-->")
		if !comment || !closed {
			return comment // an unclosed comment is shown
		}
		text = after
	}
}

// nudged returns a system prompt for the attempt after an empty answer.
func nudged(system string, reason fault.Reason) string {
	if reason != ThinkingOnly && reason != NoText {
		return system
	}
	return strings.TrimSpace(system + "\n\n" + emptyAnswerNudge)
}

// invalidAnswer returns the error for the user after all attempts gave invalid answers.
func invalidAnswer(reason fault.Reason, attempts int) *fault.Error {
	description := map[fault.Reason]string{
		NoFinishReason:  "it ended before it was complete",
		MalformedCall:   "it has a malformed tool call",
		UnexpectedCall:  "it calls a tool although no tools were declared",
		MaxTokens:       "it reached the length limit without any output",
		SafetyBlocked:   "the provider blocked it for safety",
		RecitationBlock: "the provider blocked it, because it repeats protected text",
		OtherBlocked:    "the provider stopped it",
		ThinkingOnly:    "it has only thoughts",
		NoText:          "it is empty",
	}[reason]
	times := "once"
	if attempts > 1 {
		times = fmt.Sprintf("%d times", attempts)
	}
	remedy := "Try again, rephrase the prompt, or use another model."
	if reason == MaxTokens {
		remedy = "Raise the limit of output tokens, or use another model."
	}
	return fault.New(fault.InvalidStream, "agent.validate",
		fmt.Sprintf("The model's answer is invalid: %s. The model was asked %s.", description, times), remedy).Because(reason)
}
