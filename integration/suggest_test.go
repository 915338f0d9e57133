package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// PB-04: a session in which the user approves commands one by one; the suggested
// rule is saved once the user agrees, its tests pass, and a second session with
// similar commands asks nothing about them.
func TestPolicySuggest(t *testing.T) {
	t.Parallel()
	d := newTerminal(t)
	d.write("../first.json", `{"turns": [
		{"calls": [{"tool": "run_shell_command", "args": {"command": "touch a.txt"}}]},
		{"calls": [{"tool": "run_shell_command", "args": {"command": "touch b.txt"}}]},
		{"calls": [{"tool": "run_shell_command", "args": {"command": "mkdir refused"}}]},
		{"text": "The first is done."}
	]}`)
	d.write("../second.json", `{"turns": [
		{"calls": [{"tool": "run_shell_command", "args": {"command": "touch c.txt"}}]},
		{"calls": [{"tool": "run_shell_command", "args": {"command": "mkdir refused"}}]},
		{"text": "The second is done."}
	]}`)
	p := d.run("fettle", "--model", "script:../first.json")
	p.shows("type a prompt")
	p.types("Make files.")
	p.press("Enter")
	for _, command := range []string{"touch a.txt", "touch b.txt"} {
		p.shows(command)
		p.shows(asks)
		p.press("y")
	}
	p.shows("mkdir refused")
	p.shows(asks)
	p.press("n")
	p.shows("What should be done instead?")
	p.press("Enter")
	p.shows("The first is done.")
	p.types("/stats")
	p.press("Enter")
	p.shows("3 asked, 0 free, 0 confined, 1 refused")
	p.types("/quit")
	p.press("Enter")
	require.Equal(t, "0", p.exitCode())

	p = d.run("fettle", "policy", "suggest")
	p.shows("commands that begin with touch")
	p.shows("touch-other")
	p.press("n", "Enter")
	require.Equal(t, "0", p.exitCode())
	require.NoFileExists(t, d.home+"/.fettle/policies/auto-saved.toml")

	p = d.run("fettle", "policy", "suggest")
	p.shows("[n]o")
	p.press("y", "Enter")
	require.Equal(t, "0", p.exitCode())
	saved := d.read("../.fettle/policies/auto-saved.toml")
	require.Contains(t, saved, `commandPrefix = "touch"`)
	require.NotContains(t, saved, "mkdir")

	p = d.run("fettle", "policy", "test")
	p.shows("2 passed, 0 failed")
	require.Equal(t, "0", p.exitCode())

	p = d.run("sh", "-c", "fettle --model script:../second.json --output-format json -p More. > ../result.json")
	require.Equal(t, "0", p.exitCode())
	require.FileExists(t, d.project+"/c.txt")
	require.Contains(t, d.read("../result.json"), `"free": 1`)
	require.Contains(t, d.read("../result.json"), `"refused": 1`, "it was not approved")
}
