package agent

import (
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// EventType says what an [Event] is about.
type EventType string

// The types of events, and which fields of an Event each fills.
const (
	EventModel        EventType = "model_info"         // Text: the model that answers; once for each prompt
	EventText         EventType = "text"               // Text: the next piece of the answer
	EventThought      EventType = "thought"            // Thought
	EventToolCall     EventType = "tool_call"          // Call; before the calls of the turn are run
	EventToolResponse EventType = "tool_call_response" // Call and Response
	EventCitation     EventType = "citation"           // Text: the sources, sorted, a line each
	EventFinished     EventType = "finished"           // Finish and Usage; the end of one answer of the model's
	EventRetry        EventType = "retry"              // Retry; what came of this answer so far is void
	EventCompaction   EventType = "chat_compressed"    // Compaction, one that changed the history or was of no use
	EventWarning      EventType = "warning"            // Text and Err; the work goes on

	// The types below end the prompt; each is followed by nothing.
	EventDone          EventType = "done"                         // the model has answered without calling a tool
	EventError         EventType = "error"                        // Err
	EventCancelled     EventType = "user_cancelled"               // ctx ended
	EventLimit         EventType = "max_session_turns"            // Err: a limit on turns or time, whose reason says which
	EventLoop          EventType = "loop_detected"                // Err
	EventOverflow      EventType = "context_window_will_overflow" // Tokens, Limit and Err
	EventInvalidStream EventType = "invalid_stream"               // Err, whose reason says what was wrong
	EventStopped       EventType = "agent_execution_stopped"      // Text: the reason that a step or a tool gave
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

// Event is something that happens while a prompt is worked on. The fields that
// its type does not name are zero.
type Event struct {
	Type       EventType
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

// Thought is a piece of thinking, taken apart as people are shown it.
type Thought struct {
	Subject     string `json:"subject"`     // the first text in **bold**; may be empty
	Description string `json:"description"` // the rest
}

// RetryInfo says why and when a request is made again.
type RetryInfo struct {
	Attempt int // the one that failed, 1-based
	Wait    time.Duration
	Reason  *fault.Error
}
