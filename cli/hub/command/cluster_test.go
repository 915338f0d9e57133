package command_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/hub/keys"
	"github.com/fettle-dev/fettle/cli/hub/natsbus"
	"github.com/fettle-dev/fettle/cli/hub/store"
	"github.com/fettle-dev/fettle/core/bus"
)

// nodeProgram is the name under which the test binary is a NATS server with a configuration file.
const nodeProgram = "nats-node"

// serveNode serves until the process is killed.
func serveNode(config string) int {
	o, err := natsserver.ProcessConfigFile(config)
	if err == nil {
		o.NoLog, o.NoSigs = true, true
		var s *natsserver.Server
		if s, err = natsserver.NewServer(o); err == nil {
			s.Start()
			s.WaitForShutdown()
			return 0
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// cluster is a hub on three NATS servers, each a process.
type cluster struct {
	*hub
	names []string
	nodes map[string]*process // running ones, by name
}

const nodes = 3

// newCluster starts three servers with the users of a hub, and the hub. sync is the setting of the
// servers: always, or a duration.
func newCluster(t testing.TB, turns, sync string, users ...keys.User) *cluster {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	c := &cluster{hub: &hub{t: t, home: filepath.Join(root, "home"), dir: filepath.Join(root, "hub"), app: filepath.Join(root, "app")}, nodes: map[string]*process{}}
	require.NoError(t, os.MkdirAll(c.home, 0o700))
	require.NoError(t, os.MkdirAll(c.app, 0o700))
	c.write("../turns.json", turns)
	c.write("f.txt", "one\ntwo\n")
	c.ok("keys", "add", "admin", "--role", "admin")
	for _, u := range append(users, keys.User{Name: "w1", Roles: []keys.Role{keys.Worker}, Workspace: "app"}) {
		_, err := keys.Dir(c.dir).Add(u)
		require.NoError(t, err)
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "users.conf"), []byte(c.ok("keys", "config")), 0o600))
	var urls, routes []string
	ports := freePorts(t, 2*nodes)
	for i := range nodes {
		urls, routes = append(urls, "nats://"+ports[i]), append(routes, "nats://"+ports[nodes+i])
	}
	for i := range nodes {
		name := fmt.Sprint("n", i+1)
		config := fmt.Sprintf("server_name: %s\nlisten: %q\nmax_payload: 8MB\njetstream { store_dir: %q, sync_interval: %s }\ncluster { name: hub, listen: %q, routes: [%s] }\ninclude users.conf\n",
			name, ports[i], filepath.Join(root, name), sync, ports[nodes+i], `"`+strings.Join(routes, `", "`)+`"`)
		require.NoError(t, os.WriteFile(filepath.Join(root, name+".conf"), []byte(config), 0o600))
		c.names = append(c.names, name)
		c.startNode(name)
	}
	c.nats = strings.Join(urls, ",")
	eventually(t, func() bool { // a majority has elected a leader
		nc, err := c.dial("admin")
		if err != nil {
			return false
		}
		defer nc.Close()
		js, err := jetstream.New(nc)
		if err != nil {
			return false
		}
		_, err = js.AccountInfo(t.Context())
		return err == nil
	})
	p := c.start("serve", "--replicas", fmt.Sprint(nodes))
	eventually(t, func() bool { return strings.Contains(p.out.String(), "serving at") })
	return c
}

func freePorts(t testing.TB, n int) (all []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		all = append(all, l.Addr().String())
	}
	return all
}

func (c *cluster) startNode(name string) {
	c.t.Helper()
	exe, err := os.Executable()
	require.NoError(c.t, err)
	cmd := exec.Command(exe)
	cmd.Args = []string{nodeProgram, filepath.Join(filepath.Dir(c.app), name+".conf")}
	c.nodes[name] = c.startCommand(cmd)
}

func (c *cluster) jetstream(more ...nats.Option) jetstream.JetStream {
	c.t.Helper()
	js, err := jetstream.New(c.connect("admin", more...), jetstream.WithDefaultTimeout(patience))
	require.NoError(c.t, err)
	return js
}

// leader returns the name of the server that leads a stream; "": there is none.
func (c *cluster) leader(js jetstream.JetStream, stream string) string {
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Second)
	defer cancel()
	s, err := js.Stream(ctx, stream)
	if err != nil || s.CachedInfo().Cluster == nil {
		return ""
	}
	return s.CachedInfo().Cluster.Leader
}

// HB-06: on a cluster of three servers, a job is done and the ledger is whole although the server
// that leads the queue is killed while its question is open. With FETTLE_FULL, leaders are killed
// repeatedly, and the time until a write is acknowledged again is reported.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t, patchTurns, "always")
	questions := c.approver(func(*natsbus.Question) bus.Answer { return nil })
	c.worker("--lease", "60s") // longer than elections take on a busy machine
	id := c.submit("Make it loud.")
	q := <-questions
	js := c.jetstream()
	dead := c.leader(js, "FETTLE_JOBS")
	require.NotEmpty(t, dead)
	c.nodes[dead].kill()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for { // the server that had the request or its answer may be the one that was killed
		one, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := q.Answer(one, yes(q))
		cancel()
		if err == nil || errors.Is(err, bus.ErrAnswered) { // of an earlier try
			break
		}
		require.NoError(t, ctx.Err())
	}
	c.ends(id, "done")
	require.Equal(t, "one\nTWO\n", c.read("f.txt"))
	require.Contains(t, c.ok("verify"), "3 entries are valid, 0 expired, 0 calls without an end")
	c.startNode(dead)

	var outages []time.Duration
	for i := range scale(0, 10) {
		eventually(t, func() bool { return c.replicated(js) })
		name := c.leader(js, store.LedgerStream)
		c.nodes[name].kill()
		killed := time.Now()
		for {
			one, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			_, err := js.Publish(one, fmt.Sprint("fettle.v1.ledger.outage", i), []byte("{}"))
			cancel()
			if err == nil {
				break
			}
			require.Less(t, time.Since(killed), patience)
		}
		outages = append(outages, time.Since(killed))
		c.startNode(name)
	}
	if len(outages) > 0 {
		slices.Sort(outages)
		t.Logf("after the kill of the leader of a stream a write is acknowledged after %s (median of %d; %s to %s)", outages[len(outages)/2].Round(10*time.Millisecond), len(outages), outages[0].Round(10*time.Millisecond), outages[len(outages)-1].Round(10*time.Millisecond))
	}
}

// replicated reports whether all servers have the ledger.
func (c *cluster) replicated(js jetstream.JetStream) bool {
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Second)
	defer cancel()
	s, err := js.Stream(ctx, store.LedgerStream)
	if err != nil {
		return false
	}
	info := s.CachedInfo().Cluster
	return info != nil && info.Leader != "" && len(info.Replicas) == nodes-1 &&
		!slices.ContainsFunc(info.Replicas, func(p *jetstream.PeerInfo) bool { return p.Offline || !p.Current })
}
