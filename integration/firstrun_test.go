package integration_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// keyedServer is a model server with OpenAI's API that accepts keys that begin with
// "good". It returns its address.
func keyedServer(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer good"):
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}`)
		case strings.HasSuffix(r.URL.Path, "/models"):
			_, _ = io.WriteString(w, `{"object": "list", "data": [{"id": "small"}, {"id": "openai/gpt-oss-120b"}]}`)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, `data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello from the server."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// UI-05: without a key a session asks for a provider, a key and a model, and starts. The
// next one asks nothing.
func TestFirstRun(t *testing.T) {
	t.Parallel()
	address := keyedServer(t)
	d := newTerminal(t, "GROQ_BASE_URL="+address, "XAI_BASE_URL="+address, "DBUS_SESSION_BUS_ADDRESS=")
	p := d.run("fettle")
	p.shows("no key (GROQ_API_KEY)")
	p.shows("Enter leaves >")
	p.types("groq")
	p.press("Enter")
	p.shows("Key of groq (hidden)")
	p.types("bad-key")
	p.press("Enter")
	p.shows("The key of groq was refused with HTTP status 401")
	p.shows("[k]eep it")
	p.types("r")
	p.press("Enter")
	p.until("the question again", func(screen string) bool { return strings.Count(screen, "Key of groq (hidden)") == 2 })
	p.types("good-key-of-groq")
	p.press("Enter")
	screen := p.shows("Enter takes openai/gpt-oss-120b")
	require.NotContains(t, screen, "bad-key")
	require.NotContains(t, screen, "good-key")
	p.types("sma") // a part of the name
	p.press("Enter")
	p.shows("type a prompt")
	p.types("hello")
	p.press("Enter")
	p.shows("Hello from the server.")
	p.press("C-d")
	require.Equal(t, "0", p.exitCode())
	require.Contains(t, d.read("../.fettle/keys.json"), `"key": "good-key-of-groq"`)
	require.Contains(t, d.read("../.fettle/settings.json"), `"groq:small"`)
	info, err := os.Stat(d.home + "/.fettle/keys.json")
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoDirExists(t, filepath.Join(d.project, ".fettle"))

	again := d.run("fettle")
	again.shows("type a prompt")
	again.press("C-d")
	require.Equal(t, "0", again.exitCode())

	// Leaving the question ends the program with a message.
	left := d.run("fettle", "--model", "xai:grok-4")
	left.shows("Key of xai (hidden)")
	left.press("Enter")
	left.shows("There is no key for xAI. Run fettle setup")
	require.Equal(t, "4", left.exitCode())
}

// UI-05: keys of several providers: the model is asked once.
func TestFirstRunSeveralKeys(t *testing.T) {
	t.Parallel()
	address := keyedServer(t)
	d := newTerminal(t, "GROQ_BASE_URL="+address, "XAI_BASE_URL="+address, "GROQ_API_KEY=good-1", "XAI_API_KEY=good-2", "DBUS_SESSION_BUS_ADDRESS=")
	p := d.run("fettle", "--plain")
	p.shows("Several providers have a key.")
	p.shows("Enter takes 1 >")
	p.types("2")
	p.press("Enter")
	p.shows("New sessions use the model xai:grok-4")
	p.shows("\n>")
	p.press("C-d")
	require.Equal(t, "0", p.exitCode())
	again := d.run("fettle", "--plain")
	screen := again.shows("\n>")
	require.NotContains(t, screen, "Several providers")
	again.press("C-d")
	require.Equal(t, "0", again.exitCode())
}

// UI-05: an unknown directory with effects is asked about before they apply, and the answer
// applies at once.
func TestFirstRunTrust(t *testing.T) {
	t.Parallel()
	const asks = "Trust it? Enter: not now >"
	for answer, want := range map[string]struct{ ran, recorded, again bool }{
		"":  {again: true},
		"d": {recorded: true},
		"s": {ran: true, again: true},
		"t": {ran: true, recorded: true},
	} {
		t.Run("answer "+answer, func(t *testing.T) {
			t.Parallel()
			d := newTerminal(t, "DBUS_SESSION_BUS_ADDRESS=")
			d.write("../turns.json", `{"turns": [{"text": "Done."}]}`)
			d.write(".fettle/settings.json", `{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch ran", "name": "mark"}]}]}}`)
			p := d.run("fettle", "--plain", "--model", "script:../turns.json")
			p.shows("hook on SessionStart")
			p.shows(asks)
			require.NoFileExists(t, d.project+"/ran")
			p.types(answer)
			p.press("Enter")
			p.shows("\n>")
			p.press("C-d")
			require.Equal(t, "0", p.exitCode())
			if want.ran {
				require.FileExists(t, d.project+"/ran")
			} else {
				require.NoFileExists(t, d.project+"/ran")
			}
			_, err := os.Stat(d.home + "/.fettle/trustedFolders.json")
			require.Equal(t, want.recorded, err == nil)
			again := d.run("fettle", "--plain", "--model", "script:../turns.json")
			if want.again {
				again.shows(asks)
				again.press("C-c")
				require.Equal(t, "130", again.exitCode())
				return
			}
			require.NotContains(t, again.shows("\n>"), asks)
			again.press("C-d")
			require.Equal(t, "0", again.exitCode())
		})
	}
}
