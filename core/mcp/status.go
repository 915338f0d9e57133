package mcp

import "time"

// State is the state of a server's connection.
type State string

// The states.
const (
	StateConnecting   State = "connecting"
	StateConnected    State = "connected"
	StateDisconnected State = "disconnected" // Status.Error is the reason; a new attempt may be scheduled
	StateDisabled     State = "disabled"     // by the user, for the session or in the settings
	StateBlocked      State = "blocked"      // not among mcp.allowed, or among mcp.excluded
	StateUnsupported  State = "unsupported"  // its transport is not supported
)

// Status is the status of a server.
type Status struct {
	Name      string
	Source    string
	Transport Transport
	State     State
	Error     error         // why it is not connected, with remedy; nil otherwise
	Stderr    []string      // the last lines of its process
	Info      Info          // of the current or the last connection
	Tools     []string      // registered tools by their own names, sorted
	Dropped   []error       // tools that cannot be used, each with its reason
	Resources int           // their number
	Prompts   []string      // names
	Took      time.Duration // from the start of the attempt until it was connected and listed, or failed
	Attempts  int           // attempts since it was last connected
	Next      time.Time     // time of the next attempt; zero: none is scheduled
}
