package command_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/hub/keys"
	"github.com/fettle-dev/fettle/cli/hub/natsbus"
	"github.com/fettle-dev/fettle/core/bus"
)

// scale returns the large number if FETTLE_FULL is set.
func scale(small, large int) int {
	if os.Getenv("FETTLE_FULL") != "" {
		return large
	}
	return small
}

// proxy is a network between a worker and the hub that can be cut.
type proxy struct {
	net.Listener
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

// newProxy forwards to the address of a URL.
func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	u, err := url.Parse(target)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{Listener: l}
	var copies sync.WaitGroup
	copies.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", u.Host)
			if err != nil {
				_ = from.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, from, to)
			p.mu.Unlock()
			for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
				copies.Go(func() {
					buffer := make([]byte, 32<<10)
					for {
						n, err := pair[0].Read(buffer)
						p.mu.Lock()
						cut := p.cut
						p.mu.Unlock()
						if cut { // packets vanish; the connection seems to live
							_, _ = io.Copy(io.Discard, pair[0])
							return
						}
						if _, written := pair[1].Write(buffer[:n]); err != nil || written != nil {
							_ = pair[1].Close()
							return
						}
					}
				})
			}
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		copies.Wait()
	})
	return p
}

func (p *proxy) sever() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
}

// HB-06: a worker that is cut off for longer than its lease commits nothing, although it still
// runs; the next worker finishes the job, and the ledger of both is one chain.
func TestPartition(t *testing.T) {
	t.Parallel()
	const wait = `{"calls": [{"tool": "run_shell_command", "args": {"command": "echo x >> started; for i in $(seq 200); do [ -e go ] && break; sleep 0.05; done"}}]}`
	h, _ := newHub(t, strings.Replace(patchTurns, `{"turns": [`, `{"turns": [`+wait+`, `, 1))
	p := newProxy(t, h.url())
	cutOff := h.worker("--approval-mode", "yolo", "--nats", "nats://"+p.Addr().String())
	id := h.submit("Make it loud.")
	eventually(t, func() bool { return h.read("started") != "" })
	p.sever()
	questions := h.approver(func(q *natsbus.Question) bus.Answer {
		if strings.Contains(q.Message.(bus.AskUserRequest).Questions[0].Question, "Run it again?") {
			h.write("go", "") // the first worker may continue now
			return bus.AskUserResponse{CorrelationID: q.ID, Answers: map[string]string{"0": "no"}}
		}
		return yes(q)
	})
	h.worker("--approval-mode", "yolo")
	<-questions
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%+v\n%s", h.job(id), h.ok("logs", id))
		}
	})
	h.ends(id, "done")
	require.Equal(t, "one\nTWO\n", h.read("f.txt"))
	require.Equal(t, "x\n", h.read("started"))
	require.Contains(t, cutOff.out.String(), "The lease of the workspace is lost.")
	logs := h.ok("logs", id)
	require.Equal(t, 1, strings.Count(logs, "safe_patch: success"), logs)
	require.Contains(t, h.ok("verify"), "1 calls without an end")
}

