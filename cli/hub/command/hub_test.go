package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/hub/command"
	"github.com/fettle-dev/fettle/cli/hub/keys"
	"github.com/fettle-dev/fettle/cli/hub/natsbus"
	"github.com/fettle-dev/fettle/cli/hub/server"
	"github.com/fettle-dev/fettle/core/bus"
)

const (
	program  = "fettle-hub"
	patience = time.Minute
)

func TestMain(m *testing.M) {
	switch os.Args[0] {
	case program:
		os.Exit(command.Main())
	case nodeProgram:
		os.Exit(serveNode(os.Args[1]))
	}
	os.Exit(m.Run())
}

// hub is a hub in processes of its own, with a workspace.
type hub struct {
	t    testing.TB
	home string
	dir  string // of the hub
	app  string // the workspace
	nats string // URLs of a cluster; "": the hub embeds its server
}

// process is a running process.
type process struct {
	*exec.Cmd
	out  *output
	done chan struct{}
}

type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func (h *hub) command(args ...string) *exec.Cmd {
	exe, err := os.Executable()
	require.NoError(h.t, err)
	cmd := exec.Command(exe)
	cmd.Args = append([]string{program, "--dir", h.dir}, args...)
	if h.nats != "" {
		cmd.Args = append(cmd.Args, "--nats", h.nats)
	}
	cmd.Env = append(os.Environ(), "HOME="+h.home, "FETTLE_HOME=", "DBUS_SESSION_BUS_ADDRESS=")
	return cmd
}

func (h *hub) start(args ...string) *process {
	h.t.Helper()
	return h.startCommand(h.command(args...))
}

func (h *hub) startCommand(cmd *exec.Cmd) *process {
	h.t.Helper()
	p := &process{cmd, &output{}, make(chan struct{})}
	p.Stdout, p.Stderr = p.out, p.out
	require.NoError(h.t, p.Start())
	go func() { _ = p.Wait(); close(p.done) }()
	h.t.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.done
		if strings.Contains(p.out.String(), "DATA RACE") {
			h.t.Error("a process has a data race")
		}
		if h.t.Failed() {
			h.t.Logf("%v:\n%s", p.Args, p.out)
		}
	})
	return p
}

// kill ends a process as a crash does.
func (p *process) kill() {
	_ = p.Process.Kill()
	<-p.done
}

