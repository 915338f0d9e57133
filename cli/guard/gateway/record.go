package gateway

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/policy"
)

// maxRecorded is the maximum size of recorded arguments, in bytes.
const maxRecorded = 64 << 10

// recorder writes a JSON line for each call, with secrets masked.
type recorder struct {
	out    io.Writer // nil: nothing is recorded
	hide   func(string) string
	server string

	mu     sync.Mutex
	failed error
}

// entry is the record of a call.
type entry struct {
	Time     time.Time      `json:"time"`
	Server   string         `json:"server"`
	Tool     string         `json:"tool"`
	Args     string         `json:"args"` // JSON, masked and perhaps cut
	Decision policy.Verdict `json:"decision"`
	Rule     string         `json:"rule,omitempty"`
	Source   string         `json:"source,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	Answer   string         `json:"answer,omitempty"` // of the user
	// End is answered, error, denied, asked (the client repeats the call with the
	// answer), described (a search for tools), cancelled, timeout or lost.
	End    string `json:"end"`
	Millis int64  `json:"ms"`
	Bytes  int    `json:"bytes,omitempty"` // of the response

	mu sync.Mutex
}

func (r *recorder) begin(c call) *entry {
	return &entry{Time: time.Now(), Server: r.server, Tool: c.tool, Args: string(c.args)}
}

func (e *entry) decided(d policy.Decision) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.Decision, e.Rule, e.Source, e.Reason = d.Decision, d.Rule, d.Source, d.Reason
}

func (e *entry) answered(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.Answer = name
}

// end writes the record of a call; nil is no call.
func (r *recorder) end(e *entry, how string, size int) {
	if r.out == nil || e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.End != "" {
		return
	}
	e.End, e.Millis, e.Bytes = how, time.Since(e.Time).Milliseconds(), size
	args := e.Args
	if r.hide != nil {
		args = r.hide(args) // before it is cut, which could divide a secret
		e.Reason = r.hide(e.Reason)
	}
	e.Args = escape.Head(args, maxRecorded)
	r.mu.Lock()
	defer r.mu.Unlock()
	line, err := json.Marshal(e)
	if err == nil {
		_, err = r.out.Write(append(line, '\n'))
	}
	if err != nil && r.failed == nil {
		r.failed = err
	}
}

// failure returns the first error of writing.
func (r *recorder) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}