// HB-06: workers and servers are killed while jobs run. All jobs are done, and no edit is lost or
// doubled.
func TestKills(t *testing.T) {
	t.Parallel()
	workers, jobs, workerKills, serverKills := scale(2, 3), scale(40, 200), scale(4, 50), scale(2, 10)
	var turns []string
	for i := range jobs {
		file, prompt := fmt.Sprintf("j%d.txt", i), fmt.Sprintf("[job %d]", i)
		turns = append(turns,
			fmt.Sprintf(`{"repeat": "forever", "when": {"prompt": %q, "tool": "read_file", "result": "line", "ok": true}, "text": "Finished."}`, prompt),
			fmt.Sprintf(`{"repeat": "forever", "when": {"prompt": %q, "tool": "read_file", "ok": true}, "calls": [{"tool": "safe_patch", "args": {"file_path": %q, "base_content_sha256": "{{sha256 \"%s\"}}", "unified_diff": "@@\n zero\n+line\n"}}]}`, prompt, file, file),
			fmt.Sprintf(`{"repeat": "forever", "when": {"prompt": %q, "tool": "safe_patch", "ok": true}, "text": "Finished."}`, prompt),
			fmt.Sprintf(`{"repeat": "forever", "when": {"prompt": %q}, "calls": [{"tool": "read_file", "args": {"file_path": %q}}]}`, prompt, file),
		)
	}
	h, serving := newHub(t, `{"turns": [`+strings.Join(turns, ",\n")+`]}`)
	u, err := url.Parse(h.url())
	require.NoError(t, err)
	var running []*process
	var dirs []string
	start := func(i int) *process {
		name := fmt.Sprint("k", i)
		return h.start("worker", "--workspace", dirs[i], "--as", name, "--key", keys.Dir(h.dir).Seed(name), "--lease", "1s", "--approval-mode", "yolo", "-m", "script:"+filepath.Join(h.app, "../turns.json"))
	}
	for i := range workers {
		name := fmt.Sprint("k", i)
		dirs = append(dirs, filepath.Join(h.home, name))
		require.NoError(t, os.Mkdir(dirs[i], 0o700))
		h.addUser(keys.User{Name: name, Roles: []keys.Role{keys.Worker}, Workspace: name})
	}
	next := make([]int, workers) // job of each worker that is submitted next
	submit := func(i, n int) {
		for ; n > 0 && next[i]*workers+i < jobs; n-- {
			one := next[i]*workers + i
			require.NoError(t, os.WriteFile(filepath.Join(dirs[i], fmt.Sprintf("j%d.txt", one)), []byte("zero\n"), 0o600))
			h.ok("submit", "--workspace", fmt.Sprint("k", i), fmt.Sprintf("[job %d]", one))
			next[i]++
		}
	}
	for i := range workers {
		running = append(running, start(i))
	}
	most := jobs/(workerKills+serverKills) + 1
	for serverKills+workerKills > 0 {
		i := rand.IntN(workers)
		eventually(t, func() bool { return strings.Contains(running[i].out.String(), "is owned") })
		submit(i, most)
		time.Sleep(time.Duration(rand.IntN(120)) * time.Millisecond) // the moment of a kill in a job is random
		if rand.IntN(serverKills+workerKills) < serverKills {
			serverKills--
			serving.kill()
			serving = h.serve("--listen", u.Host)
			continue
		}
		workerKills--
		running[i].kill()
		running[i] = start(i)
	}
	for i := range workers {
		submit(i, jobs)
	}
	var states []job
	require.Eventually(t, func() bool {
		states = h.jobs()
		return len(states) == jobs && !slices.ContainsFunc(states, func(j job) bool { return j.Status == "queued" || j.Status == "running" })
	}, time.Duration(scale(1, 10))*time.Minute, 100*time.Millisecond)
	again := 0
	for _, j := range states {
		require.Equal(t, "done", j.Status, "%+v", j)
		if j.Attempts > 1 {
			again++
		}
	}
	for i := range jobs {
		data, err := os.ReadFile(filepath.Join(dirs[i%workers], fmt.Sprintf("j%d.txt", i)))
		require.NoError(t, err)
		require.Equal(t, "zero\nline\n", string(data), i)
	}
	t.Logf("%d jobs are done, %d of them were delivered again; %s", jobs, again, h.ok("verify"))
}

// HB-06: every acknowledged message is there after the hub's process was killed and started again.
func TestRestartKeepsAcknowledged(t *testing.T) {
	t.Parallel()
	h, serving := newHub(t, patchTurns)
	serving.kill()
	serving = h.serve("--no-sync=false")
	u, err := url.Parse(h.url())
	require.NoError(t, err)
	js, err := jetstream.New(h.connect("admin"), jetstream.WithDefaultTimeout(time.Second))
	require.NoError(t, err)
	stop, done := make(chan struct{}), make(chan struct{})
	acknowledged := map[uint64]string{} // by sequence number
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			text := fmt.Sprint("line ", i)
			if ack, err := js.Publish(t.Context(), "fettle.v1.log.app.kept", []byte(text)); err == nil {
				acknowledged[ack.Sequence] = text
			}
		}
	}()
	kills := scale(2, 10)
	for range kills {
		time.Sleep(time.Duration(100+rand.IntN(300)) * time.Millisecond) // the moment of a kill is random
		serving.kill()
		serving = h.serve("--no-sync=false", "--listen", u.Host)
	}
	id := h.submit("Make it loud.")
	serving.kill()
	h.serve("--listen", u.Host)
	close(stop)
	<-done
	require.Equal(t, "queued", h.job(id).Status)
	stream, err := js.Stream(t.Context(), "FETTLE_LOG")
	require.NoError(t, err)
	for sequence, text := range acknowledged {
		m, err := stream.GetMsg(t.Context(), sequence)
		require.NoError(t, err, text)
		require.Equal(t, text, string(m.Data))
	}
	require.NotEmpty(t, acknowledged)
	t.Logf("all %d acknowledged messages are there after %d kills of the server", len(acknowledged), kills+1)
}