// run runs a command to its end.
func (h *hub) run(args ...string) (string, error) {
	h.t.Helper()
	out, err := h.command(args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (h *hub) ok(args ...string) string {
	h.t.Helper()
	out, err := h.run(args...)
	require.NoError(h.t, err, out)
	return out
}

func eventually(t testing.TB, condition func() bool, message ...any) {
	t.Helper()
	require.Eventually(t, condition, patience, 10*time.Millisecond, message...)
}

// newHub starts a hub with a workspace named app and the worker key w1.
func newHub(t testing.TB, turns string) (*hub, *process) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	h := &hub{t: t, home: filepath.Join(root, "home"), dir: filepath.Join(root, "hub"), app: filepath.Join(root, "app")}
	require.NoError(t, os.MkdirAll(h.home, 0o700))
	require.NoError(t, os.MkdirAll(h.app, 0o700))
	h.write("../turns.json", turns)
	h.write("f.txt", "one\ntwo\n")
	serving := h.serve()
	h.addUser(keys.User{Name: "w1", Roles: []keys.Role{keys.Worker}, Workspace: "app"})
	return h, serving
}

func (h *hub) write(name, text string) {
	h.t.Helper()
	require.NoError(h.t, os.WriteFile(filepath.Join(h.app, name), []byte(text), 0o600))
}

func (h *hub) read(name string) string {
	data, _ := os.ReadFile(filepath.Join(h.app, name))
	return string(data)
}

func (h *hub) serve(args ...string) *process {
	h.t.Helper()
	p := h.start(append([]string{"serve", "--no-sync", "--listen", "127.0.0.1:0"}, args...)...)
	eventually(h.t, func() bool { return strings.Contains(p.out.String(), "serving at") })
	return p
}

// addUser creates a user, and waits until the hub accepts it.
func (h *hub) addUser(u keys.User) {
	h.t.Helper()
	_, err := keys.Dir(h.dir).Add(u)
	require.NoError(h.t, err)
	eventually(h.t, func() bool {
		nc, err := h.dial(u.Name)
		if err == nil {
			nc.Close()
		}
		return err == nil
	})
}

func (h *hub) url() string {
	if h.nats != "" {
		return h.nats
	}
	data, _ := os.ReadFile(filepath.Join(h.dir, "url"))
	return strings.TrimSpace(string(data))
}

func (h *hub) dial(name string, more ...nats.Option) (*nats.Conn, error) {
	pair, err := keys.Load(keys.Dir(h.dir).Seed(name))
	if err != nil {
		return nil, err
	}
	return server.Connect(h.url(), name, pair, "", more...)
}

func (h *hub) connect(name string, more ...nats.Option) *nats.Conn {
	h.t.Helper()
	nc, err := h.dial(name, more...)
	require.NoError(h.t, err)
	h.t.Cleanup(nc.Close)
	return nc
}

// worker starts a worker of the workspace.
func (h *hub) worker(more ...string) *process {
	h.t.Helper()
	return h.start(append([]string{"worker", "--workspace", h.app, "--key", keys.Dir(h.dir).Seed("w1"), "--lease", "1s", "-m", "script:" + filepath.Join(h.app, "../turns.json")}, more...)...)
}

// job is a job as fettle-hub jobs --json prints it.
type job struct {
	ID, Status, Answer, Error, Worker, Prompt string
	Attempts                                  int
}

func (h *hub) jobs() []job {
	out, err := h.run("jobs", "--json")
	if err != nil {
		return nil
	}
	var all []job
	for line := range strings.Lines(out) {
		var j job
		require.NoError(h.t, json.Unmarshal([]byte(line), &j), line)
		all = append(all, j)
	}
	return all
}

func (h *hub) job(id string) job {
	for _, j := range h.jobs() {
		if j.ID == id {
			return j
		}
	}
	return job{}
}

// ends waits for the end of a job, which must have a status.
func (h *hub) ends(id, status string) {
	h.t.Helper()
	var j job
	eventually(h.t, func() bool {
		j = h.job(id)
		return j.Status != "" && j.Status != "queued" && j.Status != "running"
	}, h.job(id))
	require.Equal(h.t, status, j.Status, "%+v\n%s", j, h.ok("logs", id))
}

func (h *hub) submit(prompt string) string {
	h.t.Helper()
	return h.ok("submit", "--workspace", "app", prompt)
}

// approver answers each question with what answer returns; nil: not.
func (h *hub) approver(answer func(q *natsbus.Question) bus.Answer) <-chan *natsbus.Question {
	h.t.Helper()
	questions := make(chan *natsbus.Question, 5000)
	v, err := natsbus.Watch(context.Background(), h.connect("admin"), natsbus.WatchOptions{Actor: "admin", Question: func(q *natsbus.Question) {
		questions <- q
		if a := answer(q); a != nil {
			go func() { _ = q.Answer(context.Background(), a) }()
		}
	}})
	require.NoError(h.t, err)
	h.t.Cleanup(func() { _ = v.Close() })
	return questions
}

// yes approves calls, and answers forms with yes.
func yes(q *natsbus.Question) bus.Answer {
	if _, ok := q.Message.(bus.AskUserRequest); ok {
		return bus.AskUserResponse{CorrelationID: q.ID, Answers: map[string]string{"0": "yes"}}
	}
	return bus.ToolConfirmationResponse{CorrelationID: q.ID, Confirmed: true, Outcome: bus.ProceedOnce}
}

const patchTurns = `{"turns": [
  {"text": "I read it.", "calls": [{"tool": "read_file", "args": {"file_path": "f.txt"}}]},
  {"calls": [{"tool": "safe_patch", "args": {"file_path": "f.txt", "base_content_sha256": "{{sha256 \"f.txt\"}}", "unified_diff": "@@\n one\n-two\n+TWO\n"}}]},
  {"text": "Finished."}
]}`

// HB-02, HB-04: a job runs as a session whose question a user answers elsewhere; its log, state and
// ledger are at the hub, and the ledger names the approver.
func TestJob(t *testing.T) {
	t.Parallel()
	h, _ := newHub(t, patchTurns)
	questions := h.approver(yes)
	h.worker()
	out := h.ok("submit", "--workspace", "app", "--wait", "Make it loud.")
	require.Contains(t, out, "I read it.")
	require.Contains(t, out, "safe_patch: success")
	require.Contains(t, out, "admin answers the question about safe_patch: proceed_once")
	require.Contains(t, out, "The job is done. Finished.")
	require.Regexp(t, `At most [0-9.]+(µs|ms) lay between the check`, out)
	require.Equal(t, "one\nTWO\n", h.read("f.txt"))
	q := (<-questions).Message.(bus.ToolConfirmationRequest)
	require.Contains(t, q.Details.FileDiff, "+TWO")
	id, _, _ := strings.Cut(out, "\n")
	require.Equal(t, "Finished.", h.job(id).Answer)

	export := filepath.Join(h.home, "ledger.jsonl")
	out = h.ok("verify", "--worker", "w1", "--export", export)
	require.Contains(t, out, "3 entries are valid, 0 expired, 0 calls without an end")
	text, err := os.ReadFile(export)
	require.NoError(t, err)
	require.Contains(t, string(text), `"actor":"admin","approval":"proceed_once"`)
	_, head, _ := strings.Cut(out, "head ")
	h.ok("verify", "--file", export, "--head", head)
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	for name, changed := range map[string]string{
		"changed":  strings.Replace(string(text), "proceed_once", "proceed_ever", 1),
		"missing":  lines[0] + lines[2],
		"reversed": lines[1] + lines[0] + lines[2],
		"cut":      lines[0] + lines[1],
	} {
		path := filepath.Join(h.home, name)
		require.NoError(t, os.WriteFile(path, []byte(changed), 0o600))
		out, err := h.run("verify", "--file", path, "--head", head)
		require.Error(t, err, "%s: %s", name, out)
	}

	require.Contains(t, h.ok("logs", id), "undo     1.1 safe_patch: "+filepath.Join(h.app, "f.txt"))
	undo := h.ok("restore", id[:6], "1.1")
	h.ends(undo, "done")
	require.Equal(t, "one\ntwo\n", h.read("f.txt"))
	require.Contains(t, h.ok("verify"), "5 entries are valid")
	_, err = h.run("restore", undo, "1")
	require.Error(t, err)

	_, err = h.run("cancel", id)
	require.Error(t, err) // it has ended
	_, err = h.run("submit", "--workspace", "a.*", "x")
	require.Error(t, err)
	_, err = h.run("submit", "--workspace", "app", " ")
	require.Error(t, err)
}

// HB-02: a user cancels a job that waits for an answer, and one that is queued.
func TestCancel(t *testing.T) {
	t.Parallel()
	h, _ := newHub(t, patchTurns)
	questions := h.approver(func(*natsbus.Question) bus.Answer { return nil })
	running := h.submit("one")
	h.worker()
	<-questions
	queued := h.submit("two")
	h.ok("cancel", queued[:8])
	h.ok("cancel", running[:8])
	for _, id := range []string{running, queued} {
		h.ends(id, "cancelled")
	}
	require.Zero(t, h.job(queued).Attempts) // it never started
	require.NotContains(t, h.ok("logs", queued), "runs the job")
	require.Equal(t, "one\ntwo\n", h.read("f.txt"))
}

// HB-02: each role may do its own only: a worker cannot answer or submit, an approver cannot
// submit, a submitter cannot answer, and replies reach their user alone.
func TestPermissions(t *testing.T) {
	t.Parallel()
	h, _ := newHub(t, patchTurns)
	for name, u := range map[string]keys.User{
		"ann": {Roles: []keys.Role{keys.Approver}}, "sue": {Roles: []keys.Role{keys.Submitter}}, "vic": {Roles: []keys.Role{keys.Viewer}},
	} {
		u.Name = name
		h.addUser(u)
	}
	const p = "fettle.v1."
	for _, tt := range []struct {
		user, subject string
		allowed       bool
	}{
		{"w1", p + "answer.app.j.w1", false},
		{"w1", p + "answer.app.j.ann", false},
		{"w1", p + "api.submit.w1", false},
		{"w1", p + "job.app", false},
		{"w1", p + "event.app.j", true},
		{"w1", p + "event.other.j", false},
		{"w1", p + "ask.other.j", false},
		{"w1", p + "log.app.j", true},
		{"w1", p + "log.other.j", false},
		{"w1", p + "ledger.w1", true},
		{"w1", p + "ledger.w2", false},
		{"w1", "$KV.FETTLE_LEASE.app", true},
		{"w1", "$KV.FETTLE_LEASE.other", false},
		{"w1", "$KV.FETTLE_STATE.other.j", false},
		{"w1", "$KV.FETTLE_CANCEL.j", false},
		{"w1", "$JS.API.CONSUMER.MSG.NEXT.FETTLE_JOBS.other", false},
		{"w1", "$JS.API.STREAM.PURGE.FETTLE_LEDGER", false},
		{"w1", "$JS.API.STREAM.DELETE.FETTLE_LEDGER", false},
		{"ann", p + "answer.app.j.ann", true},
		{"ann", p + "answer.app.j.bob", false},
		{"ann", p + "api.submit.ann", false},
		{"ann", p + "api.cancel.ann", false},
		{"ann", p + "job.app", false},
		{"ann", p + "event.app.j", false},
		{"ann", "$KV.FETTLE_STATE.app.j", false},
		{"sue", p + "api.submit.sue", true},
		{"sue", p + "api.submit.ann", false},
		{"sue", p + "answer.app.j.sue", false},
		{"vic", p + "api.jobs.vic", true},
		{"vic", p + "answer.app.j.vic", false},
		{"vic", p + "api.cancel.vic", false},
	} {
		refused := make(chan error, 1)
		nc := h.connect(tt.user, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
		require.NoError(t, nc.Publish(tt.subject, nil))
		require.NoError(t, nc.Flush())
		if tt.allowed {
			require.Empty(t, refused, "%s %s", tt.user, tt.subject)
			continue
		}
		select {
		case err := <-refused:
			require.ErrorIs(t, err, nats.ErrPermissionViolation, "%s %s", tt.user, tt.subject)
		case <-time.After(patience):
			require.Fail(t, "not refused", "%s %s", tt.user, tt.subject)
		}
	}
	for user, subject := range map[string]string{"ann": "_INBOX_sue.>", "sue": p + "event.>", "w1": p + "ask.>", "vic": ">"} {
		refused := make(chan error, 1)
		nc := h.connect(user, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
		_, err := nc.SubscribeSync(subject)
		require.NoError(t, err)
		require.NoError(t, nc.Flush())
		require.ErrorIs(t, <-refused, nats.ErrPermissionViolation)
	}

	out, err := h.run("submit", "--workspace", "app", "--key", keys.Dir(h.dir).Seed("ann"), "x")
	require.Error(t, err, out)
	require.Contains(t, out, "requires another role")
	h.ok("submit", "--workspace", "app", "--key", keys.Dir(h.dir).Seed("sue"), "x")
	require.NoError(t, keys.Dir(h.dir).Remove("vic"))
	require.Contains(t, h.ok("keys", "list"), "w1 worker U")
	require.Contains(t, h.ok("keys", "config"), "allow_responses")
	for _, args := range [][]string{
		{"serve", "--listen", "0.0.0.0:0"}, {"serve", "--listen", "127.0.0.1:0", "--http", "0.0.0.0:0"}, {"jobs", "--nats", "nats://192.0.2.1:4222"}, {"keys", "add", "a.b", "--role", "viewer"}, {"keys", "add", "x", "--role", "king"}, {"keys", "add", "x"}, {"keys", "add", "w1", "--role", "viewer"}, {"worker"}, {"nothing"},
	} {
		out, err := h.run(args...)
		require.Error(t, err, "%v: %s", args, out)
	}
}

// HB-05: the hub serves its page to users with a token.
func TestPage(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	h := &hub{t: t, home: root, dir: filepath.Join(root, "hub")}
	p := h.serve("--http", "127.0.0.1:0")
	at := regexp.MustCompile(`the web page is at (http://\S+)`)
	eventually(t, func() bool { return at.MatchString(p.out.String()) })
	page := at.FindStringSubmatch(p.out.String())[1]
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	browser := &http.Client{Jar: jar}
	resp, err := browser.PostForm(page+"login", url.Values{"token": {h.ok("keys", "token", "admin")}})
	require.NoError(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Contains(t, string(data), "There are no jobs yet.")
	require.NoError(t, p.Process.Signal(os.Interrupt))
	<-p.done
	require.Equal(t, 0, p.ProcessState.ExitCode())
	require.NoFileExists(t, filepath.Join(h.dir, "url"))
}
