package mcp

import "time"

// State is where a server's connection is in its life.
type State string

// The states.
const (
	StateConnecting   State = "connecting"
	StateConnected    State = "connected"
	StateDisconnected State = "disconnected" // Status.Error says why; it may be tried again
	StateDisabled     State = "disabled"     // by a person, for the session or the settings
	StateBlocked      State = "blocked"      // not among mcp.allowed, or among mcp.excluded
	StateUnsupported  State = "unsupported"  // its transport is not spoken
)

// Status tells how a server is.
type Status struct {
	Name      string
	Source    string
	Transport Transport
	State     State
	Error     error         // why it is not connected, with remedy; nil otherwise
	Stderr    []string      // the last lines of its process
	Info      Info          // of the connection, or of the last one
	Tools     []string      // registered, by their own names, sorted
	Dropped   []error       // tools that cannot be used, each with its reason
	Resources int           // how many it offers
	Prompts   []string      // names
	Took      time.Duration // from the attempt's beginning until connected and listed, or failed
	Attempts  int           // connections tried since it was last connected
	Next      time.Time     // when it is tried again; zero: it is not
}