// HB-06: idle sessions cost the hub little memory, and a question is answered at once.
func TestLoad(t *testing.T) {
	h, serving := newHub(t, `{"turns": []}`)
	sessions := scale(100, 1000)
	before := memory(t, serving)
	buses := make([]*bus.MessageBus, sessions)
	for i := range sessions {
		nc := h.connect("admin", nats.ReconnectBufSize(-1))
		buses[i] = bus.New(bus.Options{})
		bridge, err := natsbus.Attach(t.Context(), nc, buses[i], natsbus.Options{Session: fmt.Sprint("app.s", i)})
		require.NoError(t, err)
		t.Cleanup(func() { _ = bridge.Close(); _ = buses[i].Close() })
	}
	h.approver(yes)
	var times []time.Duration
	for i := range 200 {
		start := time.Now()
		_, err := bus.Ask(t.Context(), buses[i%sessions], bus.ToolConfirmationRequest{ToolCall: bus.ToolCall{Name: "x"}, Outcomes: []bus.Outcome{bus.ProceedOnce, bus.Cancel}})
		require.NoError(t, err)
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	p50, p99 := times[len(times)/2], times[len(times)*99/100]
	after := memory(t, serving)
	t.Logf("%d idle sessions: the hub uses %d MB, %d MB without them; a question takes %s, the 99th percentile %s", sessions, after>>20, before>>20, p50, p99)
	require.Less(t, after, int64(300<<20))
	require.LessOrEqual(t, p50, 5*time.Millisecond)
}

// memory returns the resident memory of a process in bytes; 0 where the system does not list it.
func memory(t testing.TB, p *process) int64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.Process.Pid))
	if err != nil {
		return 0
	}
	pages, err := strconv.ParseInt(strings.Fields(string(data))[1], 10, 64)
	require.NoError(t, err)
	return pages * int64(os.Getpagesize())
}

// HB-06: a hub with a full disk stops changes: an answer that cannot be recorded is refused, and
// once there is room again, the job continues.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	h, serving := newHub(t, patchTurns)
	serving.kill()
	h.serve("--max-store", "3000000")
	questions := h.approver(func(*natsbus.Question) bus.Answer { return nil })
	h.worker("--lease", "60s")
	id := h.submit("Make it loud.")
	q := <-questions
	nc := h.connect("admin")
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(2*time.Second))
	require.NoError(t, err)
	for fill := make([]byte, 500_000); err == nil; {
		_, err = js.Publish(t.Context(), "fettle.v1.log.app.fill", fill)
	}
	for size := 100_000; size > 10; size /= 2 {
		for err = nil; err == nil; {
			_, err = js.Publish(t.Context(), "fettle.v1.log.app.fill", make([]byte, size))
		}
	}
	require.ErrorIs(t, q.Answer(t.Context(), yes(q)), natsbus.ErrRefused)
	require.Equal(t, "one\ntwo\n", h.read("f.txt"))
	stream, err := js.Stream(t.Context(), "FETTLE_LOG")
	require.NoError(t, err)
	require.NoError(t, stream.Purge(t.Context(), jetstream.WithPurgeSubject("fettle.v1.log.app.fill")))
	require.NoError(t, q.Answer(t.Context(), yes(q)))
	h.ends(id, "done")
	require.Equal(t, "one\nTWO\n", h.read("f.txt"))
}

// HB-06: a worker leaves a job of a newer version in the queue, and a request of another version is
// refused with the remedy.
func TestVersionSkew(t *testing.T) {
	t.Parallel()
	h, _ := newHub(t, patchTurns)
	nc := h.connect("admin")
	require.NoError(t, nc.Publish("fettle.v1.job.app", []byte(`{"v": 2, "id": "new", "workspace": "app", "prompt": "x"}`)))
	p := h.worker()
	eventually(t, func() bool { return strings.Contains(p.out.String(), "update this program") })
	reply, err := nc.Request("fettle.v1.api.jobs.admin", []byte(`{"v": 2}`), patience)
	require.NoError(t, err)
	require.Contains(t, string(reply.Data), "update the older program")
}
