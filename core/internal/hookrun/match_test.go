package hookrun_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/internal/hookrun"
)

// Matchers of tools are searched in their names and equal an equivalent name of another
// program; those of triggers match a whole trigger.
func TestMatchers(t *testing.T) {
	shell := hookrun.Subject{Names: []string{"run_shell_command", "ShellTool"}, Elsewhere: []string{"bash", "shell"}}
	todos := hookrun.Subject{Names: []string{"write_todos"}, Elsewhere: []string{"todowrite"}}
	start, compress := hookrun.Subject{Text: "startup"}, hookrun.Subject{Text: "auto"}
	for _, tt := range []struct {
		event   hooks.Event
		matcher string
		about   hookrun.Subject
		want    bool
	}{
		{hooks.BeforeTool, "Bash|Write|Edit", shell, true},
		{hooks.BeforeTool, "^(Bash|Write)$", shell, true},
		{hooks.AfterTool, " bash ", shell, true},
		{hooks.BeforeTool, "shell_com", shell, true},
		{hooks.BeforeTool, "Write", todos, false},
		{hooks.BeforeTool, "Todo.*", todos, true},
		{hooks.BeforeTool, "*", todos, true},
		{hooks.BeforeTool, "(", shell, false},
		{hooks.SessionStart, "startup|resume", start, true},
		{hooks.SessionStart, "resume|clear", start, false},
		{hooks.SessionStart, "start", start, false},
		{hooks.SessionStart, "startup", start, true},
		{hooks.SessionStart, "", start, true},
		{hooks.SessionStart, ".*", start, true},
		{hooks.SessionStart, "(", start, false},
		{hooks.PreCompress, "auto|manual", compress, true},
		{hooks.Notification, "ToolPermission|Other", hookrun.Subject{}, true},
	} {
		r := hookrun.New(hookrun.Options{Hooks: []hooks.Hook{{Event: tt.event, Matcher: tt.matcher, Name: "h"}}})
		require.Equal(t, tt.want, len(r.Select(tt.event, tt.about)) == 1, "%s %q", tt.event, tt.matcher)
	}
}

// A matcher that matches no trigger of the event is reported when it is read.
func TestMatchersOfNoTrigger(t *testing.T) {
	read := func(event, matcher string) []fault.Problem {
		found, problems := hookrun.ParseTOML([]byte("[[hooks."+event+"]]\nmatcher = '"+matcher+"'\nhooks = [{command = 'true'}]\n"), hookrun.Origin{Path: "f"})
		require.Len(t, found, 1)
		return problems
	}
	for event, matchers := range map[string][]string{
		"SessionStart": {"startup|resume", "", "*", "clear", "startup|compact"}, "SessionEnd": {"exit|logout", "other"},
		"PreCompress": {"auto|manual"}, "Notification": {"whatever"}, "BeforeAgent": {"whatever"}, "BeforeTool": {"whatever"},
	} {
		for _, matcher := range matchers {
			require.Empty(t, read(event, matcher), "%s %s", event, matcher)
		}
	}
	for event, matcher := range map[string]string{"SessionStart": "compact", "SessionEnd": "quit", "PreCompress": "automatic|manuel"} {
		problems := read(event, matcher)
		require.Len(t, problems, 1)
		require.Equal(t, 2, problems[0].Line)
		require.Contains(t, problems[0].Message, "never run")
	}
	require.Len(t, read("SessionStart", "("), 2)
}
