// Package history tracks which files and instructions the history of a
// conversation shows, and shows files again after compaction.
package history

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/tracker"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools/catalog"
)

// Options describe the conversation of a history.
type Options struct {
	State     *filestate.Service
	Tracker   *tracker.FileTracker
	Workspace *workspace.Workspace
	Messages  bool        // instructions found by file accesses are sent in messages
	Watched   func() bool // reports whether steps or hooks inspect calls
	Limit     func() int  // tokens of a request
}

// History is the history of one conversation.
type History struct {
	o          Options
	compaction *compaction // the last one, until files are restated; nil: none
	announced  int         // number of instruction files sent in user messages

	mu      sync.Mutex
	written []string // written paths that the cache has forgotten
}

// New returns an empty history.
func New(o Options) *History { return &History{o: o} }

// Compactor wraps c to record the data that restating requires; begins is called
// before each attempt.
func (h *History) Compactor(c agent.Compactor, begins func(ctx context.Context, asked bool)) agent.Compactor {
	return &compactor{c, h, begins}
}

// compactor shortens the history of one conversation, and records the data for
// restating files.
type compactor struct {
	agent.Compactor
	history *History
	begins  func(ctx context.Context, asked bool)
}

// compaction is the data of a compaction for restating.
type compaction struct {
	limit  int  // tokens of a request
	spared int  // tokens by which the history became shorter
	partly bool // only answers were shortened
	left   []model.Content
}

// Compact implements agent.Compactor.
func (c *compactor) Compact(ctx context.Context, r agent.CompactRequest) (agent.Compaction, error) {
	c.history.compaction = nil
	c.begins(ctx, r.Requested)
	result, err := c.Compactor.Compact(ctx, r)
	if err != nil || !result.Status.Changed() {
		return result, err
	}
	done := &compaction{limit: r.Limit, partly: result.Status == agent.CompactionTruncated}
	if done.partly && len(cutFiles(r.History, result.History)) > 0 {
		result.History = withoutRestated(result.History) // the new message replaces it
		result.After = historyTokens(result.History)
	}
	done.left = result.History
	done.spared = historyTokens(r.History) - historyTokens(done.left)
	c.history.compaction = done
	return result, nil
}

func historyTokens(history []model.Content) int {
	return model.EstimateTokens(&model.Request{Contents: history})
}

// AfterCompaction implements Restate for the conversation's client after a
// compaction: the restated files leave the history shorter than it was before. If
// only answers were shortened, it restates the files whose content is gone, and
// the others stay known.
func (h *History) AfterCompaction(ctx context.Context, old []model.Content) ([]model.Part, error) {
	done := h.compaction
	h.compaction = nil
	if done == nil {
		return h.Restate(ctx, RestateOptions{})
	}
	o := RestateOptions{Bytes: restatedBytes(done.limit), Tokens: min(done.limit/restatedShare, done.spared-1)}
	if o.Tokens <= 0 {
		o.Tokens = -1
	}
	if !done.partly {
		return h.Restate(ctx, o)
	}
	h.o.State.ApplyKillSwitch()
	cut := cutFiles(old, done.left)
	known := slices.DeleteFunc(h.o.State.Cache.Recent(), func(path string) bool { return !cut[path] })
	r := h.restater(o, known)
	forget := func() {
		for path := range cut {
			h.o.State.Cache.Invalidate(path)
		}
	}
	h.noteWritten()
	forget()
	parts, err := r.parts(ctx, known)
	if err != nil {
		forget() // the content that was read is not in the history
	}
	return parts, err
}

// cutFiles returns the paths of files of which a history shows less after a
// compaction.
func cutFiles(before, after []model.Content) map[string]bool {
	cut, now := map[string]bool{}, shownFiles(after)
	for path, n := range shownFiles(before) {
		if now[path] < n {
			cut[path] = true
		}
	}
	return cut
}

// shownFiles counts, by path, the states with content in a history.
func shownFiles(history []model.Content) map[string]int {
	counts := map[string]int{}
	for _, turn := range history {
		for _, p := range turn.Parts {
			text := p.Text
			if p.Response != nil {
				text = Output(p.Response.Response)
			}
			eachState(text, func(path string, content bool) {
				if content {
					counts[path]++
				}
			})
		}
	}
	return counts
}

