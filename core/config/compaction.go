package config

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/model"
)

// compactor shortens the history of one conversation, and keeps what the
// restating of files has to know of it.
type compactor struct {
	agent.Compactor
	session *session
	begins  func(ctx context.Context, asked bool) // is told before each attempt
}

// compaction is what restating has to know of a compaction.
type compaction struct {
	limit  int  // tokens of a request
	spared int  // tokens by which the history became shorter
	partly bool // it is what it was, but for answers that were cut
	left   []model.Content
}

// Compact implements agent.Compactor.
func (c *compactor) Compact(ctx context.Context, r agent.CompactRequest) (agent.Compaction, error) {
	c.session.compaction = nil
	c.begins(ctx, r.Asked)
	result, err := c.Compactor.Compact(ctx, r)
	if err != nil || !result.Status.Changed() {
		return result, err
	}
	done := &compaction{limit: r.Limit, partly: result.Status == agent.CompactionTruncated}
	if done.partly && len(cutFiles(r.History, result.History)) > 0 {
		result.History = withoutRestated(result.History) // what is said now takes its place
		result.After = historyTokens(result.History)
	}
	done.left = result.History
	done.spared = historyTokens(r.History) - historyTokens(done.left)
	c.session.compaction = done
	return result, nil
}

func historyTokens(history []model.Content) int {
	return model.EstimateTokens(&model.Request{Contents: history})
}

// restateAfter is Restate for the conversation's client, which has compacted: what
// is said again leaves the history shorter than it was. Where only answers were
// cut, it is about the files whose content is gone, and the others stay known.
func (c *Config) restateAfter(ctx context.Context, s *session, old []model.Content) ([]model.Part, error) {
	done := s.compaction
	s.compaction = nil
	messages := c.params().Instructions.AsMessages
	if done == nil {
		return c.Restate(ctx, Restating{Messages: messages})
	}
	o := Restating{Messages: messages, Bytes: restatedBytes(done.limit), Tokens: min(done.limit/restatedShare, done.spared-1)}
	if o.Tokens <= 0 {
		o.Tokens = -1
	}
	if !done.partly {
		return c.Restate(ctx, o)
	}
	ws, err := c.Workspace()
	if err != nil {
		return nil, err
	}
	s.state.HeedHatch()
	cut := cutFiles(old, done.left)
	known := slices.DeleteFunc(s.state.Cache.Recent(), func(path string) bool { return !cut[path] })
	r := c.restater(s, ws, o, known)
	forget := func() {
		for path := range cut {
			s.state.Cache.Invalidate(path)
		}
	}
	s.noteWritten()
	forget()
	parts, err := r.parts(ctx, known)
	if err != nil {
		forget() // what was read is not in the history
	}
	return parts, err
}

// cutFiles returns the paths of files of which a history showed more before than
// it does after.
func cutFiles(before, after []model.Content) map[string]bool {
	cut, now := map[string]bool{}, shownFiles(after)
	for path, n := range shownFiles(before) {
		if now[path] < n {
			cut[path] = true
		}
	}
	return cut
}

// shownFiles counts, by path, the states with content that a history holds.
func shownFiles(history []model.Content) map[string]int {
	counts := map[string]int{}
	for _, turn := range history {
		for _, p := range turn.Parts {
			text := p.Text
			if p.Response != nil {
				text = outputOf(p.Response.Response)
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

// outputOf returns the output of a response. What hooks and others say beside it is not
// looked into.
func outputOf(response json.RawMessage) string {
	var r struct{ Output string }
	if json.Unmarshal(response, &r) != nil {
		return ""
	}
	return r.Output
}

// forgetUnshown forgets the files that were shown before and are not shown now.
func (s *session) forgetUnshown(before, now map[string]int) {
	for path := range before {
		if now[path] == 0 {
			s.state.Cache.Invalidate(path)
		}
	}
}

// eachState calls f for each state object in a text of JSON, in JSON that is a
// text in it too, as the output of a tool is.
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
			return // what a file holds is no state
		}
		for _, member := range v {
			walkStates(member, f)
		}
	}
}

// looksLikeJSON spares most texts their parsing.
func looksLikeJSON(text string) bool { return text != "" && (text[0] == '{' || text[0] == '[') }

// withoutRestated returns a history without what an earlier compaction has said
// again. It shares what needs no change.
func withoutRestated(history []model.Content) []model.Content {
	if len(history) == 0 || !slices.ContainsFunc(history[0].Parts, isRestated) {
		return history
	}
	history = slices.Clone(history)
	history[0].Parts = slices.DeleteFunc(slices.Clone(history[0].Parts), isRestated)
	return history
}

func isRestated(p model.Part) bool {
	var said struct{ Kind string }
	return looksLikeJSON(p.Text) && json.Unmarshal([]byte(p.Text), &said) == nil && said.Kind == RestatedKind
}

// withdrawn forgets the files that words have shown which are not in the history
// after all.
func (s *session) withdrawn(parts []model.Part) {
	for _, p := range parts {
		eachState(p.Text, func(path string, _ bool) { s.state.Cache.Invalidate(path) })
	}
}

// cleared forgets what was shown and said in a history that is empty now (RC-21,
// FT-13). Versions go on, so that none is used twice.
func (s *session) cleared() {
	s.forgetFiles()
	s.tracker.ClearSession()
	s.catalog.Reset()
	s.skills.clear()
	s.told = 0
	s.ended.Add(1)
}

// forgetFiles empties the cache, and keeps which files were written.
func (s *session) forgetFiles() {
	s.noteWritten()
	s.state.Compacted()
}

func (s *session) noteWritten() {
	paths := s.state.Cache.Written()
	s.writtenMu.Lock()
	defer s.writtenMu.Unlock()
	for _, path := range paths {
		if !slices.Contains(s.written, path) {
			s.written = append(s.written, path)
		}
	}
}

// changed returns the files that the conversation has written, as far as they
// are known.
func (s *session) changed() []string {
	s.noteWritten()
	s.writtenMu.Lock()
	defer s.writtenMu.Unlock()
	return slices.Clone(s.written)
}
