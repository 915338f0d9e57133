package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// UI-05: trust that is given in a session acts at once, on the screen and in lines. The
// hooks of the project run, and the conversation goes on.
func TestTerminalTrust(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"screen", "lines"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			d := newTerminal(t, "DBUS_SESSION_BUS_ADDRESS=")
			d.write("../turns.json", `{"turns": [{"text": "Hello there."}]}`)
			d.write(".fettle/settings.json", `{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch ran", "name": "mark"}]}]}}`)
			arguments, ready, question := []string{"fettle", "--model", "script:../turns.json"}, "type a prompt", asks
			if kind == "lines" {
				arguments, ready, question = append(arguments, "--plain"), "\n>", "[n]o >"
			}
			p := d.run(arguments...)
			p.shows("Trust it? Enter: not now >")
			p.press("Enter")
			p.shows(ready)
			p.types("Say hello")
			p.press("Enter")
			p.shows("Hello there.")
			p.shows(ready)
			p.types("/permissions trust")
			p.press("Enter")
			p.shows("hook on SessionStart")
			p.shows(question)
			require.NoFileExists(t, d.project+"/ran")
			p.types("y")
			if kind == "lines" {
				p.press("Enter")
			}
			shown := p.shows("have ended.")
			if kind == "screen" {
				require.Contains(t, shown, "Hello there.")
			}
			require.FileExists(t, d.project+"/ran")
			p.shows(ready)
			p.press("C-d")
			require.Equal(t, "0", p.exitCode())
			require.FileExists(t, d.home+"/.fettle/trustedFolders.json")
		})
	}
}
