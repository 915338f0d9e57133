//go:build unix

package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// TestDialogues compares whole conversations with testdata/*.txtar.
func TestDialogues(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			settled(t)
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			parts := map[string]string{}
			for _, f := range archive.Files {
				parts[f.Name] = string(f.Data)
			}
			var got []string
			say := func(format string, a ...any) { got = append(got, fmt.Sprintf(format, a...)) }
			s := dial(t, peerSpec(t, "dialogue", parts["dialogue"]), mcp.Handlers{Elicit: func(_ context.Context, e host.Elicitation) (host.Elicited, error) {
				say("asked %s", e.Message)
				return host.Elicited{Action: host.ElicitAccept, Content: json.RawMessage(`{"name":"Ada"}`)}, nil
			}})
			name, args, _ := strings.Cut(strings.TrimSpace(parts["call"]), " ")
			r, err := s.Call(t.Context(), name, json.RawMessage(args), func(p host.Progress) { say("progress %v of %v", p.Done, p.Total) })
			require.NoError(t, err, "%v", s.Stderr())
			say("%s", r.Content[0].Text)
			require.Equal(t, strings.TrimSpace(parts["want"]), strings.Join(got, "\n"))
		})
	}
}

// converse is a server that plays its part of a dialogue and exits if the client
// deviates.
func converse(dialogue string) {
	in := bufio.NewReader(os.Stdin)
	id, token := "", ""
	for line := range strings.Lines(dialogue) {
		rest := strings.TrimSpace(line[min(1, len(line)):])
		switch line[0] {
		case '<':
			fmt.Println(strings.NewReplacer("$ID", id, "$TOKEN", token).Replace(rest))
		case '>':
			text, err := in.ReadBytes('\n')
			if err != nil {
				os.Exit(0)
			}
			m := messageOf(text)
			if m.Method != "" && len(m.ID) > 0 {
				id, token = string(m.ID), string(m.Params.Meta.ProgressToken)
			}
			if !holds(exactly(string(text)), exactly(rest)) {
				fmt.Fprintf(os.Stderr, "want %s, got %s", rest, text)
				os.Exit(98)
			}
		}
	}
	_, _ = in.WriteTo(devNull{})
}

type devNull struct{}

func (devNull) Write(p []byte) (int, error) { return len(p), nil }

func exactly(text string) any {
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	_ = d.Decode(&v)
	return v
}

// holds reports whether got contains everything in want; lists must be equal.
func holds(got, want any) bool {
	fields, ok := want.(map[string]any)
	if !ok {
		return reflect.DeepEqual(got, want)
	}
	has, ok := got.(map[string]any)
	for name, value := range fields {
		ok = ok && holds(has[name], value)
	}
	return ok
}
