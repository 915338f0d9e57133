package config_test

import (
	"context"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/agent/recordings"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// reader is a model that reads a file and then reports that.
type reader struct {
	model.Generator
	asked int
}

func (g *reader) Stream(_ context.Context, r *model.Request) iter.Seq2[*model.Chunk, error] {
	g.asked++
	part := model.TextPart("I have read it.")
	if len(r.Contents[len(r.Contents)-1].Responses()) == 0 {
		part = model.Part{Call: &model.FunctionCall{ID: "c" + string(rune('0'+g.asked)), Name: "read_file", Args: json.RawMessage(`{"file_path":"f","limit":1,"offset":0}`)}}
	}
	return func(yield func(*model.Chunk, error) bool) {
		yield(&model.Chunk{Parts: []model.Part{part}, Finish: model.FinishStop, Usage: &model.Usage{Input: 5, Output: 3}}, nil)
	}
}

func store(t *testing.T, c *config.Config, secrets ...string) *recordings.Store {
	t.Helper()
	s, err := config.NewTranscripts(c, secrets)
	require.NoError(t, err)
	return s
}

// talk runs a prompt through a recording client.
func talk(t *testing.T, c *config.Config, r *recordings.Recording, history []model.Content, prompt string) *agent.Client {
	t.Helper()
	run, err := c.Scheduler()
	require.NoError(t, err)
	client, err := agent.New(agent.Options{
		Source: model.Always(&reader{asked: len(history)}), Model: func() string { return "script:x" },
		Scheduler: run, Recorder: r, History: history,
	})
	require.NoError(t, err)
	for e := range client.Run(t.Context(), model.TextPart(prompt)) {
		require.Nil(t, e.Err, "%v", e.Type)
	}
	return client
}

// A session is recorded continuously, and continues in another process. AR-04,
// KH-13
func TestRecordAndResume(t *testing.T) {
	const secret = "sk-0123456789abcdef"
	home := t.TempDir()
	at := func(p *config.Parameters) { p.Environment.HomeDir = home }
	s := configtest.New(t, at, func(p *config.Parameters) { p.Session.ID = "mine"; p.Conversation.Model = "script:x" })
	s.Write("f", "key="+secret+"\ntwo\n")
	r, err := store(t, s.Config, secret).Record(t.Context(), s.Config)
	require.NoError(t, err)
	read(t, s.Config, "f")
	client := talk(t, s.Config, r, nil, "Read f, my key is "+secret)
	require.NoError(t, r.Close())

	dirs, err := s.Storage()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dirs.ProjectTempDir, "chats"), filepath.Dir(r.Path()))
	data, err := os.ReadFile(r.Path())
	require.NoError(t, err)
	require.NotContains(t, string(data), secret)

	session, err := store(t, s.Config).Load(t.Context(), "mine")
	require.NoError(t, err)
	require.Equal(t, transcript.KindMain, session.Kind)
	require.Equal(t, s.Dir, session.Project)
	require.Equal(t, "script:x", session.Model)
	require.Equal(t, "Read f, my key is [masked]", session.Title)
	require.Equal(t, int64(2), session.Highest)
	require.Len(t, session.Turns, 4)
	require.Equal(t, "script:x", session.Turns[1].Model)
	require.JSONEq(t, `{"input":5,"output":3,"cached":0,"thoughts":0,"tool":0,"total":0}`, string(session.Turns[1].Usage))
	require.Len(t, session.Turns[2].Calls, 1)
	done := session.Turns[2].Calls[0]
	require.Equal(t, "read_file", done.Name)
	require.Equal(t, "success", done.Status)
	require.JSONEq(t, `{"file_path":"f","limit":1,"offset":0}`, string(done.Args))
	require.Contains(t, string(done.Decision), `"decision":"allow"`)

	// Another Config over the same project.
	again, err := config.New(config.Parameters{TargetDir: s.Dir, Environment: config.Environment{HomeDir: home}})
	require.NoError(t, err)
	require.NoError(t, again.Initialize(t.Context()))
	t.Cleanup(func() { require.NoError(t, again.Close()) })
	read(t, again, "f") // of another session
	r, session, history, err := store(t, again).Resume(t.Context(), again, "mine")
	require.NoError(t, err)
	resumed, err := os.ReadFile(r.Path())
	require.NoError(t, err)
	require.Equal(t, string(data), string(resumed), "a history that can be used whole is not written again")
	require.Empty(t, session.Problems)
	require.Equal(t, "mine", again.SessionID())
	require.Zero(t, cached(t, again))
	require.NoError(t, agent.ValidHistory(history))
	require.Len(t, history, len(client.History()))
	require.Equal(t, client.History()[1], history[1])
	_, _, _, err = store(t, again).Resume(t.Context(), again, "mine")
	require.Equal(t, fault.SessionUnreadable, fault.CodeOf(err), "one writes at a time")

	require.Equal(t, int64(3), read(t, again, "f").Version, "versions go on")
	talk(t, again, r, history, "Once more.")
	require.NoError(t, r.Rewind(t.Context(), 7))
	require.NoError(t, r.Close())
	session, err = store(t, again).Load(t.Context(), "mine")
	require.NoError(t, err)
	require.Len(t, session.Turns, 7)
	require.Equal(t, int64(4), session.Highest)
	require.Empty(t, session.Problems)
}

