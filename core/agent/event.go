package agent

import (
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// EventType is the type of an [Event].
type EventType string

// The types of events, with the fields of an Event that each sets.
const (
	EventModel        EventType = "model_info"         // Text: the model that answers; once for each prompt
	EventText         EventType = "text"               // Text: the next piece of the answer
	EventThought      EventType = "thought"            // Thought
	EventToolCall     EventType = "tool_call"          // Call; before the calls of the turn run
	EventToolResponse EventType = "tool_call_response" // Call and Response
	EventCitation     EventType = "citation"           // Text: the sources, sorted, a line each
	EventFinished     EventType = "finished"           // Finish and Usage; the end of one answer of the model
	EventRetry        EventType = "retry"              // Retry; discard the answer so far
	EventCompaction   EventType = "chat_compressed"    // Compaction that changed the history or failed
	EventWarning      EventType = "warning"            // Text and Err; the prompt continues

	// The types below end the prompt; no event follows.
	EventDone          EventType = "done"                         // the model has answered without a tool call
	EventError         EventType = "error"                        // Err
	EventCancelled     EventType = "user_cancelled"               // ctx ended
	EventLimit         EventType = "max_session_turns"            // Err: a limit on turns or time, see its reason
	EventLoop          EventType = "loop_detected"                // Err
	EventOverflow      EventType = "context_window_will_overflow" // Tokens, Limit and Err
	EventInvalidStream EventType = "invalid_stream"               // Err; its reason is the defect of the answer
	EventStopped       EventType = "agent_execution_stopped"      // Text: the reason given by a step or a tool
	EventBlocked       EventType = "agent_execution_blocked"      // Text: the reason; the prompt is not in the history
)

// Ends reports whether an event of this type is the last of its prompt.
func (t EventType) Ends() bool {
	switch t {
	case EventDone, EventError, EventCancelled, EventLimit, EventLoop, EventOverflow, EventInvalidStream, EventStopped, EventBlocked:
		return true
	}
	return false
}

// Event is an event of a prompt. Fields that its type does not name are zero.
type Event struct {
	Type       EventType
	Time       time.Time // zero: unknown, as in events of Run; a host may set it before it passes the event on
	Text       string
	Thought    *Thought
	Call       *model.FunctionCall
	Response   *scheduler.Response
	Finish     model.FinishReason
	Usage      model.Usage
	Retry      *RetryInfo
	Compaction *Compaction
	Tokens     int // of the request, estimated
	Limit      int // of the model
	Err        *fault.Error
}

// Thought is a piece of thinking, split for display.
type Thought struct {
	Subject     string `json:"subject"`     // the first text in **bold**; may be empty
	Description string `json:"description"` // the rest
}

// RetryInfo is the cause and the time of a retry.
type RetryInfo struct {
	Attempt int // the failed attempt, 1-based
	Wait    time.Duration
	Reason  *fault.Error
}
