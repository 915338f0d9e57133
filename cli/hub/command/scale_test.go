package command_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/hub/lease"
	"github.com/fettle-dev/fettle/cli/hub/natsbus"
	"github.com/fettle-dev/fettle/cli/hub/server"
	"github.com/fettle-dev/fettle/cli/hub/service"
	"github.com/fettle-dev/fettle/cli/hub/store"
	"github.com/fettle-dev/fettle/core/bus"
)

// traffic counts messages and bytes by the kind of their subject.
type traffic struct {
	mu    sync.Mutex
	kinds map[string][2]int
	done  chan string // jobs that are done
}

func (c *traffic) add(m *nats.Msg) {
	kind := "other"
	for _, prefix := range []string{"fettle.v1.event", "fettle.v1.ask", "fettle.v1.log", "fettle.v1.ledger", "fettle.v1.job", "fettle.v1.api", "$KV.FETTLE_STATE", "$KV.FETTLE_LEASE", "$JS.API", "$JS.ACK", "$JS.EVENT", "_INBOX"} {
		if strings.HasPrefix(m.Subject, prefix) {
			kind = prefix
		}
	}
	if strings.HasPrefix(m.Reply, "$JS.ACK") {
		kind = "deliveries"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.kinds[kind]
	c.kinds[kind] = [2]int{n[0] + 1, n[1] + m.Size()}
	var j job
	if kind == "$KV.FETTLE_STATE" && json.Unmarshal(m.Data, &j) == nil && j.Status != "queued" && j.Status != "running" {
		c.done <- j.Status
	}
}

// cut returns the text since the last cut.
func (c *traffic) cut() map[string][2]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	kinds := c.kinds
	c.kinds = map[string][2]int{}
	return kinds
}

// HB-06: the cost of a turn and of a call in messages and bytes is bounded: the addition of one call is
// the difference of jobs with many and with no calls.
func TestScaleCalls(t *testing.T) {
	t.Parallel()
	calls := scale(5, 50)
	turns := []string{`{"repeat": "forever", "when": {"prompt": "[none]"}, "text": "Finished."}`}
	turns = append(turns, `{"calls": [{"tool": "read_file", "args": {"file_path": "f.txt"}}]}`)
	for i := range calls {
		turns = append(turns, fmt.Sprintf(`{"calls": [{"tool": "safe_patch", "args": {"file_path": "f.txt", "base_content_sha256": "{{sha256 \"f.txt\"}}", "unified_diff": "@@\n-value %d\n+value %d\n"}}]}`, i, i+1))
	}
	turns = append(turns, `{"text": "Finished."}`) // of the last call
	h, _ := newHub(t, `{"turns": [`+strings.Join(turns, ",\n")+`]}`)
	h.write("f.txt", strings.Repeat("a line of the file\n", 40)+"value 0\n"+strings.Repeat("a line of the file\n", 40))
	h.worker("--approval-mode", "yolo", "--lease", "60s")
	spy := &traffic{kinds: map[string][2]int{}, done: make(chan string, 10)}
	admin := h.connect("admin")
	_, err := admin.Subscribe(">", spy.add)
	require.NoError(t, err)
	require.NoError(t, admin.Flush())
	js, err := jetstream.New(admin)
	require.NoError(t, err)
	stored := func() (all int) {
		for _, name := range []string{"FETTLE_LOG", store.LedgerStream, "KV_FETTLE_STATE"} {
			s, err := js.Stream(t.Context(), name)
			require.NoError(t, err)
			all += int(s.CachedInfo().State.Bytes)
		}
		return all
	}
	run := func(prompt string) map[string][2]int {
		id := h.submit(prompt)
		select {
		case status := <-spy.done:
			require.Equal(t, "done", status, h.job(id).Error)
		case <-time.After(patience):
			require.Fail(t, "not done", "%+v", h.job(id))
		}
		require.NoError(t, admin.Flush())
		return spy.cut()
	}
	run("[none]") // creates the consumer
	kept := stored()
	none := run("[none]")
	keptNone := stored() - kept
	many := run("Patch it.")
	kept = stored() - kept - 2*keptNone
	var messages, bytes float64
	for _, kind := range slices.Sorted(maps.Keys(many)) {
		m, b := float64(many[kind][0]-none[kind][0])/float64(calls), float64(many[kind][1]-none[kind][1])/float64(calls)
		t.Logf("%-16s a turn without a call: %3d messages, %6d bytes; a call adds %5.1f messages, %7.0f bytes", kind, none[kind][0], none[kind][1], m, b)
		messages, bytes = messages+m, bytes+b
	}
	t.Logf("a call adds %.0f messages with %.0f bytes, and keeps %d bytes; a job without a call keeps %d bytes", messages, bytes, kept/calls, keptNone)
	require.Contains(t, h.read("f.txt"), fmt.Sprintf("value %d\n", calls))
	require.Equal(t, 2*calls, many["fettle.v1.ledger"][0]) // begin and end, each once
	require.LessOrEqual(t, messages, 60.0)
	require.LessOrEqual(t, kept/calls, 8<<10)
}