// The content of the history is restored exactly, by turns and as a whole.
func TestRecordingKeepsContents(t *testing.T) {
	s := configtest.New(t)
	r, err := store(t, s.Config).Record(t.Context(), s.Config)
	require.NoError(t, err)
	history := []model.Content{
		{Role: model.RoleUser, Parts: []model.Part{model.TextPart("<a> & b \u2028"), {Data: &model.Data{MIMEType: "image/png", Bytes: []byte{0, 1}, Name: "x"}}}},
		{Role: model.RoleModel, Parts: []model.Part{
			{Text: "hm", Thought: true, Signature: []byte{1, 2}, Provider: "gemini"},
			{Call: &model.FunctionCall{ID: "1", Name: "f", Args: json.RawMessage(`{"n":9007199254740993}`)}},
			{Call: &model.FunctionCall{ID: "2", Name: "g", Args: json.RawMessage(`{"broken`)}},
		}},
		{Role: model.RoleUser, Parts: []model.Part{
			{Response: &model.FunctionResponse{ID: "1", Name: "f", Response: json.RawMessage(`{"output":"<x>"}`), Data: []model.Data{{MIMEType: "a/b", Bytes: []byte("d")}}}},
			{Response: &model.FunctionResponse{ID: "2", Name: "g", Response: json.RawMessage(`{"error":{"type":"invalid_tool_params"}}`)}},
		}},
	}
	for _, content := range history {
		require.NoError(t, r.Append(t.Context(), agent.Entry{Content: content}))
	}
	check := func() {
		session, err := store(t, s.Config).Load(t.Context(), s.SessionID())
		require.NoError(t, err)
		got, lost := recordings.History(session)
		require.Empty(t, lost)
		require.Equal(t, history, got)
	}
	check()
	require.NoError(t, r.Replace(t.Context(), history))
	check()
	require.NoError(t, r.Close())
}

// An invalid turn is omitted and reported, and positions stay right.
func TestResumeWithoutWhatCannotBeUsed(t *testing.T) {
	s := configtest.New(t)
	sessions := store(t, s.Config)
	w, err := sessions.Create(t.Context(), transcript.Header{ID: "odd"})
	require.NoError(t, err)
	for _, raw := range []string{
		`{"role":"user","parts":[{"text":"a"}]}`, `{"role":"model","parts":[{"functionCall":"x"}]}`, `{"role":"model","parts":[{"text":"b"}]}`,
	} {
		require.NoError(t, w.Append(t.Context(), transcript.Turn{Content: json.RawMessage(raw)}))
	}
	require.NoError(t, w.Close())
	r, session, history, err := sessions.Resume(t.Context(), s.Config, "odd")
	require.NoError(t, err)
	require.Len(t, history, 2)
	require.Len(t, session.Problems, 1)
	require.Contains(t, session.Problems[0].Message, "Turn 2")
	require.NoError(t, r.Append(t.Context(), agent.Entry{Content: model.UserText("c")}))
	require.NoError(t, r.Rewind(t.Context(), 2))
	require.NoError(t, r.Close())
	session, err = sessions.Load(t.Context(), "odd")
	require.NoError(t, err)
	require.Empty(t, session.Problems)
	kept, lost := recordings.History(session)
	require.Empty(t, lost)
	require.Equal(t, history, kept)

	before := s.SessionID()
	_, _, _, err = sessions.Resume(t.Context(), s.Config, "none")
	require.Equal(t, fault.SessionNotFound, fault.CodeOf(err))
	require.Equal(t, before, s.SessionID())
}

// A subagent's session is distinguished from others and deleted with its
// parent's.
func TestRecordOfASubagent(t *testing.T) {
	s := configtest.New(t)
	sessions := store(t, s.Config)
	parent, err := sessions.Record(t.Context(), s.Config)
	require.NoError(t, err)
	child := derive(t, s.Config, config.DeriveParameters{Subagent: "helper"})
	r, err := sessions.RecordSubagent(t.Context(), child, s.SessionID())
	require.NoError(t, err)
	for _, w := range []*recordings.Recording{parent, r} {
		require.NoError(t, w.Append(t.Context(), agent.Entry{Content: model.UserText("x")}))
		require.NoError(t, w.Close())
	}
	list, problems, err := sessions.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, problems)
	require.Len(t, list, 1)
	require.Equal(t, s.SessionID(), list[0].ID)
	session, err := sessions.Load(t.Context(), child.SessionID())
	require.NoError(t, err)
	require.Equal(t, transcript.KindSubagent, session.Kind)
	require.Equal(t, s.SessionID(), session.Parent)
	require.NoError(t, sessions.Delete(t.Context(), s.SessionID()))
	_, err = sessions.Load(t.Context(), child.SessionID())
	require.Equal(t, fault.SessionNotFound, fault.CodeOf(err))
}

func TestSecrets(t *testing.T) {
	require.Equal(t, []string{
		"AIzaSyA-0123456789", "0123456789abcdef", "correct horse battery", "sk-proj-1234", "postgres://u:pa55w0rd@host/db", "pa55w0rd", "123456789012",
	}, settings.Secrets([]string{
		"GEMINI_API_KEY=AIzaSyA-0123456789", "GITHUB_TOKEN= 0123456789abcdef ", "DB_PASSWORD=correct horse battery", "ANYTHING=sk-proj-1234",
		"DATABASE_URL=postgres://u:pa55w0rd@host/db", "PIN_SECRET=123456789012",
		"HOME=/root", "PWD=/root", "SSH_AUTH_SOCK=/tmp/a.1", "SSH_KEY=/root/.ssh/id", "WIN_KEY=C:\\x", "TOKEN_FILE=./token", "AUTH=basic", "USE_TOKEN=true", "KEY=", "SECRET=1234",
		"LANG=en_US.UTF-8", "nonsense",
	}))
}
