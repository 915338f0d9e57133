package acp

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/fettle-dev/fettle/cli/acp/frames"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/redact"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// server is the side of the program in a connection to one editor. It implements
// [sdk.Agent], [sdk.AgentLoader] and [frames.Turns].
type server struct {
	program *program.Program
	global  *program.Flags
	flags   conversation.Flags // of each session
	conn    *sdk.AgentSideConnection
	out     *frames.Writer
	// patience is the time that the editor may take to return a text that it holds.
	patience time.Duration

	loading chan struct{} // capacity 1: held while a recorded session is opened

	mu       sync.Mutex
	client   sdk.ClientCapabilities
	sessions map[string]*session
	closed   bool // no session may be opened
}

var (
	_ sdk.Agent       = (*server)(nil)
	_ sdk.AgentLoader = (*server)(nil)
	_ frames.Turns    = (*server)(nil)
)

func newServer(p *program.Program, g *program.Flags, f conversation.Flags) *server {
	return &server{program: p, global: g, flags: f, patience: 5 * time.Second, loading: make(chan struct{}, 1), sessions: map[string]*session{}}
}

// setupMethod is the only authentication method.
const setupMethod = "fettle-setup"

// Initialize implements [sdk.Agent].
func (a *server) Initialize(_ context.Context, r sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	a.mu.Lock()
	a.client = r.ClientCapabilities
	a.mu.Unlock()
	return sdk.InitializeResponse{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		AgentInfo:       &sdk.Implementation{Name: "fettle", Title: sdk.Ptr("fettle"), Version: program.VersionOf().Version},
		AuthMethods: []sdk.AuthMethod{{Agent: &sdk.AuthMethodAgent{
			Id: setupMethod, Name: "fettle setup", Description: sdk.Ptr("Run fettle setup in a terminal. It stores the key of a model provider."),
		}}},
		AgentCapabilities: sdk.AgentCapabilities{
			LoadSession:        true,
			McpCapabilities:    sdk.McpCapabilities{Http: true, Sse: true},
			PromptCapabilities: sdk.PromptCapabilities{EmbeddedContext: true, Image: true},
			SessionCapabilities: sdk.SessionCapabilities{
				AdditionalDirectories: &sdk.SessionAdditionalDirectoriesCapabilities{},
				Close:                 &sdk.SessionCloseCapabilities{},
				List:                  &sdk.SessionListCapabilities{},
				Resume:                &sdk.SessionResumeCapabilities{},
			},
		},
	}, nil
}

// capabilities returns the capabilities of the editor.
func (a *server) capabilities() sdk.ClientCapabilities {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.client
}

// Authenticate implements [sdk.Agent]. It succeeds if the model has a key by now.
func (a *server) Authenticate(ctx context.Context, r sdk.AuthenticateRequest) (sdk.AuthenticateResponse, error) {
	if r.MethodId != setupMethod {
		return sdk.AuthenticateResponse{}, invalid("There is no authentication method %q.", r.MethodId)
	}
	p := *a.program
	c := conversation.New(&p, &conversation.Flags{})
	c.Warn = func(string) {}
	err := c.WithModels(ctx, a.global, func(s program.Session) (again bool, err error) {
		return false, c.CheckModel(ctx, s.Config().Model())
	})
	if err != nil {
		return sdk.AuthenticateResponse{}, a.failure(&p, err)
	}
	return sdk.AuthenticateResponse{}, nil
}

// NewSession implements [sdk.Agent].
func (a *server) NewSession(ctx context.Context, r sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	s, err := a.open(ctx, setup{cwd: r.Cwd, dirs: r.AdditionalDirectories, servers: r.McpServers})
	if err != nil {
		return sdk.NewSessionResponse{}, err
	}
	s.begin(a.out.Sent(`"sessionId":"` + s.id + `"`))
	return sdk.NewSessionResponse{SessionId: sdk.SessionId(s.id), Modes: s.modes()}, nil
}