// idle is a session of a worker without a job: its connection, subscriptions, queue and lease.
type idle struct {
	nc    *nats.Conn
	lease *lease.Lease
}

// newIdle returns an idle session of the workspace with a number.
func (c *cluster) newIdle(i int) (*idle, error) {
	nc, err := c.dial("admin", nats.ReconnectBufSize(-1))
	if err != nil {
		return nil, err
	}
	c.t.Cleanup(nc.Close)
	st, err := store.Open(c.t.Context(), nc)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprint("idle", i)
	s := &idle{nc: nc, lease: lease.New(lease.Options{Bucket: st.Leases, Key: name, Owner: name, For: time.Minute})}
	if ok, err := s.lease.Try(c.t.Context()); err != nil || !ok {
		return nil, fmt.Errorf("the lease of %s is taken: %w", name, err)
	}
	b := bus.New(bus.Options{})
	bridge, err := natsbus.Attach(c.t.Context(), nc, b, natsbus.Options{Session: name + ".s"})
	if err != nil {
		return nil, err
	}
	c.t.Cleanup(func() { _ = bridge.Close(); _ = b.Close() })
	queue, err := st.Queue(c.t.Context(), name, time.Minute)
	if err != nil {
		return nil, err
	}
	if _, err := nc.SubscribeSync("fettle.v1.cancel." + name); err != nil {
		return nil, err
	}
	_, err = queue.Messages(jetstream.PullMaxMessages(1))
	return s, err
}

// usage returns the resident memory, the processor time and the bytes written of the running nodes.
func (c *cluster) usage() (memoryBytes int64, cpu time.Duration, written int64) {
	c.t.Helper()
	for _, p := range c.nodes {
		memoryBytes += memory(c.t, p)
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Process.Pid))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		cpu += time.Duration(user+system) * 10 * time.Millisecond
		io, _ := os.ReadFile(fmt.Sprintf("/proc/%d/io", p.Process.Pid))
		if _, rest, ok := strings.Cut(string(io), "\nwrite_bytes: "); ok {
			line, _, _ := strings.Cut(rest, "\n")
			n, _ := strconv.ParseInt(line, 10, 64)
			written += n
		}
	}
	return memoryBytes, cpu, written
}

// HB-06: the cost of idle sessions on a cluster grows with their number only: memory, processor
// time and writes of the servers, without and with the renewal of leases.
func TestScaleSessions(t *testing.T) {
	t.Parallel()
	if os.Getenv("FETTLE_FULL") == "" {
		t.Skip("runs with FETTLE_FULL=1")
	}
	c := newCluster(t, `{"turns": []}`, "always")
	next := 0
	for _, more := range []int{100, 300} {
		before, _, _ := c.usage()
		start := time.Now()
		all := make([]*idle, more)
		var work sync.WaitGroup
		slots := make(chan struct{}, 8)
		for i := range all {
			work.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				var err error
				all[i], err = c.newIdle(next + i)
				if err != nil {
					t.Errorf("session %d: %v", next+i, err)
				}
			})
		}
		work.Wait()
		require.False(t, t.Failed())
		next += more
		created := time.Since(start)
		window := 20 * time.Second
		measure := func() (cpu time.Duration, written int64) {
			_, cpu, written = c.usage()
			time.Sleep(window) // the span that is measured
			_, c1, w1 := c.usage()
			return c1 - cpu, w1 - written
		}
		restCPU, restWritten := measure()
		done := make(chan struct{})
		var renewals atomic.Int64
		for i, s := range all {
			work.Go(func() {
				next := time.NewTimer(time.Duration(i) * 3 * time.Second / time.Duration(len(all)))
				for {
					select {
					case <-done:
						return
					case <-next.C:
						next.Reset(3 * time.Second)
					}
					if s.lease.Renew(t.Context()) == nil {
						renewals.Add(1)
					}
				}
			})
		}
		earlier := renewals.Load()
		busyCPU, busyWritten := measure()
		renewed := renewals.Load() - earlier
		close(done)
		work.Wait()
		after, _, _ := c.usage()
		t.Logf("%d more idle sessions, %d in all: %d kB a session on each server; one is created in %s; at rest %.2f processors and %d kB/s written; with %.0f renewals a second %.2f processors and %d kB/s",
			more, next, (after-before)/int64(more*nodes)>>10, (created / time.Duration(more)).Round(time.Millisecond),
			restCPU.Seconds()/window.Seconds(), restWritten>>10/int64(window.Seconds()), float64(renewed)/window.Seconds(), busyCPU.Seconds()/window.Seconds(), busyWritten>>10/int64(window.Seconds()))
		require.Positive(t, renewed)
		require.Less(t, (after-before)/int64(nodes), int64(300<<20))
	}
}

