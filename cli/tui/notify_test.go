package tui

import (
	"context"
	"fmt"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/interactive"
)

// raw returns the bytes that the screen has sent to the terminal beside its frames.
func (r *rig) raw() (sent string) {
	var run func(cmd tea.Cmd)
	run = func(cmd tea.Cmd) {
		if cmd == nil {
			return
		}
		switch msg := cmd().(type) {
		case tea.BatchMsg:
			for _, one := range msg {
				run(one)
			}
		case tea.RawMsg:
			sent += fmt.Sprint(msg.Msg)
		}
	}
	for _, cmd := range r.cmds {
		run(cmd)
	}
	r.cmds = nil
	return sent
}

// UI-04: the user is notified of a question, and of the end of a long turn, unless the
// window has the focus.
func TestNotify(t *testing.T) {
	const bell = "\a"
	for name, test := range map[string]struct {
		how  Notification
		msgs []tea.Msg
		want string
	}{
		"off":                {NotifyOff, []tea.Msg{tea.BlurMsg{}}, ""},
		"auto, unknown":      {NotifyAuto, nil, ""},
		"auto, unfocused":    {NotifyAuto, []tea.Msg{tea.BlurMsg{}}, bell},
		"default, unfocused": {"", []tea.Msg{tea.BlurMsg{}}, bell},
		"auto, focused":      {NotifyAuto, []tea.Msg{tea.BlurMsg{}, tea.FocusMsg{}}, ""},
		"bell, unknown":      {NotifyBell, nil, bell},
		"bell, focused":      {NotifyBell, []tea.Msg{tea.FocusMsg{}}, ""},
		"osc9":               {NotifyOSC9, nil, "\x1b]9;fettle: waits for your answer\a"},
		"osc777":             {NotifyOSC777, nil, "\x1b]777;notify;fettle;waits for your answer\a"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, newFake(), func(o *Options) { o.Notify = test.how })
			for _, msg := range test.msgs {
				r.send(msg)
			}
			r.raw()
			asks(r, infoQuestion())
			require.Equal(t, test.want, r.raw())
		})
	}
}

func TestNotifyLongTurn(t *testing.T) {
	r := newRig(t, newFake(), func(o *Options) { o.Notify = NotifyBell })
	r.plays()
	require.Empty(t, r.raw(), "a short turn")
	begun, end := make(chan struct{}), make(chan struct{})
	r.s.work = func(context.Context, string, func(interactive.Event)) { close(begun); <-end }
	r.enter("work")
	<-begun
	r.now = r.now.Add(longTurn + time.Second)
	close(end)
	r.until(func() bool { return r.m.turn == nil })
	require.Equal(t, "\a", r.raw())
}

// The text of a notification cannot end its sequence.
func TestNotificationIsEscaped(t *testing.T) {
	require.Equal(t, "\x1b]777;notify;a,b;c]0,d\a", notification(NotifyOSC777, "a;b", "c\x1b]0;d\a"))
}