// LoadSession implements [sdk.AgentLoader]. The recorded conversation is sent before
// the response.
func (a *server) LoadSession(ctx context.Context, r sdk.LoadSessionRequest) (sdk.LoadSessionResponse, error) {
	s, err := a.load(ctx, setup{cwd: r.Cwd, dirs: r.AdditionalDirectories, servers: r.McpServers, id: string(r.SessionId), replay: true})
	if err != nil {
		return sdk.LoadSessionResponse{}, err
	}
	return sdk.LoadSessionResponse{Modes: s.modes()}, nil
}

// ResumeSession implements [sdk.Agent].
func (a *server) ResumeSession(ctx context.Context, r sdk.ResumeSessionRequest) (sdk.ResumeSessionResponse, error) {
	s, err := a.load(ctx, setup{cwd: r.Cwd, dirs: r.AdditionalDirectories, servers: r.McpServers, id: string(r.SessionId)})
	if err != nil {
		return sdk.ResumeSessionResponse{}, err
	}
	return sdk.ResumeSessionResponse{Modes: s.modes()}, nil
}

// CloseSession implements [sdk.Agent].
func (a *server) CloseSession(_ context.Context, r sdk.CloseSessionRequest) (sdk.CloseSessionResponse, error) {
	s, err := a.session(r.SessionId)
	if err != nil {
		return sdk.CloseSessionResponse{}, err
	}
	s.close()
	<-s.done
	return sdk.CloseSessionResponse{}, nil
}

// ListSessions implements [sdk.Agent]. Without a directory it lists the sessions of the
// open directories, and of the directory of the command.
func (a *server) ListSessions(ctx context.Context, r sdk.ListSessionsRequest) (sdk.ListSessionsResponse, error) {
	var dirs []string
	switch {
	case r.Cursor != nil && *r.Cursor != "":
		return sdk.ListSessionsResponse{}, invalid("The cursor is unknown: all sessions are on the first page.")
	case r.Cwd != nil && !filepath.IsAbs(*r.Cwd):
		return sdk.ListSessionsResponse{}, invalid("cwd must be an absolute path, not %q.", *r.Cwd)
	case r.Cwd != nil:
		dirs = []string{*r.Cwd}
	default:
		dirs = a.directories()
	}
	all := []sdk.SessionInfo{}
	for _, dir := range dirs {
		some, err := a.recorded(ctx, dir)
		if err != nil {
			return sdk.ListSessionsResponse{}, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b sdk.SessionInfo) int { return cmp.Compare(*b.UpdatedAt, *a.UpdatedAt) })
	return sdk.ListSessionsResponse{Sessions: all}, nil
}

// directories returns the directories of the open sessions and of the command.
func (a *server) directories() []string {
	dirs := program.Absolute([]string{cmp.Or(a.global.Cwd, ".")})
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.sessions {
		if !slices.Contains(dirs, s.cwd) {
			dirs = append(dirs, s.cwd)
		}
	}
	return dirs
}

// recorded returns the recorded sessions of a directory.
func (a *server) recorded(ctx context.Context, dir string) ([]sdk.SessionInfo, error) {
	p, g := *a.program, *a.global
	g.Cwd = dir
	var all []sdk.SessionInfo
	hide := &redact.Masker{}
	err := p.WithSession(ctx, program.SessionOptions{Flags: &g, Hide: hide}, func(s program.Session) error {
		store, err := config.NewTranscripts(s.Config(), hide.Values())
		if err != nil {
			return err
		}
		list, _, err := store.List(ctx)
		for _, one := range list {
			all = append(all, infoOf(one, dir))
		}
		return err
	})
	if err != nil {
		return nil, a.failure(&p, err)
	}
	return all, nil
}

func infoOf(s transcript.Summary, dir string) sdk.SessionInfo {
	return sdk.SessionInfo{
		SessionId: sdk.SessionId(s.ID), Cwd: dir, Title: sdk.Ptr(display.Line(s.Title)), UpdatedAt: sdk.Ptr(s.Updated.UTC().Format(time.RFC3339)),
	}
}

