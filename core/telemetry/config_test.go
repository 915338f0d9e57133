package telemetry_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/telemetry"
)

// code: observed
// observed returns p with an observer that reports to the providers of o, in
// addition to existing observers.
func observed(p config.Parameters, o telemetry.Options) (config.Parameters, error) {
	observer, err := telemetry.New(o)
	if err != nil {
		return p, err
	}
	p.Conversation.Observer = agent.Observers(p.Conversation.Observer, observer)
	p.Calls.Observe = append(p.Calls.Observe[:len(p.Calls.Observe):len(p.Calls.Observe)], observer.Call)
	return p, nil
}

// code: end

// A complete session with the real tools and a built-in agent: its spans are children of the call,
// and no file content is recorded.
func TestConfig(t *testing.T) {
	w := watch(t)
	s := configtest.New(t, func(p *config.Parameters) {
		p.Conversation.Models = model.Always(play(t, `
			{"when": {"purpose": "subagent"}, "calls": [{"tool": "read_file", "args": {"file_path": "a.txt"}}]},
			{"when": {"purpose": "subagent"}, "calls": [{"tool": "complete_task", "args": {"result": "It is read."}}]},
			{"calls": [{"tool": "generalist", "args": {"query": "Read a.txt."}}]},
			{"expect": {"tool": "generalist", "ok": true}, "text": "Done."}`))
		p.Conversation.Model = "script:demo"
		p.Conversation.Observer, p.Calls.Observe = w, nil
		var err error
		*p, err = observed(*p, telemetry.Options{}) // next to an observer that measures nothing
		require.NoError(t, err)
		p.Calls.Observe = append(p.Calls.Observe, w.Call)
	})
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "a.txt"), []byte(secretFile), 0o600))
	client, err := s.Client()
	require.NoError(t, err)
	last := ask(t.Context(), client, secretPrompt)
	require.Equal(t, agent.EventDone, last.Type, "%v", last.Err)
	var names []string
	for _, line := range w.tree() {
		name, _, _ := strings.Cut(line, " | ")
		names = append(names, name)
	}
	require.Equal(t, []string{
		"invoke_agent fettle",
		"  turn",
		"    chat demo (client)",
		"    execute_tool generalist",
		"      invoke_agent generalist",
		"        turn",
		"          chat demo (client)",
		"          execute_tool read_file",
		"        turn",
		"          chat demo (client)",
		"  turn",
		"    chat demo (client)",
	}, names)
	require.NotContains(t, w.exported(t), secretFile)
	require.NotContains(t, w.exported(t), secretPrompt)
	require.NotContains(t, w.exported(t), s.Dir)
}
