package command_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/hub/keys"
	"github.com/fettle-dev/fettle/cli/hub/natsbus"
	"github.com/fettle-dev/fettle/core/bus"
)

// HB-02: the sender of a request chooses the subject of its reply. The hub publishes everywhere, so
// it replies to inboxes of the sender only: a viewer can put nothing into a queue, a state or a
// ledger.
func TestRepliesStayInInboxes(t *testing.T) {
	t.Parallel()
	h, _ := newHub(t, patchTurns)
	h.addUser(keys.User{Name: "vic", Roles: []keys.Role{keys.Viewer}})
	admin, vic := h.connect("admin"), h.connect("vic")
	for _, reply := range []string{"fettle.v1.job.app", "$KV.FETTLE_STATE.app.j", "fettle.v1.ledger.w1", "$JS.API.STREAM.DELETE.FETTLE_LOG", "_INBOX_admin.x", "_INBOX_victor.x"} {
		sub, err := admin.SubscribeSync(reply)
		require.NoError(t, err)
		require.NoError(t, admin.Flush())
		require.NoError(t, vic.PublishMsg(&nats.Msg{Subject: "fettle.v1.api.jobs.vic", Reply: reply, Data: []byte(`{"v":1}`)}))
		answer, err := vic.Request("fettle.v1.api.jobs.vic", []byte(`{"v":1}`), patience) // the hub has handled the request before
		require.NoError(t, err)
		require.JSONEq(t, `{"v":1}`, string(answer.Data))
		require.NoError(t, admin.Flush())
		pending, _, err := sub.Pending()
		require.NoError(t, err)
		require.Zero(t, pending, reply)
	}
}

// HB-02: the server sends a stored message to any subject that its reader names. A worker with a
// stolen key stores a request, a job and an answer of others in its own part of the hub, and has
// the server send them: none of them has an effect.
func TestMessagesOutOfStreams(t *testing.T) {
	t.Parallel()
	h, _ := newHub(t, patchTurns)
	h.addUser(keys.User{Name: "w2", Roles: []keys.Role{keys.Worker}, Workspace: "other"})
	stolen, admin := h.connect("w1"), h.connect("admin")
	js, err := jetstream.New(stolen)
	require.NoError(t, err)
	bounce := func(to string, m *nats.Msg) {
		t.Helper()
		m.Subject = "$KV.FETTLE_STATE.app.x"
		_, err := js.PublishMsg(t.Context(), m)
		require.NoError(t, err)
		arrived, err := admin.SubscribeSync(to)
		require.NoError(t, err)
		require.NoError(t, admin.Flush())
		require.NoError(t, stolen.PublishRequest("$JS.API.DIRECT.GET.KV_FETTLE_STATE."+m.Subject, to, nil))
		got, err := arrived.NextMsg(patience)
		require.NoError(t, err)
		require.Equal(t, m.Data, got.Data)
	}
	request, err := json.Marshal(map[string]any{"v": 1, "workspace": "other", "prompt": "Do it.", "id": "requested"})
	require.NoError(t, err)
	bounce("fettle.v1.api.submit.admin", &nats.Msg{Data: request})

	forged := []byte(`{"v": 1, "id": "forged", "workspace": "other", "prompt": "Do it.", "status": "queued"}`)
	bounce("$KV.FETTLE_STATE.other.forged", &nats.Msg{Data: forged})
	bounce("fettle.v1.job.other", &nats.Msg{Data: forged})
	other := h.start("worker", "--workspace", h.app, "--as", "other", "--key", keys.Dir(h.dir).Seed("w2"), "--lease", "1s", "-m", "script:"+h.app+"/../turns.json")
	eventually(t, func() bool { return strings.Contains(other.out.String(), "the message was copied from a stream") })
	bounce("fettle.v1.job.other", &nats.Msg{Data: []byte(`{}`)}) // it does not block the queue
	id := h.ok("submit", "--workspace", "other", "Make it loud.")

	questions := h.approver(func(*natsbus.Question) bus.Answer { return nil })
	q := <-questions
	answer, err := bus.Marshal(yes(q))
	require.NoError(t, err)
	m := nats.NewMsg("")
	m.Header.Set("Fettle-Version", "1")
	m.Header.Set("Fettle-Session", q.Session)
	m.Header.Set("Fettle-Digest", q.Digest)
	m.Data = answer
	bounce("fettle.v1.answer."+q.Session+".admin", m)
	require.Equal(t, "running", h.job(id).Status)
	require.Equal(t, "one\ntwo\n", h.read("f.txt"))
	require.NoError(t, q.Answer(t.Context(), yes(q))) // it is still open
	h.ends(id, "done")
	require.Empty(t, h.job("requested"))
	require.Equal(t, "queued", h.job("forged").Status) // as the worker wrote it
	require.NotContains(t, h.ok("logs", id), "forged")
}