// Output returns the output of a response. Other content, such as that of hooks,
// is ignored.
func Output(response json.RawMessage) string {
	var r struct{ Output string }
	if json.Unmarshal(response, &r) != nil {
		return ""
	}
	return r.Output
}

// Overriding is called before the turns of a request are changed. The returned
// function receives the final turns and forgets the files that are no longer
// shown.
func (h *History) Overriding(before []model.Content) func(now []model.Content) {
	shown := shownFiles(before)
	return func(contents []model.Content) {
		now := shownFiles(contents)
		for path := range shown {
			if now[path] == 0 {
				h.o.State.Cache.Invalidate(path)
			}
		}
	}
}

// eachState calls f for each state object in a JSON text, including JSON within
// strings, such as the output of a tool.
func eachState(text string, f func(path string, content bool)) {
	if !looksLikeJSON(text) {
		return
	}
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return
	}
	walkStates(v, f)
}

func walkStates(v any, f func(path string, content bool)) {
	switch v := v.(type) {
	case string:
		eachState(v, f)
	case []any:
		for _, element := range v {
			walkStates(element, f)
		}
	case map[string]any:
		if path, ok := v["file_path"].(string); ok {
			_, content := v["content"].(string)
			f(path, content)
			return // file content is not a state
		}
		for _, member := range v {
			walkStates(member, f)
		}
	}
}

// looksLikeJSON avoids parsing most texts.
func looksLikeJSON(text string) bool { return text != "" && (text[0] == '{' || text[0] == '[') }

// withoutRestated returns a history without the message of an earlier compaction.
// It shares unchanged turns.
func withoutRestated(history []model.Content) []model.Content {
	if len(history) == 0 || !slices.ContainsFunc(history[0].Parts, isRestated) {
		return history
	}
	history = slices.Clone(history)
	history[0].Parts = slices.DeleteFunc(slices.Clone(history[0].Parts), isRestated)
	return history
}

func isRestated(p model.Part) bool {
	var content struct{ Kind string }
	return looksLikeJSON(p.Text) && json.Unmarshal([]byte(p.Text), &content) == nil && content.Kind == Kind
}

// Withdrawn forgets the files shown by parts that did not reach the history.
func (h *History) Withdrawn(parts []model.Part) {
	for _, p := range parts {
		eachState(p.Text, func(path string, _ bool) { h.o.State.Cache.Invalidate(path) })
	}
}

// Instructions returns the instruction files found by file accesses since the
// last request, for the user's message.
func (h *History) Instructions(context.Context) ([]model.Part, error) {
	given := h.o.Tracker.LoadedByAccess()
	if len(given) <= h.announced {
		h.announced = min(h.announced, len(given)) // the number decreases when the session was cleared
		return nil, nil
	}
	pending := given[h.announced:]
	h.announced = len(given)
	return []model.Part{model.TextPart(tracker.Label(pending))}, nil
}

// AnnounceAgain makes instructions that were sent in messages pending again.
func (h *History) AnnounceAgain() { h.announced = 0 }

// ForgetFiles empties the cache, and keeps the record of written files.
func (h *History) ForgetFiles() {
	h.noteWritten()
	h.o.State.Compacted()
}

func (h *History) noteWritten() {
	paths := h.o.State.Cache.Written()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, path := range paths {
		if !slices.Contains(h.written, path) {
			h.written = append(h.written, path)
		}
	}
}

// Written returns the known files that the conversation has written.
func (h *History) Written() []string {
	h.noteWritten()
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.written)
}

// Tools returns the tools that were called or found by a search according to a
// history, so that a resumed session declares them.
func Tools(history []model.Content) []string {
	var names []string
	for _, turn := range history {
		for _, p := range turn.Parts {
			switch {
			case p.Call != nil:
				names = append(names, p.Call.Name)
			case p.Response != nil && p.Response.Name == catalog.ToolSearch:
				names = append(names, catalog.Names(Output(p.Response.Response))...)
			}
		}
	}
	return names
}
