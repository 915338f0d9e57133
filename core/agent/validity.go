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
	noFinishReason  fault.Reason = "no_finish_reason"        // no finish reason
	malformedCall   fault.Reason = "malformed_function_call" // a call that cannot be decoded
	unexpectedCall  fault.Reason = "unexpected_tool_call"    // a tool call although no tools were declared
	maxTokensReason fault.Reason = "max_tokens_exceeded"     // cut before any output, or within its calls
	safetyBlocked   fault.Reason = "safety_blocked"          // blocked by the provider for safety
	recitationBlock fault.Reason = "recitation_blocked"      // blocked because it repeats protected text
	otherBlocked    fault.Reason = "other_blocked"           // stopped by the provider for another reason
	thinkingOnly    fault.Reason = "thinking_only_response"  // only thoughts
	noText          fault.Reason = "no_response_text"        // no content
	tooManyCalls    fault.Reason = "too_many_calls"          // of a call: beyond the maximum number of calls

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
			model.FinishMalformedCall: malformedCall, model.FinishUnexpected: unexpectedCall,
			model.FinishSafety: safetyBlocked, model.FinishRecitation: recitationBlock,
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
		return noFinishReason
	case finish == model.FinishMalformedCall:
		return malformedCall
	case finish == model.FinishUnexpected:
		return unexpectedCall
	case !empty:
		return noDefect
	case finish == model.FinishMaxTokens:
		return maxTokensReason
	case finish == model.FinishSafety:
		return safetyBlocked
	case finish == model.FinishRecitation:
		return recitationBlock
	case finish == model.FinishOther:
		return otherBlocked
	case thoughts:
		return thinkingOnly
	case !afterCalls:
		return noText
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
	if reason != thinkingOnly && reason != noText {
		return system
	}
	return strings.TrimSpace(system + "\n\n" + emptyAnswerNudge)
}

// invalidAnswer returns the error for the user after all attempts gave invalid answers.
func invalidAnswer(reason fault.Reason, attempts int) *fault.Error {
	description := map[fault.Reason]string{
		noFinishReason:  "it ended before it was complete",
		malformedCall:   "it has a malformed tool call",
		unexpectedCall:  "it calls a tool although no tools were declared",
		maxTokensReason: "it reached the length limit without any output",
		safetyBlocked:   "the provider blocked it for safety",
		recitationBlock: "the provider blocked it, because it repeats protected text",
		otherBlocked:    "the provider stopped it",
		thinkingOnly:    "it has only thoughts",
		noText:          "it is empty",
	}[reason]
	times := "once"
	if attempts > 1 {
		times = fmt.Sprintf("%d times", attempts)
	}
	remedy := "Try again, rephrase the prompt, or use another model."
	if reason == maxTokensReason {
		remedy = "Raise the limit of output tokens, or use another model."
	}
	return fault.New(fault.InvalidStream, "agent.validate",
		fmt.Sprintf("The model's answer is invalid: %s. The model was asked %s.", description, times), remedy).Because(reason)
}
