package acp

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/cli/internal/providers"
	"github.com/fettle-dev/fettle/core/services/credentials"
)

// editor is the SDK's side of a client. Its fields are its behaviour and the
// received messages.
type editor struct {
	t     *testing.T
	conn  *sdk.ClientSideConnection
	agent *server
	dir   string // of the workspace
	end   func() // closes the connection and waits for the agent

	mu      sync.Mutex
	answer  func(ctx context.Context, r sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error)
	held    map[string]string // unsaved texts by base name
	broken  bool              // fs/read_text_file gives no answer
	asked   []sdk.RequestPermissionRequest
	updates []sdk.SessionUpdate
	more    chan struct{} // capacity 1: an update has arrived
}

// agentOf returns an agent with a scripted model, and its workspace.
func agentOf(t *testing.T, turns string, args ...func(g *program.Flags)) (a *server, dir string) {
	t.Helper()
	home := t.TempDir()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Setenv("HOME", home)
	for _, name := range []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"} {
		t.Setenv(name, "")
	}
	script := filepath.Join(home, "turns.json")
	require.NoError(t, os.WriteFile(script, []byte(turns), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f.txt"), []byte("one\ntwo\nthree\n"), 0o644))
	p := &program.Program{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Open: program.Open}
	g := &program.Flags{Cwd: dir, Model: "script:" + script, ApprovalMode: "default", Layout: "fettle"}
	for _, arg := range args {
		arg(g)
	}
	p.Keys = credentials.Open(program.KeysFile(g), nil)
	p.Providers = providers.All{Keys: func() *credentials.Store { return p.Keys }}
	return newServer(p, g, conversation.Flags{}), dir
}

// edit starts an agent with a scripted model and an editor that is connected to it.
func edit(t *testing.T, turns string, args ...func(g *program.Flags)) *editor {
	t.Helper()
	a, dir := agentOf(t, turns, args...)
	e := &editor{t: t, dir: dir, held: map[string]string{}, more: make(chan struct{}, 1), answer: selects("proceed_once")}
	toAgent, fromEditor := io.Pipe()
	toEditor, fromAgent := io.Pipe()
	a.connect(fromAgent, toAgent)
	e.agent = a
	e.conn = sdk.NewClientSideConnection(e, fromEditor, toEditor)
	e.end = sync.OnceFunc(func() {
		_ = fromEditor.Close()
		a.closeAll(time.Minute)
		_ = fromAgent.Close()
	})
	t.Cleanup(e.end)
	return e
}

// selects answers permission requests with an option.
func selects(option string) func(context.Context, sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	return func(context.Context, sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
		return sdk.RequestPermissionResponse{Outcome: sdk.RequestPermissionOutcome{
			Selected: &sdk.RequestPermissionOutcomeSelected{OptionId: sdk.PermissionOptionId(option), Outcome: "selected"},
		}}, nil
	}
}

// dismissed answers permission requests as an editor whose user closes the question.
func dismissed(context.Context, sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	return sdk.RequestPermissionResponse{Outcome: sdk.RequestPermissionOutcome{Cancelled: &sdk.RequestPermissionOutcomeCancelled{Outcome: "cancelled"}}}, nil
}

// open initializes the connection and creates a session.
func (e *editor) open(fs bool, servers ...sdk.McpServer) sdk.SessionId {
	e.t.Helper()
	_, err := e.conn.Initialize(e.t.Context(), sdk.InitializeRequest{
		ProtocolVersion:    sdk.ProtocolVersionNumber,
		ClientCapabilities: sdk.ClientCapabilities{Fs: sdk.FileSystemCapabilities{ReadTextFile: fs, WriteTextFile: fs}},
	})
	require.NoError(e.t, err)
	if servers == nil {
		servers = []sdk.McpServer{}
	}
	s, err := e.conn.NewSession(e.t.Context(), sdk.NewSessionRequest{Cwd: e.dir, McpServers: servers})
	require.NoError(e.t, err)
	return s.SessionId
}

// prompt sends a prompt and returns its stop reason.
func (e *editor) prompt(id sdk.SessionId, blocks ...sdk.ContentBlock) sdk.StopReason {
	e.t.Helper()
	r, err := e.conn.Prompt(e.t.Context(), sdk.PromptRequest{SessionId: id, Prompt: blocks})
	require.NoError(e.t, err)
	return r.StopReason
}

// say sends a prompt of text.
func (e *editor) say(id sdk.SessionId, text string) sdk.StopReason {
	e.t.Helper()
	return e.prompt(id, sdk.TextBlock(text))
}

func (e *editor) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.updates = append(e.updates, n.Update)
	select {
	case e.more <- struct{}{}:
	default:
	}
	return nil
}

// until waits for an update.
func (e *editor) until(matches func(u sdk.SessionUpdate) bool) {
	e.t.Helper()
	for deadline := time.After(30 * time.Second); ; {
		e.mu.Lock()
		for _, u := range e.updates {
			if matches(u) {
				e.mu.Unlock()
				return
			}
		}
		e.mu.Unlock()
		select {
		case <-e.more:
		case <-deadline:
			require.Fail(e.t, "no such update")
		}
	}
}

// take returns the updates since the last call of take.
func (e *editor) take() []sdk.SessionUpdate {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.updates
	e.updates = nil
	return all
}

