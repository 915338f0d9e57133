package integration_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// EX-20: only a clear approval approves a call. Every other answer of a client refuses it
// with denied_by_user; a client that has no answer, with nobody_to_ask.
func TestServeElicitationAnswers(t *testing.T) {
	t.Parallel()
	const denied, unasked = "denied_by_user", "nobody_to_ask"
	for name, tt := range map[string]struct{ answer, want string }{
		"once":              {`"result":{"action":"accept","content":{"answer":"once"}}`, ""},
		"extra field":       {`"result":{"action":"accept","content":{"answer":"once","more":1}}`, ""},
		"empty content":     {`"result":{"action":"accept","content":{}}`, denied},
		"no content":        {`"result":{"action":"accept"}`, denied},
		"null content":      {`"result":{"action":"accept","content":null}`, denied},
		"number":            {`"result":{"action":"accept","content":{"answer":1}}`, denied},
		"boolean":           {`"result":{"action":"accept","content":{"answer":true}}`, denied},
		"null answer":       {`"result":{"action":"accept","content":{"answer":null}}`, denied},
		"list":              {`"result":{"action":"accept","content":{"answer":["once"]}}`, denied},
		"unknown option":    {`"result":{"action":"accept","content":{"answer":"always"}}`, denied},
		"letter case":       {`"result":{"action":"accept","content":{"answer":"ONCE"}}`, denied},
		"reason of a type":  {`"result":{"action":"accept","content":{"answer":"once","reason":3}}`, denied},
		"array as content":  {`"result":{"action":"accept","content":["once"]}`, denied},
		"text as content":   {`"result":{"action":"accept","content":"once"}`, denied},
		"no":                {`"result":{"action":"accept","content":{"answer":"no"}}`, denied},
		"decline":           {`"result":{"action":"decline"}`, denied},
		"decline with once": {`"result":{"action":"decline","content":{"answer":"once"}}`, denied},
		"cancel":            {`"result":{"action":"cancel"}`, denied},
		"unknown action":    {`"result":{"action":"maybe","content":{"answer":"once"}}`, denied},
		"empty result":      {`"result":{}`, denied},
		"error":             {`"error":{"code":-32603,"message":"broken"}`, unasked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.EvalSymlinks(t.TempDir())
			require.NoError(t, err)
			cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "fettle", "mcp", "serve")
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+t.TempDir())
			in, err := cmd.StdinPipe()
			require.NoError(t, err)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			write := func(line string) {
				_, err := in.Write([]byte(line + "\n"))
				require.NoError(t, err)
			}
			write(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"test","version":"1"}}}`)
			write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			write(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"write_file","arguments":{"file_path":"new.txt","content":"x\n"}}}`)
			text := ""
			for lines := bufio.NewScanner(out); text == "" && lines.Scan(); {
				var m struct {
					ID     json.RawMessage
					Method string
					Result struct {
						Content []struct{ Text string }
					}
				}
				require.NoError(t, json.Unmarshal(lines.Bytes(), &m))
				switch {
				case m.Method == "elicitation/create":
					write(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,` + tt.answer + `}`)
				case string(m.ID) == "2":
					text = m.Result.Content[0].Text
				}
			}
			require.NoError(t, in.Close())
			require.NoError(t, cmd.Wait())
			_, err = os.Stat(filepath.Join(dir, "new.txt"))
			if tt.want == "" {
				require.NoError(t, err, text)
				return
			}
			require.ErrorIs(t, err, os.ErrNotExist)
			require.Contains(t, text, "Error "+tt.want+": ")
		})
	}
}
