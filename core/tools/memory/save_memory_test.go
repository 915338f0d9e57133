package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/memory"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/tools"
	save "github.com/fettle-dev/fettle/core/tools/memory"
	"github.com/fettle-dev/fettle/core/tools/tooltest"
)

const heading = "## Fettle Added Memories"

type args = map[string]any

func tool(t testing.TB, facts save.Facts) tools.DeclarativeTool {
	t.Helper()
	factories, err := save.Factories()
	require.NoError(t, err)
	require.Len(t, factories, 1)
	return factories[0].Bind(save.Services{Facts: facts})
}

func service(path string) *memory.Service {
	return memory.New(memory.Options{Path: path, Heading: heading, Committer: commit.New(commit.Options{})})
}

// session is a session with the tool.
type session struct {
	*configtest.Session
	path string // of the context file
}

func newSession(t testing.TB, change ...func(*config.Parameters)) session {
	t.Helper()
	var path string
	s := configtest.New(t, append([]func(*config.Parameters){func(p *config.Parameters) {
		path = filepath.Join(p.Environment.HomeDir, ".fettle", "FETTLE.md")
		p.Tools.Core = []string{"read_file"}
		p.Tools.Own = []tools.DeclarativeTool{tool(t, service(path))}
	}}, change...)...)
	return session{s, path}
}

func in(mode policy.ApprovalMode) func(*config.Parameters) {
	return func(p *config.Parameters) { p.Policy.ApprovalMode = mode }
}

func (s session) write(content string) {
	s.T.Helper()
	require.NoError(s.T, os.MkdirAll(filepath.Dir(s.path), 0o755))
	require.NoError(s.T, os.WriteFile(s.path, []byte(content), 0o600))
}

func (s session) content() string {
	s.T.Helper()
	data, err := os.ReadFile(s.path)
	require.NoError(s.T, err)
	return string(data)
}

// The tool fulfils the contract of tools (TE-10, TO-15).
func TestKeepsTheContract(t *testing.T) {
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	tooltest.Run(t, nil, tooltest.Cases{
		Examples: []json.RawMessage{raw(`{"fact":"I like tea."}`), raw(`{"fact":"- two\nlines"}`), raw(`{"fact":"known"}`)},
		Bad:      []json.RawMessage{raw(`{}`), raw(`{"fact":""}`), raw(`{"fact":" \n"}`), raw(`{"fact":"a\u001bb"}`), raw(`{"fact":"` + strings.Repeat("a", 5000) + `"}`)},
		Fresh: func(t testing.TB) tools.DeclarativeTool {
			path := filepath.Join(t.TempDir(), "FETTLE.md")
			require.NoError(t, os.WriteFile(path, []byte(heading+"\n- known\n"), 0o600))
			return tool(t, service(path))
		},
	})
	tooltest.Run(t, nil, tooltest.Cases{
		Examples: []json.RawMessage{raw(`{"fact":"I like tea."}`)},
		Fresh: func(t testing.TB) tools.DeclarativeTool {
			return tool(t, service(filepath.Join(t.TempDir(), "a", "b.md")))
		},
	})
}

// TO-13: two facts are saved in a session. Other text is preserved, and the user sees each change.
func TestSaveMemory(t *testing.T) {
	s := newSession(t)
	s.write("# Mine\n")
	r := s.Call(save.SaveMemory, args{"fact": "I like\ntea."})
	require.Equal(t, scheduler.StatusSuccess, r.Status)
	require.Equal(t, save.Report{Success: true, Message: "Remembered: I like tea."}, configtest.Decode[save.Report](t, r))
	require.Contains(t, r.Result.ReturnDisplay.Diff.FileDiff, "+- I like tea.\n")

	require.Equal(t, scheduler.StatusSuccess, s.Call(save.SaveMemory, args{"fact": "I use make."}).Status)
	require.Equal(t, "# Mine\n\n"+heading+"\n- I like tea.\n- I use make.\n", s.content())

	asked := s.Confirmations()
	require.Len(t, asked, 2)
	require.Equal(t, confirmation.Edit, asked[1].Details.Type)
	require.Equal(t, s.path, asked[1].Details.FilePath)
	require.Equal(t, []string{s.path}, asked[1].Details.Paths)
	require.Equal(t, "--- a/FETTLE.md\n+++ b/FETTLE.md\n@@ -2,3 +2,4 @@\n \n "+heading+"\n - I like tea.\n+- I use make.\n", asked[1].Details.FileDiff)
	require.NotContains(t, asked[1].Outcomes, bus.ModifyWithEditor)

	r = s.Call(save.SaveMemory, args{"fact": "I use make."})
	require.Contains(t, configtest.Decode[save.Report](t, r).Message, "already saved")
	require.Equal(t, 1, strings.Count(s.content(), "I use make."))
}

// A missing file is created, but not after a denial.
func TestNewFile(t *testing.T) {
	s := newSession(t)
	s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { return bus.Cancel }
	require.Equal(t, fault.DeniedByUser, s.Call(save.SaveMemory, args{"fact": "fact"}).Result.Error.Code)
	require.NoDirExists(t, filepath.Dir(s.path))

	s.Answer = nil
	r := s.Call(save.SaveMemory, args{"fact": "fact"})
	require.Equal(t, scheduler.StatusSuccess, r.Status)
	require.Equal(t, heading+"\n- fact\n", s.content())
	require.True(t, r.Result.ReturnDisplay.Diff.IsNewFile)
	require.Nil(t, r.Result.ReturnDisplay.Diff.OriginalContent)
	require.Contains(t, s.Confirmations()[1].Details.FileDiff, "--- /dev/null\n")
}