// SetSessionMode implements [sdk.Agent].
func (a *server) SetSessionMode(_ context.Context, r sdk.SetSessionModeRequest) (sdk.SetSessionModeResponse, error) {
	s, err := a.session(r.SessionId)
	if err != nil {
		return sdk.SetSessionModeResponse{}, err
	}
	if err := s.host.SetMode(string(r.ModeId)); err != nil {
		return sdk.SetSessionModeResponse{}, invalid("%s", fault.Line(err))
	}
	return sdk.SetSessionModeResponse{}, nil
}

// SetSessionConfigOption implements [sdk.Agent]. No session has options.
func (a *server) SetSessionConfigOption(context.Context, sdk.SetSessionConfigOptionRequest) (sdk.SetSessionConfigOptionResponse, error) {
	return sdk.SetSessionConfigOptionResponse{}, invalid("Sessions have no configuration options. Use session/set_mode for the approval mode.")
}

// Prompt implements [sdk.Agent]. Its ctx has no meaning: the SDK ends it for an earlier
// prompt whose request it handles later.
func (a *server) Prompt(_ context.Context, r sdk.PromptRequest) (sdk.PromptResponse, error) {
	s, err := a.session(r.SessionId)
	if err != nil {
		return sdk.PromptResponse{}, err
	}
	return s.prompt(r.Prompt)
}

// Cancel implements [sdk.Agent]. It is not called: see [server.Cancelled].
func (*server) Cancel(context.Context, sdk.CancelNotification) error { return nil }

// Prompted implements [frames.Turns].
func (a *server) Prompted(id string, p sdk.PromptRequest) error {
	s, err := a.session(p.SessionId)
	if err != nil {
		return nil // Prompt reports it
	}
	return s.expect(id, p.Prompt)
}

// RequestCancelled implements [frames.Turns].
func (a *server) RequestCancelled(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.sessions {
		s.cancelRequest(id)
	}
}

// Cancelled implements [frames.Turns].
func (a *server) Cancelled(id string) {
	if s, err := a.session(sdk.SessionId(id)); err == nil {
		s.cancelTurns()
	}
}

// session returns an open session.
func (a *server) session(id sdk.SessionId) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.sessions[string(id)]
	if s == nil {
		return nil, invalid("There is no open session %q. Open it with session/load.", id)
	}
	return s, nil
}

// closeAll ends all sessions and waits for them, at most for grace.
func (a *server) closeAll(grace time.Duration) {
	a.mu.Lock()
	a.closed = true
	var all []*session
	for _, s := range a.sessions {
		all = append(all, s)
	}
	a.mu.Unlock()
	for _, s := range all {
		s.close()
	}
	late := time.After(grace)
	for _, s := range all {
		select {
		case <-s.done:
		case <-late:
			return
		}
	}
}

// invalid returns the error for invalid parameters. The message is for the user.
func invalid(format string, args ...any) error {
	return &sdk.RequestError{Code: invalidParams, Message: display.Printable(fmt.Sprintf(format, args...))}
}

// JSON-RPC error codes.
const (
	invalidRequest = -32600
	invalidParams  = -32602
	internalError  = -32603
	authRequired   = -32000
	notFound       = -32002
)

// failure converts an error of the program to an error of the protocol.
func (a *server) failure(p *program.Program, err error) error {
	f := fault.As(err)
	if f == nil {
		f = fault.Wrap(fault.Unknown, "cli.acp", display.Sentence(err.Error()), "", err)
	}
	code := internalError
	switch f.Code {
	case fault.InvalidConfig:
		if isKeyMissing(f) {
			code = authRequired
		}
	case fault.SessionNotFound:
		code = notFound
	case fault.InvalidToolParams, fault.UntrustedFolder:
		code = invalidParams
	}
	return &sdk.RequestError{Code: code, Message: display.Printable(p.Masked(f.Line())), Data: map[string]any{"type": string(f.Code)}}
}

// isKeyMissing reports whether an error is that of a model without a key.
func isKeyMissing(f *fault.Error) bool {
	return f.Op == "standard.models" || strings.HasPrefix(f.Op, "model.") && f.Op != "model.name"
}
