package process_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/process"
)

// PB-01: commands that only read use the installed go, and no network.
func TestReadOnlyVariables(t *testing.T) {
	s := process.New(process.Options{Environ: func() []string { return []string{"PATH=/usr/bin:/bin", "GOFLAGS=-toolexec=x", "GOPROXY=y"} }})
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	for how, want := range map[process.Confine]string{
		process.ConfineRead:    "local off -mod=readonly 0 cat\n",
		process.ConfineDefault: "local y -toolexec=x 0 cat\n",
	} {
		r, err := s.Run(t.Context(), process.Command{Line: `echo $GOTOOLCHAIN $GOPROXY $GOFLAGS $GIT_OPTIONAL_LOCKS $GIT_PAGER`, Dir: t.TempDir(), Confine: how})
		require.NoError(t, err)
		require.Equal(t, want, r.Text)
	}
}
