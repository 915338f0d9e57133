package transcript_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/transcript"
)

// The secrets of these tests are assembled here, so that no scanner takes them for real ones.
var (
	line64   = strings.Repeat("MIIEvQ+/", 8)
	pemBlock = "-----BEGIN RSA PRIVATE " + "KEY-----\nProc-Type: 4,ENCRYPTED\n\n" + line64 + "\n" + line64 + "\nAb==\n-----END RSA PRIVATE " + "KEY-----"
	shaped   = map[string]string{
		"pem":          pemBlock,
		"pem, windows": strings.ReplaceAll(pemBlock, "\n", "\r\n"),
		"pem, cut":     "-----BEGIN PRIVATE " + "KEY-----\n" + line64 + "\n" + line64,
		"aws":          "AKIA" + "IOSFODNN7EXAMPLE",
		"aws, short":   "ASIA" + "IOSFODNN7EXAMPLE",
		"github":       "ghp_" + strings.Repeat("aB3d", 9),
		"github fine":  "github_pat_" + strings.Repeat("aB3_", 20),
		"gitlab":       "glpat-" + strings.Repeat("a-B3", 5),
		"openai":       "sk-" + strings.Repeat("abcd", 12),
		"anthropic":    "sk-ant-api03-" + strings.Repeat("x-Y_z", 12),
		"slack":        "xoxb-" + "1234567890-abcdefABCDEF",
		"google":       "AIza" + strings.Repeat("aB3-_", 7),
		"npm":          "npm_" + strings.Repeat("aB3d", 9),
		"hugging face": "hf_" + strings.Repeat("aB", 17),
		"jwt":          "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0." + strings.Repeat("dozjg-_", 6),
	}
)

// Texts with the pattern of a secret are masked at any depth of JSON in strings, and the text
// around them stays.
func TestShapesAreMasked(t *testing.T) {
	s, _ := store(t)
	for name, secret := range shaped {
		t.Run(name, func(t *testing.T) {
			id := strings.NewReplacer(" ", "-", ",", "").Replace(name)
			w := create(t, s, id)
			for _, around := range []string{" ", "\n", "\t", "\"", "=", "<", "/"} {
				said := "é" + around + secret + "\n" + secret + "\n\"'after"
				want := "é" + around + "[masked]\n[masked]\n\"'after"
				for range 4 {
					require.NoError(t, w.Append(t.Context(), transcript.Turn{Content: user(said)}))
					turns := load(t, s, id).History()
					require.Equal(t, want, texts(t, turns)[len(turns)-1])
					said, want = quoted(said), quoted(want)
				}
			}
			raw := json.RawMessage(quoted(secret))
			require.NoError(t, w.Append(t.Context(), transcript.Turn{Content: user("x"), Calls: []transcript.ToolCall{{Args: raw, Display: raw, Notices: []string{secret}}}}))
			require.NoError(t, w.SetTitle(t.Context(), secret))
			saved, err := w.Save(t.Context(), "x", []byte("a\n"+secret+"\nb"))
			require.NoError(t, err)
			require.NoError(t, w.Replace(t.Context(), append(load(t, s, id).History(), user(secret)), 0))
			for _, path := range []string{w.Path(), saved} {
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				require.NotContains(t, string(data), secret[len(secret)-20:len(secret)-5])
				require.Contains(t, string(data), "[masked]")
			}
			require.Empty(t, load(t, s, id).Problems)
		})
	}
}

func quoted(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// Of a URL only the password is masked.
func TestPasswordsInURLsAreMasked(t *testing.T) {
	s, _ := store(t)
	w := create(t, s, "one")
	for said, want := range map[string]string{
		"\nhttps://me:hunter2&x@example.com/a?b=c@d":   "\nhttps://me:[masked]@example.com/a?b=c@d",
		"postgres://u:p%40ss@db:5432/x, redis://:pw@h": "postgres://u:[masked]@db:5432/x, redis://:[masked]@h",
	} {
		for range 3 {
			require.NoError(t, w.Append(t.Context(), transcript.Turn{Content: user(said)}))
			turns := load(t, s, "one").History()
			require.Equal(t, want, texts(t, turns)[len(turns)-1])
			said, want = quoted(said), quoted(want)
		}
	}
}

// Texts that only resemble a secret are recorded byte for byte, and so is base64 data of any
// content.
func TestNothingOfAnotherShapeIsMasked(t *testing.T) {
	s, _ := store(t)
	w := create(t, s, "one")
	for _, text := range []string{
		"risk-" + strings.Repeat("assessment-", 4), ".sk-fading-circle-of-small-dots", "sk-short", "ghp_", "AKIA", "XAKIA" + "IOSFODNN7EXAMPLE",
		"-----BEGIN PRIVATE " + "KEY----- is how it begins", "-----BEGIN CERTIFICATE-----\n" + line64 + "\n-----END CERTIFICATE-----",
		"eyJhbGciOiJIUzI1NiJ9", "a.b.c", "https://host:8080/@scope/x", "https://me@host", "https://u:$PASSWORD@h and https://u:${P}@h and https://u:%s@h",
		"git@host:me/it", "npm_config_registry_of_this_project_here", "hf_hub_download_of_a_repository_and_more", "xox", "mail: a@b.example",
		"sha256-" + strings.Repeat("ab12", 16), strings.Repeat("ab12", 10),
	} {
		require.NoError(t, w.Append(t.Context(), transcript.Turn{Content: user(text)}))
		turns := load(t, s, "one").Turns
		require.Equal(t, string(user(text)), string(turns[len(turns)-1].Content))
	}
	data := "////AKIA" + "IOSFODNN7EXAMPLE"
	_, err := base64.StdEncoding.DecodeString(data)
	require.NoError(t, err)
	raw := content("user",
		map[string]any{"data": map[string]any{"mimeType": "image/png", "data": data}},
		map[string]any{"functionResponse": map[string]any{"id": "c", "name": "n", "data": []any{map[string]any{"mimeType": "image/png", "data": data}}}},
		map[string]any{"text": "x", "signature": data})
	require.NoError(t, w.Append(t.Context(), transcript.Turn{Content: raw}))
	turns := load(t, s, "one").Turns
	require.Equal(t, string(raw), string(turns[len(turns)-1].Content))
	beside := content("user", map[string]any{"data": map[string]any{"mimeType": "image/png", "data": data}}, map[string]any{"text": "key " + shaped["aws, short"]})
	require.NoError(t, w.Append(t.Context(), transcript.Turn{Content: beside}))
	turns = load(t, s, "one").Turns
	require.Equal(t, strings.Replace(string(beside), shaped["aws, short"], "[masked]", 1), string(turns[len(turns)-1].Content))
}
