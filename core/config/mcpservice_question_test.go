package config_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// EX-20: a question shows the end of a call too, however long it is and whatever
// its content; an incomplete display is reported, and offers no lasting approval.
func TestMCPServiceShowsTheEnd(t *testing.T) {
	const end = "; rm -f victim"
	tests := map[string]struct {
		tool  string
		args  map[string]any
		whole bool
		shows []string
	}{
		"long enough": {"run_shell_command", map[string]any{"command": ": " + strings.Repeat("a", 16_000) + end}, true, []string{end}},
		"too long": {"run_shell_command", map[string]any{"command": ": " + strings.Repeat("a", 30_000) + end}, false,
			[]string{end, "characters are not shown here"}},
		"spelled out": {"run_shell_command", map[string]any{"command": "true '" + strings.Repeat("\x01", 4_000) + "'" + end}, false,
			[]string{end, "characters are not shown here"}},
		"not to be seen": {"run_shell_command", map[string]any{"command": "true " + strings.Repeat("\u200b", 4_500) + end}, false,
			[]string{end, "characters are not shown here"}},
		"something else in an argument": {"poke", map[string]any{"where": strings.Repeat("\u200b", 4_500) + end}, false,
			[]string{end, "characters are not shown here"}},
		"one long line": {"write_file", map[string]any{"file_path": "a.txt", "content": "begun" + strings.Repeat("x", 3_000_000) + end}, false,
			[]string{"+begunxxx", end, "characters are not shown here", fmt.Sprintf("%d bytes", 3_000_005+len(end))}},
		"many lines": {"write_file", map[string]any{"file_path": "a.txt", "content": "begun\n" + strings.Repeat("line\n", 100_000) + end}, false,
			[]string{"+begun\n", "+" + end, "ends of lines"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := serve(t, config.MCPServiceOptions{}, withPoke)
			s.write("victim", "x")
			c := &client{answer: says(`{"answer":"no"}`)}
			callAs(t, s.Service, c, tt.tool, tt.args)
			require.Len(t, c.asked, 1)
			form := c.asked[0].Elicit
			for _, text := range append(tt.shows, "Why it is asked: ") {
				require.Contains(t, form.Message, text)
			}
			require.LessOrEqual(t, len(form.Message), 40<<10)
			require.Equal(t, tt.whole, !strings.Contains(form.Message, "IMPORTANT"))
			if !tt.whole {
				require.NotContains(t, string(form.Schema), `"session"`)
				require.NotContains(t, string(form.Schema), `"tool"`)
			}
		})
	}
}

// EX-20: the coverage of a lasting answer is described.
func TestMCPServiceSaysWhatLasts(t *testing.T) {
	tests := map[string]struct {
		tool string
		args map[string]any
		says string
	}{
		"a file":      {"write_file", map[string]any{"file_path": "a.txt", "content": "x"}, " write_file on DIR/a.txt\n"},
		"a command":   {"run_shell_command", map[string]any{"command": "touch a b"}, " commands that begin with touch\n"},
		"two":         {"run_shell_command", map[string]any{"command": "touch a; mkdir b"}, ":\n- commands that begin with touch\n- commands that begin with mkdir\n"},
		"a writer":    {"run_shell_command", map[string]any{"command": "touch a > b"}, ":\n- commands that begin with touch\n- write_file on DIR/b\n"},
		"as it is":    {"run_shell_command", map[string]any{"command": "python3 a.py"}, " exactly the command python3 a.py\n"},
		"a page":      {"web_fetch", map[string]any{"url": "https://example.org/a"}, " web_fetch of any page of https://example.org\n"},
		"some tool":   {"poke", map[string]any{"where": "here"}, ` poke with exactly where "here"` + "\n"},
		"a whole one": {"poke", map[string]any{"where": "here"}, " any call of poke\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := serve(t, config.MCPServiceOptions{}, withPoke)
			c := &client{answer: says(`{"answer":"no"}`)}
			callAs(t, s.Service, c, tt.tool, tt.args)
			require.Len(t, c.asked, 1)
			var schema struct {
				Properties struct{ Answer struct{ Description string } }
			}
			require.NoError(t, json.Unmarshal(c.asked[0].Elicit.Schema, &schema))
			require.Contains(t, schema.Properties.Answer.Description, "while this session lasts"+strings.ReplaceAll(tt.says, "DIR", s.dir))
			require.NotContains(t, schema.Properties.Answer.Description, "allow ")
		})
	}
}

