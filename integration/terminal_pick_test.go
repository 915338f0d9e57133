package integration_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Lists in a real terminal (UI-04): an earlier session is continued, then a model that a
// server lists is selected; Esc selects nothing.
func TestTerminalLists(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			_, _ = io.WriteString(w, `{"object": "list", "data": [{"id": "local-one"}, {"id": "local-two"}]}`)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(server.Close)
	d := newTerminal(t, "OPENAI_BASE_URL="+server.URL+"/v1", "OPENAI_API_KEY=none")
	d.write("../turns.json", `{"turns": [{"text": "The first answer."}, {"text": "The second answer."}]}`)
	p := d.run("fettle", "--model", "script:../turns.json")
	p.shows("type a prompt")
	p.types("The first prompt")
	p.press("Enter")
	p.shows("The first answer.")
	p.shows("type a prompt")
	p.types("/clear")
	p.press("Enter")
	p.until("an empty screen", func(screen string) bool {
		return !strings.Contains(screen, "The first") && strings.Contains(screen, "type a prompt")
	})
	p.types("/resume")
	p.press("Enter")
	p.shows("Sessions of this project")
	p.types("frst")
	p.shows("> The first prompt")
	p.press("Enter")
	p.shows("● The first answer.")
	p.shows("type a prompt")

	p.types("/model")
	p.press("Enter")
	p.shows("filter:")
	p.press("Escape")
	p.until("no list", func(screen string) bool { return !strings.Contains(screen, "filter:") })
	p.types("/model")
	p.press("Enter")
	p.shows("filter:")
	p.types("two")
	screen := p.shows("> openai:local-two")
	require.NotContains(t, screen, "local-one")
	p.press("Enter")
	p.shows("The model is openai:local-two for this session.")
}
