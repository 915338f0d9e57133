package command_test

import (
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/hub/keys"
)

// HB-02: mistakes of a first use end at once with the remedy, and leave the running hub alone.
func TestMistakes(t *testing.T) {
	t.Parallel()
	h, _ := newHub(t, patchTurns)
	u, err := url.Parse(h.url())
	require.NoError(t, err)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"serve", "--listen", "127.0.0.1:0"}, "another hub uses the directory"},
		{[]string{"serve", "--listen", u.Host, "--dir", filepath.Join(h.home, "second")}, "give another --listen"},
		{[]string{"jobs", "--dir", filepath.Join(h.home, "none")}, "fettle-hub serve creates that of admin"},
		{[]string{"jobs", "--key", filepath.Join(h.home, "none.nk")}, "--key names another file"},
		{[]string{"submit", "x"}, "requires --workspace NAME"},
		{[]string{"worker", "--workspace", filepath.Join(h.home, "none")}, "is not a directory"},
		{[]string{"worker", "--workspace", h.app, "--as", "other", "--key", keys.Dir(h.dir).Seed("w1")}, "does not allow this user to work for the workspace other"},
		{[]string{"logs", "zzz"}, "fettle-hub jobs lists them"},
	} {
		start := time.Now()
		out, err := h.run(tt.args...)
		require.Error(t, err, "%v: %s", tt.args, out)
		require.Contains(t, out, tt.want, "%v", tt.args)
		require.Less(t, time.Since(start), patience/2, "%v", tt.args)
	}
	h.ok("jobs")
}

// HB-02: a new user can work as soon as it is added.
func TestNewUser(t *testing.T) {
	t.Parallel()
	h, _ := newHub(t, patchTurns)
	for _, name := range []string{"v1", "v2", "v3"} {
		h.ok("jobs", "--key", h.ok("keys", "add", name, "--role", "viewer"))
	}
	h.ok("keys", "add", "elsewhere", "--role", "viewer", "--dir", filepath.Join(h.home, "another hub, which does not run"))
}

// HB-02: a worker whose user is removed ends with the reason.
func TestRemovedWorker(t *testing.T) {
	t.Parallel()
	h, _ := newHub(t, patchTurns)
	p := h.worker()
	eventually(t, func() bool { return h.read("f.txt") != "" && len(p.out.String()) > 0 })
	require.NoError(t, keys.Dir(h.dir).Remove("w1"))
	select {
	case <-p.done:
	case <-time.After(patience):
		require.Fail(t, "the worker still runs", p.out)
	}
	require.Equal(t, 1, p.ProcessState.ExitCode())
	require.Contains(t, p.out.String(), "the hub refuses the key of this worker")
}

// HB-02: a worker that starts before its hub, or while the hub is restarted, waits for it.
func TestWorkerBeforeHub(t *testing.T) { // not parallel: the others might take its port
	h, serving := newHub(t, patchTurns)
	u, err := url.Parse(h.url())
	require.NoError(t, err)
	serving.kill()
	dying, err := net.Listen("tcp", u.Host) // a hub that is killed before it answers
	require.NoError(t, err)
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		c, err := dying.Accept()
		if err == nil {
			_ = c.(*net.TCPConn).SetLinger(0) // a reset
			_ = c.Close()
		}
	}()
	p := h.worker("--approval-mode", "yolo", "--nats", "nats://"+u.Host)
	<-accepted
	require.NoError(t, dying.Close()) // now connections are refused
	eventually(t, func() bool { return strings.Contains(p.out.String(), "The worker waits for it.") })
	h.serve("--listen", u.Host)
	h.ends(h.submit("Make it loud."), "done")
	require.Equal(t, 1, strings.Count(p.out.String(), "no hub answers"), p.out)
}