// EX-20: each question has a key of its own, so that no answer to another one, or
// to the same one at another time, is accepted for it.
func TestMCPServiceQuestionKeys(t *testing.T) {
	s := serve(t, config.MCPServiceOptions{})
	c := &client{answer: says(`{"answer":"once"}`)}
	keys := map[string]bool{}
	for range 3 {
		callAs(t, s.Service, c, "run_shell_command", map[string]any{"command": "touch a"})
	}
	for _, q := range c.asked {
		keys[q.Key] = true
		require.True(t, q.Fresh)
	}
	require.Len(t, keys, 3)
}

// unwilling is a client whose Ask fails.
type unwilling struct {
	*client
	err error
}

func (f unwilling) Ask(context.Context, ...host.Question) ([]host.Reply, error) { return nil, f.err }

// silent is a client with empty replies.
type silent struct{ *client }

func (silent) Ask(context.Context, ...host.Question) ([]host.Reply, error) {
	return []host.Reply{{}}, nil
}

// EX-20: the reason why a question was not answered determines the refusal: a
// client that has sent an invalid answer was asked.
func TestMCPServiceUnanswered(t *testing.T) {
	refused := func(code fault.Code, message string) host.Host {
		return unwilling{&client{}, fault.New(code, "test", message, "")}
	}
	tests := map[string]struct {
		host host.Host
		code fault.Code
		says string
	}{
		"of no use":     {refused(fault.DeniedByUser, "The client's answer cannot be used: it is odd."), fault.DeniedByUser, "it is odd."},
		"none":          {silent{&client{}}, fault.DeniedByUser, "The client's response has no answer."},
		"an error":      {refused(fault.NoApprover, "The client has not answered: boom."), fault.NoApprover, "boom."},
		"another error": {unwilling{&client{}, context.DeadlineExceeded}, fault.NoApprover, ""},
		"cancelled":     {refused(fault.Cancelled, "The call has ended."), fault.Cancelled, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := serve(t, config.MCPServiceOptions{AllTools: true})
			r := s.Call(host.NewContext(t.Context(), tt.host), "write_file", json.RawMessage(`{"file_path":"a.txt","content":"x"}`))
			require.Equal(t, tt.code, fault.CodeOf(r.Error))
			require.Contains(t, r.LLMContent.String(), tt.says)
			require.NoFileExists(t, filepath.Join(s.dir, "a.txt"))

			r = s.Call(host.NewContext(t.Context(), tt.host), "ask_user", json.RawMessage(`{"questions":[{"question":"Which?","header":"W","type":"text"}]}`))
			if tt.code == fault.DeniedByUser {
				require.Nil(t, r.Error, "the questions were left unanswered")
			} else {
				require.Equal(t, tt.code, fault.CodeOf(r.Error))
			}
			require.Contains(t, r.LLMContent.String(), tt.says)
		})
	}
}

// EX-20: a call's last output reaches the client before the call's end does.
func TestMCPServiceProgressAtTheEnd(t *testing.T) {
	s := serve(t, config.MCPServiceOptions{}, func(p *config.Parameters) { p.Policy.ApprovalMode = policy.ModeYolo })
	for i := range 50 {
		c := &client{}
		r := callAs(t, s.Service, c, "run_shell_command", map[string]any{"command": "echo hello"})
		require.Nil(t, r.Error)
		require.Len(t, c.progress, 1, "call %d", i)
		require.Equal(t, host.Progress{Done: 1, Message: "hello"}, c.progress[0])
	}
}
