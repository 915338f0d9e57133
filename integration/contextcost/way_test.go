package contextcost

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/tools/file"
)

const (
	name         = "loaders.go" // of the file
	patchContext = 10           // lines around a hunk, as the description of safe_patch requests
	editContext  = 3            // lines around the two that edit replaces, so that the place is unique
	project      = "/home/user/project"
)

// way is a method of doing a task.
type way struct {
	title        string
	tool         string
	regionsAbove int  // as in config.Parameters: 0 is the default, below 0 never
	sentence     bool // count only the message of a success
}

// ways returns the methods of the tables.
func ways() []way {
	return []way{
		{"`safe_patch`, by default", file.SafePatch, 0, false},
		{"`safe_patch`, whole content", file.SafePatch, -1, false},
		{"`safe_patch`, changed regions", file.SafePatch, 1, false},
		{"`edit` a change, by default", file.Edit, 0, false},
		{"`edit` a change, whole content", file.Edit, -1, false},
		{"`edit` a change, changed regions", file.Edit, 1, false},
		{"`edit` a change, a sentence", file.Edit, -1, true},
	}
}

// turn is the context that one turn of the model adds.
type turn struct {
	call     model.Part // written by the model
	response model.Part // received by the model
}

func (t turn) parts() []model.Part { return []model.Part{t.call, t.response} }

func (w way) session(t testing.TB) *configtest.Session {
	t.Helper()
	return configtest.New(t, func(p *config.Parameters) {
		p.Tools.Core = []string{file.ReadFile, file.SafePatch, file.Edit}
		p.Policy.ApprovalMode = policy.ModeAutoEdit
		p.Session.Limits.ChangedRegionsAbove = w.regionsAbove
	})
}

// do does a task with tools, one call per turn, and returns the turns; the first of
// them reads the file.
func (w way) do(t testing.TB, task task) []turn {
	t.Helper()
	s := w.session(t)
	s.Write(name, strings.Join(task.source(), ""))
	turns := []turn{w.call(t, s, file.ReadFile, map[string]any{"file_path": name})}
	if w.tool == file.SafePatch {
		var state filestate.State
		require.NoError(t, json.Unmarshal([]byte(output(t, turns[0])), &state))
		turns = append(turns, w.call(t, s, w.tool, map[string]any{
			"file_path": name, "unified_diff": task.diff(name, patchContext), "base_content_sha256": state.SHA256,
		}))
	} else {
		for i := range task.changes {
			lines, first, end := task.result(i), task.at(i)-editContext, min(task.lines, task.at(i)+2+editContext)
			old := strings.Join(lines[first:end], "")
			copy(lines[task.at(i):], task.replacement(i))
			turns = append(turns, w.call(t, s, w.tool, map[string]any{
				"file_path": name, "old_string": old, "new_string": strings.Join(lines[first:end], ""),
			}))
		}
	}
	require.Equal(t, strings.Join(task.result(task.changes), ""), s.Read(name))
	return turns
}

// refusal patches a file that another program has changed elsewhere.
func (w way) refusal(t testing.TB) turn {
	t.Helper()
	task := task{lines: 2000, changes: 1}
	s := w.session(t)
	s.Write(name, strings.Join(task.source(), ""))
	var state filestate.State
	require.NoError(t, json.Unmarshal([]byte(output(t, w.call(t, s, file.ReadFile, map[string]any{"file_path": name}))), &state))
	lines := task.source()
	lines[1] = "// changed by another program\n"
	s.Write(name, strings.Join(lines, ""))
	return w.answer(t, s, file.SafePatch, map[string]any{
		"file_path": name, "unified_diff": task.diff(name, patchContext), "base_content_sha256": state.SHA256,
	}, scheduler.StatusError)
}

// call makes one successful call.
func (w way) call(t testing.TB, s *configtest.Session, tool string, args map[string]any) turn {
	t.Helper()
	return w.answer(t, s, tool, args, scheduler.StatusSuccess)
}

// answer makes one call that ends with the given status. The test's directory is
// replaced by a fixed name, so that its length does not count.
func (w way) answer(t testing.TB, s *configtest.Session, tool string, args map[string]any, status scheduler.Status) turn {
	t.Helper()
	r := s.Call(tool, args)
	require.Equal(t, status, r.Status, "%s", r.Result.LLMContent.String())
	response := r.Result.FunctionResponse()
	if w.sentence && tool == w.tool {
		var report file.Report
		require.NoError(t, json.Unmarshal([]byte(r.Result.LLMContent.String()), &report))
		response = plainJSON(t, map[string]string{"output": report.Message})
	}
	response = bytes.ReplaceAll(response, []byte(s.Dir), []byte(project))
	return turn{
		model.Part{Call: &model.FunctionCall{Name: tool, Args: plainJSON(t, args)}},
		model.Part{Response: &model.FunctionResponse{Name: tool, Response: response}},
	}
}

// output returns the text of a turn's response.
func output(t testing.TB, turn turn) string {
	t.Helper()
	var response struct{ Output string }
	require.NoError(t, json.Unmarshal(turn.response.Response.Response, &response))
	return response.Output
}

// plainJSON encodes v as a model would, without HTML escapes.
func plainJSON(t testing.TB, v any) json.RawMessage {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(v))
	return bytes.TrimSpace(b.Bytes())
}

// cost is the cost of a task with one method.
type cost struct {
	calls            int
	written, given   int // bytes of arguments, and of responses
	output, entering int // tokens that the model writes, and all tokens that enter its context
	sent             int // input tokens, if each call is a turn and each turn sends the history again
	together         int // the same, if all calls after the first form one turn
}

// costOf adds up the costs. The last call is followed by a final turn with text.
func costOf(turns []turn) cost {
	c := cost{calls: len(turns)}
	var history []model.Part
	for _, t := range turns {
		c.written += len(t.call.Call.Args)
		c.given += len(t.response.Response.Response)
		c.output += tokens(t.call)
		history = append(history, t.parts()...)
		c.sent += tokens(history...)
	}
	c.entering = tokens(history...)
	c.together = tokens(turns[0].parts()...) + c.entering
	return c
}

func tokens(parts ...model.Part) int {
	return model.EstimateTokens(&model.Request{Contents: []model.Content{{Parts: parts}}})
}
