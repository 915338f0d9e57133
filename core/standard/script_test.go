package standard_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/replay"
	"github.com/fettle-dev/fettle/core/model/script"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/standard"
)

const (
	pricesBefore  = "PRICES = {\n    \"milk\": 120,\n}\n"
	receiptBefore = "for item in items:\n    print(item)\n"
	receiptSaved  = "for item in items:\n    print(item)\nprint('thanks')\n"
)

// inOrder runs the calls of one response sequentially, so that files have the same versions each time.
type inOrder struct{ agent.Scheduler }

func (s inOrder) RunAll(ctx context.Context, requests []scheduler.Request) []scheduler.Response {
	var all []scheduler.Response
	for _, r := range requests {
		all = append(all, s.Scheduler.RunAll(ctx, []scheduler.Request{r})...)
	}
	return all
}

// talk runs a prompt with the real tools on the two files of a shop. It returns the model's output and how the turn
// ended. before is called ahead of the turn in which a file is saved externally.
func talk(t *testing.T, source func(s *configtest.Session) model.Source, name string) (s *configtest.Session, said string, end agent.Event) {
	t.Helper()
	s = configtest.New(t, func(p *config.Parameters) { p.Policy.ApprovalMode = "auto_edit" })
	s.Write("prices.py", pricesBefore)
	s.Write("receipt.py", receiptBefore)
	run, err := s.Scheduler()
	require.NoError(t, err)
	client, err := agent.New(agent.Options{Source: source(s), Model: func() string { return name }, Scheduler: inOrder{run}})
	require.NoError(t, err)
	for event := range client.Run(t.Context(), model.TextPart("Tidy the shop.")) {
		if event.Type == agent.EventText {
			said += event.Text
		}
		end = event
	}
	return s, said, end
}

// A scripted model works with the real tools: every hash it quotes was returned by a tool, and its expectations of the
// results hold. The recording of that session replays in another directory.
func TestScriptWithRealTools(t *testing.T) {
	const name = "script:testdata/shop.json"
	var recording bytes.Buffer
	recorder := replay.NewRecorder(&recording)
	saves := func(s *configtest.Session) func(context.Context, script.Turn) error {
		return func(_ context.Context, turn script.Turn) error {
			if strings.Contains(string(turn.Note), "receipt.py") {
				s.Write("receipt.py", receiptSaved)
			}
			return nil
		}
	}
	check := func(s *configtest.Session, said string, end agent.Event) {
		require.Equal(t, agent.EventDone, end.Type, "%v", end.Err)
		require.Contains(t, said, "I read both files.")
		require.Contains(t, said, "Done: prices.py is at version ")
		require.Equal(t, strings.Replace(pricesBefore, "{\n", "{\n    \"cheese\": 480,\n", 1), s.Read("prices.py"))
		require.Equal(t, strings.Replace(receiptSaved, "in items", "in sorted(items)", 1), s.Read("receipt.py"))
	}
	check(talk(t, func(s *configtest.Session) model.Source {
		return standard.Recording(standard.Models(standard.ModelOptions{Script: script.Options{OnTurn: saves(s)}}), recorder)
	}, name))
	require.NoError(t, recorder.Err())

	player, err := replay.Replay("shop.jsonl", &recording, replay.Loose)
	require.NoError(t, err)
	total := player.Left()
	check(talk(t, func(s *configtest.Session) model.Source {
		return model.Always(saving{player, func() {
			if player.Left() == total-2 { // ahead of the third turn
				s.Write("receipt.py", receiptSaved)
			}
		}})
	}, name))
	require.Zero(t, player.Left())
}