// TO-13: the user approves the fact. It is added to the content of the file at the time of writing.
func TestFileChangesDuringApproval(t *testing.T) {
	s := newSession(t)
	s.write("before\n")
	s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome {
		s.write("after\n")
		return bus.ProceedOnce
	}
	require.Equal(t, scheduler.StatusSuccess, s.Call(save.SaveMemory, args{"fact": "fact"}).Status)
	require.Equal(t, "after\n\n"+heading+"\n- fact\n", s.content())
}

// The file affects all later sessions. So approval is required even in auto_edit, and plan mode writes nothing. The
// preview of plan mode shows the model its own fact only, and nothing else of a file outside the workspace.
func TestModes(t *testing.T) {
	for mode, asks := range map[policy.ApprovalMode]int{policy.ModeDefault: 1, policy.ModeAutoEdit: 1, policy.ModeYolo: 0} {
		s := newSession(t, in(mode))
		require.Equal(t, scheduler.StatusSuccess, s.Call(save.SaveMemory, args{"fact": "fact"}).Status)
		require.Len(t, s.Confirmations(), asks, mode)
		require.Contains(t, s.content(), "- fact\n")
	}
	s := newSession(t, in(policy.ModePlan))
	s.write("the user's own words\n")
	r := s.Call(save.SaveMemory, args{"fact": "fact"})
	require.Equal(t, scheduler.StatusSuccess, r.Status)
	require.Equal(t, "Plan mode: nothing was changed. The call would add this fact to "+s.path+": fact", r.Result.LLMContent.String())
	require.Contains(t, r.Result.ReturnDisplay.Diff.FileDiff, "+- fact\n")
	require.Equal(t, "the user's own words\n", s.content())
	s.write(heading + "\n- fact\n")
	r = s.Call(save.SaveMemory, args{"fact": "fact"})
	require.Equal(t, "Plan mode: nothing was changed. "+s.path+" has this fact already, so the call would write nothing: fact", r.Result.LLMContent.String())
	require.Empty(t, s.Confirmations())
}

// A file that cannot be changed is reported without a request for approval.
func TestFails(t *testing.T) {
	s := newSession(t)
	s.write("a\x00b")
	r := s.Call(save.SaveMemory, args{"fact": "fact"})
	require.Equal(t, scheduler.StatusError, r.Status)
	require.Equal(t, fault.MemoryToolExecution, r.Result.Error.Code)
	require.Contains(t, r.Result.Error.Message, "is not text")
	require.Empty(t, s.Confirmations())
	require.Equal(t, "a\x00b", s.content())
}

// faulty are facts that fail with err.
type faulty struct {
	save.Facts
	err error
}

func (f faulty) Preview(context.Context, string) (memory.Change, error) {
	return memory.Change{}, f.err
}
func (f faulty) Save(context.Context, string) (memory.Change, error) { return memory.Change{}, f.err }
func (f faulty) Path() string                                        { return "" }

// Errors keep their code, also that of a cancelled call.
func TestErrors(t *testing.T) {
	for _, code := range []fault.Code{fault.MemoryToolExecution, fault.Cancelled} {
		err := fault.New(code, "x.y", "It failed.", "")
		inv, problem := tool(t, faulty{err: err}).Build(json.RawMessage(`{"fact":"fact"}`))
		require.NoError(t, problem)
		require.Empty(t, inv.Locations())
		_, problem = inv.Confirmation(t.Context())
		require.ErrorIs(t, problem, &fault.Error{Code: code})
		require.Equal(t, code != fault.Cancelled, errors.Is(problem, tools.ErrWillRefuse))
		result, problem := inv.Execute(t.Context(), nil)
		require.NoError(t, problem)
		require.Equal(t, code, result.Error.Code)
	}
	inv, err := tool(t, faulty{err: errors.New("a defect")}).Build(json.RawMessage(`{"fact":"fact"}`))
	require.NoError(t, err)
	_, err = inv.Execute(t.Context(), nil)
	require.EqualError(t, err, "a defect")
}

// The kind is not edit, but the effects include writing files.
func TestSpec(t *testing.T) {
	spec := tool(t, service("/home/x/.fettle/FETTLE.md")).Spec()
	require.Equal(t, tools.KindOther, spec.Kind)
	require.True(t, spec.Mutates())
	require.False(t, spec.Parallel)
	known, ok := policy.WellKnown(save.SaveMemory)
	require.True(t, ok)
	require.Equal(t, known.Kind, string(spec.Kind))
	require.Equal(t, known.Effects, []string{string(spec.Effects[0]), string(spec.Effects[1])})
	inv, err := tool(t, service("/home/x/.fettle/FETTLE.md")).Build(json.RawMessage(`{"fact":"- I like\n tea."}`))
	require.NoError(t, err)
	require.Equal(t, "Remember: I like tea.", inv.Description())
	require.Equal(t, []tools.Location{{Path: "/home/x/.fettle/FETTLE.md"}}, inv.Locations())
}
