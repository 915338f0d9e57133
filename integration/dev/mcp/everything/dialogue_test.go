package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/guard"
	"github.com/fettle-dev/fettle/cli/guard/gateway"
	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
	"github.com/fettle-dev/fettle/core/mcp/server"
)

// TestMain lets the test binary be the server of the dialogues, and the gateway in
// front of it.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv("EVERYTHING_SERVE") != "":
		main()
		return
	case os.Getenv("EVERYTHING_GUARD") != "":
		os.Exit(guard.Main("fettle-guard", gateway.Command()))
	}
	os.Exit(m.Run())
}

// EX-20: dialogues over stdin and stdout, line by line. A dialogue is an archive
// whose files are named by the speaker, in turn. The lines of client are sent. Each
// line of server must arrive, in any order, and match: its content must be contained
// in the message. "*" matches anything. "$NAME" stands for the value of its first
// occurrence, in sent lines too.
func TestDialogues(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			server := exec.CommandContext(t.Context(), os.Args[0])
			server.Env = append(os.Environ(), "EVERYTHING_SERVE=1")
			talk(t, server, archive)
		})
	}
}

// FD-03: behind the gateway of fettle-guard the dialogues are the same.
func TestDialoguesBehindGateway(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	home := t.TempDir()
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			server := exec.CommandContext(t.Context(), os.Args[0], "mcp", "--dir", home, "--grant", "*", "--env", "EVERYTHING_SERVE=1", "--", os.Args[0])
			server.Env = append(os.Environ(), "EVERYTHING_GUARD=1", "HOME="+home)
			talk(t, server, archive)
		})
	}
}

// FD-03: so are those with the server over HTTP. The SDK's server answers an unknown
// method there without a message of the protocol, which one dialogue expects.
func TestDialoguesBehindGatewayOverHTTP(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	home := t.TempDir()
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		if name == "calls" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			e, err := newEverything()
			require.NoError(t, err)
			s := server.New(server.Options{
				Name: "everything", Version: "1.0.0",
				Open: func(context.Context, server.Client) (*mcpservice.Service, error) { return e.service(), nil },
			})
			h := httptest.NewServer(s.Handler(server.HTTPOptions{Stateless: name == "rounds"}))
			t.Cleanup(func() { h.CloseClientConnections(); h.Close() })
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			guarded := exec.CommandContext(t.Context(), os.Args[0], "mcp", "--dir", home, "--grant", "*", "--url", h.URL+server.Path)
			guarded.Env = append(os.Environ(), "EVERYTHING_GUARD=1", "HOME="+home)
			talk(t, guarded, archive)
		})
	}
}

func talk(t *testing.T, server *exec.Cmd, archive *txtar.Archive) {
	var stderr bytes.Buffer
	server.Stderr = &stderr
	in, err := server.StdinPipe()
	require.NoError(t, err)
	out, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	spoken := lines(out)
	known := map[string]any{}
	for _, part := range archive.Files {
		messages := strings.Split(strings.TrimSpace(string(part.Data)), "\n")
		switch part.Name {
		case "client":
			for _, line := range messages {
				for name, value := range known {
					text, err := json.Marshal(value)
					require.NoError(t, err)
					line = strings.ReplaceAll(line, `"`+name+`"`, string(text))
				}
				_, err := fmt.Fprintln(in, line)
				require.NoError(t, err)
			}
		case "server":
			expect(t, messages, spoken, known)
		default:
			t.Fatalf("unknown speaker %q", part.Name)
		}
	}
	require.NoError(t, in.Close())
	for line := range spoken {
		t.Errorf("unexpected line: %s", line)
	}
	require.NoError(t, server.Wait(), "it ends when its client goes; stderr: %s", &stderr)
}

// lines returns the lines of r as they arrive.
func lines(r io.Reader) <-chan string {
	c := make(chan string)
	go func() {
		defer close(c)
		for s := bufio.NewReader(r); ; {
			line, err := s.ReadString('\n')
			if err != nil {
				return
			}
			c <- strings.TrimSuffix(line, "\n")
		}
	}()
	return c
}

// expect receives as many lines as want has, and matches them.
func expect(t *testing.T, want []string, spoken <-chan string, known map[string]any) {
	t.Helper()
	for len(want) > 0 {
		var line string
		select {
		case l, ok := <-spoken:
			require.True(t, ok, "the server has ended; expected: %s", strings.Join(want, "\n"))
			line = l
		case <-time.After(time.Minute):
			require.Fail(t, "nothing came", "expected: %s", strings.Join(want, "\n"))
		}
		var got any
		require.NoError(t, json.Unmarshal([]byte(line), &got), line)
		found := false
		for i, w := range want {
			var pattern any
			require.NoError(t, json.Unmarshal([]byte(w), &pattern), w)
			learned := map[string]any{}
			if found = matches(pattern, got, known, learned); found {
				for name, value := range learned {
					known[name] = value
				}
				want = append(want[:i:i], want[i+1:]...)
				break
			}
		}
		require.True(t, found, "came: %s\nexpected: %s", line, strings.Join(want, "\n"))
	}
}

// matches reports whether got contains want. It records the values of unknown names
// in learned.
func matches(want, got any, known, learned map[string]any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		for key, value := range w {
			inside, there := g[key]
			ok = ok && there && matches(value, inside, known, learned)
		}
		return ok
	case []any:
		g, ok := got.([]any)
		ok = ok && len(g) == len(w)
		for i := range w {
			ok = ok && matches(w[i], g[i], known, learned)
		}
		return ok
	case string:
		if w == "*" {
			return true
		}
		if strings.HasPrefix(w, "$") {
			if value, ok := known[w]; ok {
				return equal(value, got)
			}
			learned[w] = got
			return true
		}
	}
	return equal(want, got)
}

func equal(a, b any) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

// The matcher must reject differences.
func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		want, got string
		ok        bool
	}{
		{`{"a":1}`, `{"a":1,"b":2}`, true},
		{`{"a":1}`, `{"a":2}`, false},
		{`{"a":null}`, `{}`, false},
		{`{"a":[{"b":1}]}`, `{"a":[{"b":1,"c":2}]}`, true},
		{`[1]`, `[1,2]`, false},
		{`[1]`, `{"a":1}`, false},
		{`{}`, `"x"`, false},
		{`{"a":"*"}`, `{"a":[1]}`, true},
		{`{"a":"*"}`, `{}`, false},
		{`["$known"]`, `[7]`, true},
		{`["$known"]`, `[8]`, false},
		{`["$new"]`, `[8]`, true},
	} {
		var want, got any
		require.NoError(t, json.Unmarshal([]byte(tt.want), &want))
		require.NoError(t, json.Unmarshal([]byte(tt.got), &got))
		learned := map[string]any{}
		require.Equal(t, tt.ok, matches(want, got, map[string]any{"$known": 7.0}, learned), "%s %s", tt.want, tt.got)
		if tt.want == `["$new"]` {
			require.Equal(t, map[string]any{"$new": 8.0}, learned)
		}
	}
}
