package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/display"
)

// Notification selects how the user is notified when the session waits: a question is
// shown, or a turn of [longTurn] or more has ended.
type Notification string

// The notifications.
const (
	NotifyAuto   Notification = "auto" // the bell, if the terminal has reported that it lost the focus
	NotifyOff    Notification = "off"
	NotifyBell   Notification = "bell"
	NotifyOSC9   Notification = "osc9"   // OSC 9, as in iTerm2, WezTerm and Windows Terminal
	NotifyOSC777 Notification = "osc777" // OSC 777, as in urxvt, foot and Ghostty
)

// longTurn is the duration from which the end of a turn is notified.
const longTurn = 10 * time.Second

// focus is the state of the terminal window, as far as it reports it.
type focus int

const (
	focusUnknown focus = iota
	focused
	unfocused
)

// notify notifies the user with the next frame, unless the window has the focus.
func (m *screen) notify(text string) {
	how := m.o.Notify
	if how == NotifyOff || m.focus == focused || m.focus == focusUnknown && (how == NotifyAuto || how == "") {
		return
	}
	m.alert = notification(how, display.Line(m.status.Product), display.Line(text))
}

// notification returns the bytes that notify the user.
func notification(how Notification, title, text string) string {
	plain := strings.NewReplacer(";", ",", "\a", "", "\x1b", "", "\u009c", "")
	title, text = plain.Replace(title), plain.Replace(text)
	switch how {
	case NotifyOSC9:
		return "\x1b]9;" + title + ": " + text + "\a"
	case NotifyOSC777:
		return "\x1b]777;notify;" + title + ";" + text + "\a"
	}
	return "\a"
}

// alerted returns the command that sends the pending notification, nil for none.
func (m *screen) alerted() tea.Cmd {
	if m.alert == "" {
		return nil
	}
	alert := m.alert
	m.alert = ""
	return tea.Raw(alert)
}
