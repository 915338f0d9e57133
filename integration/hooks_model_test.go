package integration_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// EX-06: the model in the answer of a BeforeModel hook is the model of the request to the
// provider, and of the statistics. The provider stays the same.
func TestHookOverridesModel(t *testing.T) {
	t.Parallel()
	for _, f := range wireFormats {
		for override, want := range map[string]string{"": "test-model", "other-model": "other-model", f.name + ":other-model": "other-model"} {
			t.Run(f.name+" "+override, func(t *testing.T) {
				t.Parallel()
				var mu sync.Mutex
				var asked []string
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					var body struct{ Model string }
					raw, _ := io.ReadAll(r.Body)
					_ = json.Unmarshal(raw, &body)
					if _, name, found := strings.Cut(r.URL.Path, "/models/"); found && body.Model == "" {
						body.Model, _, _ = strings.Cut(name, ":stream")
					}
					mu.Lock()
					asked = append(asked, body.Model)
					mu.Unlock()
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, strings.ReplaceAll(f.speak(wireReply{text: "Hello there."}), "test-model", want))
				}))
				defer server.Close()
				home := t.TempDir()
				require.NoError(t, os.MkdirAll(filepath.Join(home, ".fettle"), 0o755))
				answer := `{}`
				if override != "" {
					answer = `{"hookSpecificOutput": {"llm_request": {"model": "` + override + `"}}}`
				}
				require.NoError(t, os.WriteFile(filepath.Join(home, ".fettle", "hooks.toml"), []byte("[hooks.BeforeModel]\nhooks = [{type = \"command\", command = '''echo '"+answer+"' '''}]\n"), 0o600))
				cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "fettle", "-m", f.name+":test-model", "-p", "Hi", "--output-format", "json")
				cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "HOME="+home)
				for name, value := range f.env(server.URL) {
					cmd.Env = append(cmd.Env, name+"="+value)
				}
				out, err := cmd.Output()
				require.NoError(t, err, string(out))
				var result struct {
					Response string
					Stats    struct{ Models map[string]json.RawMessage }
				}
				require.NoError(t, json.Unmarshal(out, &result))
				require.Equal(t, "Hello there.", result.Response)
				require.Equal(t, []string{want}, asked)
				require.Equal(t, []string{want}, slices.Collect(maps.Keys(result.Stats.Models)))
			})
		}
	}
}