// HB-06: the time and rate of acknowledged writes, on one server and on three, with and without
// waiting for the disk.
func TestScaleWrites(t *testing.T) {
	t.Parallel()
	data := make([]byte, 700)
	rate := func(name string, js jetstream.JetStream) {
		t.Helper()
		var times []time.Duration
		for range scale(20, 500) {
			start := time.Now()
			_, err := js.Publish(t.Context(), "fettle.v1.ledger.rate", data)
			require.NoError(t, err)
			times = append(times, time.Since(start))
		}
		slices.Sort(times)
		end := time.Now().Add(time.Duration(scale(100, 5000)) * time.Millisecond)
		var written atomic.Int64
		var work sync.WaitGroup
		start := time.Now()
		for i := range 64 {
			work.Go(func() {
				for time.Now().Before(end) {
					if _, err := js.Publish(t.Context(), fmt.Sprint("fettle.v1.ledger.rate", i), data); err == nil {
						written.Add(1)
					}
				}
			})
		}
		work.Wait()
		t.Logf("%s: a write is acknowledged after %s (least %s, 99th percentile %s); 64 writers reach %.0f a second", name, times[len(times)/2].Round(10*time.Microsecond), times[0].Round(10*time.Microsecond), times[len(times)*99/100].Round(10*time.Microsecond), float64(written.Load())/time.Since(start).Seconds())
		require.Positive(t, written.Load())
	}
	for _, noSync := range []bool{true, false} {
		s, err := server.Start(server.Options{Addr: "127.0.0.1:0", Dir: t.TempDir(), NoSync: noSync})
		require.NoError(t, err)
		nc, err := s.Connect()
		require.NoError(t, err)
		js, err := jetstream.New(nc)
		require.NoError(t, err)
		require.NoError(t, store.Setup(t.Context(), js, store.Retention{}))
		rate(fmt.Sprintf("one server, sync %t", !noSync), js)
		nc.Close()
		s.Close()
	}
	if os.Getenv("FETTLE_FULL") == "" {
		return
	}
	for _, sync := range []string{"2m", "always"} {
		c := newCluster(t, `{"turns": []}`, sync)
		rate("three servers, sync_interval "+sync, c.jetstream())
		for _, p := range c.nodes {
			p.kill()
		}
	}
}

// HB-06: the lists of a hub with many jobs are read in bounded time.
func TestScaleJobs(t *testing.T) {
	t.Parallel()
	jobs := scale(300, 10_000)
	s, err := server.Start(server.Options{Addr: "127.0.0.1:0", Dir: t.TempDir(), NoSync: true})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	nc, err := s.Connect()
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	require.NoError(t, store.Setup(t.Context(), js, store.Retention{}))
	st, err := store.Open(t.Context(), nc)
	require.NoError(t, err)
	api, err := service.Start(t.Context(), nc, st)
	require.NoError(t, err)
	t.Cleanup(func() { _ = api.Close() })
	for i := range jobs {
		require.NoError(t, st.Submit(t.Context(), store.Job{ID: fmt.Sprint("j", i), Workspace: fmt.Sprint("w", i%100), Prompt: strings.Repeat("word ", 50), By: "ann"}))
	}
	for _, q := range []struct {
		method string
		r      service.Request
	}{{service.Jobs, service.Request{}}, {service.Logs, service.Request{ID: "j7"}}} {
		var times []time.Duration
		for range 20 {
			start := time.Now()
			_, err := api.Do(t.Context(), q.method, "ann", q.r)
			require.NoError(t, err)
			times = append(times, time.Since(start))
		}
		slices.Sort(times)
		t.Logf("with %d jobs, %s takes %s (median; least %s)", jobs, q.method, times[10].Round(100*time.Microsecond), times[0].Round(100*time.Microsecond))
	}
}
