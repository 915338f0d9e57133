package shell

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/process"
)

// The result names the restrictions of a confined command that failed, and only those that applied.
func TestConfined(t *testing.T) {
	failed := process.Exit{Code: 1}
	for name, tt := range map[string]struct {
		by   *process.Confinement
		e    process.Exit
		want string
	}{
		"no confinement": {nil, failed, ""},
		"unconfined":     {&process.Confinement{}, failed, ""},
		"a success":      {&process.Confinement{Kind: process.Landlock, NoTCP: true}, process.Exit{}, ""},
		"landlock": {
			&process.Confinement{Kind: process.Landlock}, failed,
			"Note: Commands are confined by landlock: they can write only in the workspace and below $TMPDIR.\n",
		},
		"a signal": {
			&process.Confinement{Kind: process.Landlock, NoTCP: true}, process.Exit{Signal: "SIGSYS"},
			"Note: Commands are confined by landlock: they can write only in the workspace and below $TMPDIR, and open no TCP connection.\n",
		},
		"a container": {
			&process.Confinement{Kind: process.Container, NoTCP: true}, failed,
			"Note: Commands are confined by container: they can write only in the workspace and below $TMPDIR, and reach no network.\n",
		},
		"further directories": {
			&process.Confinement{Kind: process.Landlock, Writable: []string{"/dev/shm", "/a\nb"}}, failed,
			"Note: Commands are confined by landlock: they can write only in the workspace, /dev/shm, \"/a\\nb\" and below $TMPDIR.\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var a answer
			a.confined(tt.by, tt.e)
			require.Equal(t, tt.want, a.b.String())
		})
	}
}
