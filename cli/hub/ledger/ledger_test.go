package ledger_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/hub/ledger"
	"github.com/fettle-dev/fettle/cli/hub/server"
	"github.com/fettle-dev/fettle/cli/hub/store"
)

const subject = "fettle.v1.ledger.w1"

// setUp returns a stream, and a function that returns the entries of a worker.
func setUp(t *testing.T) (jetstream.JetStream, func(subject string) [][]byte) {
	t.Helper()
	hub, err := server.Start(server.Options{Addr: "127.0.0.1:0", Dir: t.TempDir(), NoSync: true})
	require.NoError(t, err)
	t.Cleanup(hub.Close)
	nc, err := hub.Connect()
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	require.NoError(t, store.Setup(t.Context(), js, store.Retention{}))
	st, err := store.Open(t.Context(), nc)
	require.NoError(t, err)
	return js, func(subject string) [][]byte {
		raw, _, err := st.Read(t.Context(), store.LedgerStream, subject, 0, 1000)
		require.NoError(t, err)
		var all [][]byte
		for _, m := range raw {
			all = append(all, m.Data)
		}
		return all
	}
}

func open(t *testing.T, js jetstream.JetStream, subject string, pair nkeys.KeyPair) *ledger.Ledger {
	t.Helper()
	l, err := ledger.New(js, store.LedgerStream, subject, pair)
	require.NoError(t, err)
	return l
}

func record(t *testing.T, l *ledger.Ledger, id string, events ...ledger.Event) {
	t.Helper()
	for _, e := range events {
		require.NoError(t, l.Record(t.Context(), ledger.Entry{Job: "j", Event: e, CallID: id, Tool: "t", Files: []ledger.File{{Path: "<a>", Base: "b"}}}))
	}
}

// HB-04: a chain survives the worker's restart, also with two processes of the same key, and each
// change of it is found.
func TestChain(t *testing.T) {
	js, entries := setUp(t)
	pair, err := nkeys.CreateUser()
	require.NoError(t, err)
	public, err := pair.PublicKey()
	require.NoError(t, err)
	first := open(t, js, subject, pair)
	record(t, first, "1", ledger.Begin, ledger.Answer, ledger.End)
	second := open(t, js, subject, pair)
	record(t, second, "2", ledger.Begin)
	require.Error(t, first.Record(t.Context(), ledger.Entry{})) // the chain has been extended
	record(t, first, "3", ledger.Begin, ledger.End)
	all := entries(subject)
	r, err := ledger.Verify(all, public, "")
	require.NoError(t, err)
	require.Equal(t, ledger.Report{Worker: public, Entries: 6, Head: r.Head, Begun: 1}, r)

	expired, err := ledger.Verify(all[2:], public, r.Head)
	require.NoError(t, err)
	require.EqualValues(t, 2, expired.Expired)

	other, err := nkeys.CreateUser()
	require.NoError(t, err)
	forged := open(t, js, "fettle.v1.ledger.w2", other)
	record(t, forged, "1", ledger.Begin, ledger.End)
	changed := func(data []byte, from, to string) []byte {
		text := strings.Replace(string(data), from, to, 1)
		require.NotEqual(t, string(data), text)
		return []byte(text)
	}
	at := func(i int, data []byte) [][]byte {
		copied := append([][]byte(nil), all...)
		copied[i] = data
		return copied
	}
	var signed ledger.Signed
	require.NoError(t, json.Unmarshal(all[3], &signed))
	signed.Signature = ""
	unsigned, err := json.Marshal(signed)
	require.NoError(t, err)
	for name, entries := range map[string][][]byte{
		"changed":     at(1, changed(all[1], `"j"`, `"k"`)),
		"unsigned":    at(3, unsigned),
		"no JSON":     at(0, []byte("{")),
		"missing":     append(append([][]byte(nil), all[:2]...), all[3:]...),
		"reordered":   append([][]byte{all[1], all[0]}, all[2:]...),
		"repeated":    append([][]byte{all[0], all[0]}, all[1:]...),
		"another key": at(1, entries("fettle.v1.ledger.w2")[1]),
		"version":     at(5, changed(all[5], `"v":1`, `"v":2`)),
	} {
		_, err := ledger.Verify(entries, public, "")
		require.Error(t, err, name)
	}
	_, err = ledger.Verify(all[:5], public, r.Head)
	require.ErrorContains(t, err, "does not contain the given head")
	_, err = ledger.Verify(entries("fettle.v1.ledger.w2"), public, "")
	require.Error(t, err)
	_, err = ledger.Verify(nil, public, "")
	require.NoError(t, err)
	require.Error(t, open(t, js, subject, other).Record(t.Context(), ledger.Entry{})) // the name has another key
}

// HB-04: no user can remove entries, and neither can an administrator by the stream.
func TestNothingIsRemoved(t *testing.T) {
	js, _ := setUp(t)
	pair, err := nkeys.CreateUser()
	require.NoError(t, err)
	record(t, open(t, js, subject, pair), "1", ledger.Begin)
	s, err := js.Stream(t.Context(), store.LedgerStream)
	require.NoError(t, err)
	require.Error(t, s.Purge(t.Context()))
	require.Error(t, s.DeleteMsg(t.Context(), 1))
}

// FuzzVerify: only signed chains are valid.
func FuzzVerify(f *testing.F) {
	f.Add([]byte(`{"entry":{"v":1,"seq":1,"worker":"U"},"signature":""}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := ledger.Verify([][]byte{data}, "", ""); err == nil {
			t.Errorf("Verify accepts an entry without a key: %+v", r)
		}
	})
}
