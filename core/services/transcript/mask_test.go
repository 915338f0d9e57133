package transcript_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/transcript"
)

// Known secrets reach no file: neither texts, arguments and saved files, nor results, which are
// JSON in a string.
func TestSecretsAreMasked(t *testing.T) {
	secrets := []string{"sk-0123456789abcdef", "sk-0123456789abcdef-longer", `quo"te\d<&>é` + "\n\t secret", "1234567890123"}
	s, dir := store(t, func(o *transcript.Options) { o.Secrets = secrets })
	w := create(t, s, "one")
	for _, secret := range secrets {
		state, err := json.Marshal(map[string]string{"file_path": "/.env", "content": "KEY=" + secret + "\n"})
		require.NoError(t, err)
		output, err := json.Marshal(map[string]string{"output": string(state)})
		require.NoError(t, err)
		raw, err := json.Marshal(secret)
		require.NoError(t, err)
		require.NoError(t, w.Append(t.Context(), transcript.Turn{Content: user("my key is " + secret + ".")}))
		require.NoError(t, w.Append(t.Context(), transcript.Turn{Content: content("model", map[string]any{
			"functionCall": map[string]any{"id": "c", "name": "run_shell_command", "args": map[string]any{"command": "curl -H " + secret, secret: 1}},
		})}))
		require.NoError(t, w.Append(t.Context(), transcript.Turn{
			Content: content("user", map[string]any{"functionResponse": map[string]any{"id": "c", "name": "x", "response": json.RawMessage(output)}}),
			Calls: []transcript.ToolCall{{
				ID: "c", Name: "x", Args: json.RawMessage(raw), Display: json.RawMessage(raw), Error: json.RawMessage(raw), Decision: json.RawMessage(raw), Notices: []string{secret},
			}},
			Usage: json.RawMessage(raw),
		}))
		require.NoError(t, w.SetTitle(t.Context(), secret))
		_, err = w.Save(t.Context(), "x", []byte("before "+secret+" after"))
		require.NoError(t, err)
	}
	numbers := json.RawMessage(`{"role":"user","parts":[{"text":"n"}],"n":[1234567890123,9007199254740993]}`)
	require.NoError(t, w.Append(t.Context(), transcript.Turn{Content: numbers}))
	require.NoError(t, w.Replace(t.Context(), append(load(t, s, "one").History(), user(secrets[0])), 0))

	got := load(t, s, "one")
	require.Empty(t, got.Problems)
	require.Len(t, got.Turns, 3*len(secrets)+2)
	require.Equal(t, "my key is [masked].", texts(t, got.History())[0])
	require.Equal(t, "my key is [masked].", texts(t, got.History())[3], "the longer one as a whole")
	require.JSONEq(t, `{"role":"user","parts":[{"text":"n"}],"n":["[masked]",9007199254740993]}`, string(got.Turns[3*len(secrets)].Content))
	require.Contains(t, string(got.Turns[3*len(secrets)].Content), "9007199254740993", "other numbers keep their digits")

	files := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		require.NoError(t, err)
		if e.IsDir() {
			return nil
		}
		files++
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, piece := range []string{"sk-0123456789", "-longer", `quo`, "1234567890123"} {
			require.NotContains(t, string(data), piece, path)
		}
		require.Contains(t, string(data), "[masked]")
		return nil
	}))
	require.Equal(t, 1+len(secrets), files, "the recording and what was saved")
}

// The minimum length of a masked value is that of other outputs.
func TestShortSecrets(t *testing.T) {
	s, _ := store(t, func(o *transcript.Options) { o.Secrets = []string{"pin-42", "pin42"} })
	w := create(t, s, "one")
	require.NoError(t, w.Append(t.Context(), transcript.Turn{Content: json.RawMessage(`{"role":"user","parts":[{"text":"pin-42 pin42"}]}`)}))
	require.JSONEq(t, `{"role":"user","parts":[{"text":"[masked] pin42"}]}`, string(load(t, s, "one").Turns[0].Content))
}

// Content without a secret is recorded byte for byte, in whatever form.
func TestNothingElseIsMasked(t *testing.T) {
	s, _ := store(t, func(o *transcript.Options) { o.Secrets = []string{"", "a", "text", "role", "sk-0123456789abcdef"} })
	w := create(t, s, "one")
	raw := json.RawMessage(`{"role":"user","parts":[{"text":"a \u003c \u00e9 text role 1.0e+2"}]}`)
	require.NoError(t, w.Append(t.Context(), transcript.Turn{Content: raw}))
	require.Equal(t, string(raw), string(load(t, s, "one").Turns[0].Content))
}
