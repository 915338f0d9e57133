package agent

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// The reasons of an error of code invalid_stream: why an answer, or a call in it,
// cannot be used.
const (
	NoFinishReason  fault.Reason = "no_finish_reason"        // it ended without saying why
	MalformedCall   fault.Reason = "malformed_function_call" // it holds a call that cannot be read
	UnexpectedCall  fault.Reason = "unexpected_tool_call"    // it calls a tool where none was offered
	MaxTokens       fault.Reason = "max_tokens_exceeded"     // it was cut before it said anything, or within its calls
	SafetyBlocked   fault.Reason = "safety_blocked"          // the provider withheld it
	RecitationBlock fault.Reason = "recitation_blocked"      // it repeated a protected text
	OtherBlocked    fault.Reason = "other_blocked"           // the provider stopped it for another reason
	ThinkingOnly    fault.Reason = "thinking_only_response"  // it holds nothing but thoughts
	NoText          fault.Reason = "no_response_text"        // it is empty
	TooManyCalls    fault.Reason = "too_many_calls"          // of a call: there were others enough before it

	nothingWrong fault.Reason = ""
)

// emptyAnswerNudge goes into the system prompt for one attempt.
const emptyAnswerNudge = "[Your last answer held no text and no tool call. Answer in words now, or call a tool.]"

// wrong returns why an answer cannot be used, or "". After the responses to
// calls the model may have nothing to add, and need not say why it stopped. Calls
// of an answer that the provider withheld are none; for those of one that was cut
// see refusals.
func wrong(answer *model.Response, afterCalls bool) fault.Reason {
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
		return nothingWrong
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
	return nothingWrong
}

// visible reports whether a person would see anything of text: neither blanks,
// characters without width nor comments.
func visible(text string) bool {
	for {
		plain, rest, comment := strings.Cut(text, "<!--")
		if strings.ContainsFunc(plain, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) }) {
			return true
		}
		_, after, closed := strings.Cut(rest, "-->")
		if !comment || !closed {
			return comment // one that is not closed is shown as it is
		}
		text = after
	}
}

// nudged returns a system prompt for the attempt after an answer that was empty.
func nudged(system string, reason fault.Reason) string {
	if reason != ThinkingOnly && reason != NoText {
		return system
	}
	return strings.TrimSpace(system + "\n\n" + emptyAnswerNudge)
}

// unusable says to people that no attempt gave an answer that can be used.
func unusable(reason fault.Reason, attempts int) *fault.Error {
	what := map[fault.Reason]string{
		NoFinishReason:  "it ended before it was complete",
		MalformedCall:   "it holds a tool call that cannot be read",
		UnexpectedCall:  "it calls a tool where none was offered",
		MaxTokens:       "the limit on its length was reached before it said anything",
		SafetyBlocked:   "the provider withheld it for safety",
		RecitationBlock: "the provider withheld it, as it repeats a protected text",
		OtherBlocked:    "the provider stopped it",
		ThinkingOnly:    "it holds nothing but thoughts",
		NoText:          "it is empty",
	}[reason]
	times := "once"
	if attempts > 1 {
		times = fmt.Sprintf("%d times", attempts)
	}
	remedy := "Try again, say it in other words, or use another model."
	if reason == MaxTokens {
		remedy = "Raise the limit on the length of an answer, or use another model."
	}
	return fault.New(fault.InvalidStream, "agent.validate",
		fmt.Sprintf("The model's answer cannot be used: %s. It was asked for %s.", what, times), remedy).Because(reason)
}