// said joins the text of the answer in updates.
func said(all []sdk.SessionUpdate) string {
	var b strings.Builder
	for _, u := range all {
		if u.AgentMessageChunk != nil {
			b.WriteString(u.AgentMessageChunk.Content.Text.Text)
		}
	}
	return b.String()
}

// thought joins the thoughts in updates.
func thought(all []sdk.SessionUpdate) string {
	var b strings.Builder
	for _, u := range all {
		if u.AgentThoughtChunk != nil {
			b.WriteString(u.AgentThoughtChunk.Content.Text.Text)
		}
	}
	return b.String()
}

// shown is a call as the editor shows it after all updates.
type shown struct {
	sdk.SessionUpdateToolCall
	states []sdk.ToolCallStatus
}

// callsOf merges the updates of calls, in the order of the calls.
func callsOf(t *testing.T, all []sdk.SessionUpdate) []*shown {
	t.Helper()
	var list []*shown
	byID := map[sdk.ToolCallId]*shown{}
	for _, u := range all {
		switch {
		case u.ToolCall != nil:
			require.NotContains(t, byID, u.ToolCall.ToolCallId, "the call was announced before")
			one := &shown{*u.ToolCall, []sdk.ToolCallStatus{u.ToolCall.Status}}
			byID[one.ToolCallId] = one
			list = append(list, one)
		case u.ToolCallUpdate != nil:
			one := byID[u.ToolCallUpdate.ToolCallId]
			require.NotNil(t, one, "an update of an unknown call")
			if u.ToolCallUpdate.Status != nil {
				one.states = append(one.states, *u.ToolCallUpdate.Status)
			}
			if u.ToolCallUpdate.Content != nil {
				one.Content = u.ToolCallUpdate.Content
			}
			if u.ToolCallUpdate.RawOutput != nil {
				one.RawOutput = u.ToolCallUpdate.RawOutput
			}
		}
	}
	return list
}

// text joins the text of a call's content.
func (s *shown) text() string {
	var b strings.Builder
	for _, c := range s.Content {
		if c.Content != nil {
			b.WriteString(c.Content.Content.Text.Text + "\n")
		}
	}
	return b.String()
}

// output returns the result as the model received it.
func (s *shown) output() string {
	raw, _ := json.Marshal(s.RawOutput)
	var result struct{ Output string }
	_ = json.Unmarshal(raw, &result)
	return result.Output
}

func (e *editor) RequestPermission(ctx context.Context, r sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	e.mu.Lock()
	e.asked = append(e.asked, r)
	answer := e.answer
	e.mu.Unlock()
	return answer(ctx, r)
}

func (e *editor) ReadTextFile(ctx context.Context, r sdk.ReadTextFileRequest) (sdk.ReadTextFileResponse, error) {
	e.mu.Lock()
	text, held := e.held[filepath.Base(r.Path)]
	broken := e.broken
	e.mu.Unlock()
	if broken {
		<-ctx.Done()
		return sdk.ReadTextFileResponse{}, ctx.Err()
	}
	if held {
		return sdk.ReadTextFileResponse{Content: text}, nil
	}
	data, err := os.ReadFile(r.Path)
	return sdk.ReadTextFileResponse{Content: string(data)}, err
}

func (e *editor) WriteTextFile(context.Context, sdk.WriteTextFileRequest) (sdk.WriteTextFileResponse, error) {
	e.t.Error("a file was written through the editor")
	return sdk.WriteTextFileResponse{}, nil
}

func (*editor) CreateTerminal(context.Context, sdk.CreateTerminalRequest) (r sdk.CreateTerminalResponse, err error) {
	return r, sdk.NewMethodNotFound(sdk.ClientMethodTerminalCreate)
}

func (*editor) KillTerminal(context.Context, sdk.KillTerminalRequest) (r sdk.KillTerminalResponse, err error) {
	return r, sdk.NewMethodNotFound(sdk.ClientMethodTerminalKill)
}

func (*editor) TerminalOutput(context.Context, sdk.TerminalOutputRequest) (r sdk.TerminalOutputResponse, err error) {
	return r, sdk.NewMethodNotFound(sdk.ClientMethodTerminalOutput)
}

func (*editor) ReleaseTerminal(context.Context, sdk.ReleaseTerminalRequest) (r sdk.ReleaseTerminalResponse, err error) {
	return r, sdk.NewMethodNotFound(sdk.ClientMethodTerminalRelease)
}

func (*editor) WaitForTerminalExit(context.Context, sdk.WaitForTerminalExitRequest) (r sdk.WaitForTerminalExitResponse, err error) {
	return r, sdk.NewMethodNotFound(sdk.ClientMethodTerminalWaitForExit)
}

// file returns the content of a file of the workspace.
func (e *editor) file(name string) string {
	data, err := os.ReadFile(filepath.Join(e.dir, name))
	require.NoError(e.t, err)
	return string(data)
}

// write creates a file of the workspace.
func (e *editor) write(name, text string) {
	require.NoError(e.t, os.WriteFile(filepath.Join(e.dir, name), []byte(text), 0o644))
}

// save writes the unsaved text of a file to the disk.
func (e *editor) save(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.write(name, e.held[name])
	delete(e.held, name)
}
