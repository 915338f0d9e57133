package tui

import (
	"fmt"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/theme"
)

// byBackground returns a theme that shows which background was reported.
func byBackground(light bool) theme.Theme {
	if light {
		return theme.Theme{Dim: theme.Style{Foreground: lipgloss.Blue}}
	}
	return theme.Theme{Dim: theme.Style{Foreground: lipgloss.Red}}
}

// UI-04: the theme fits the background that the terminal reports, also for lines that
// are on the screen already.
func TestBackground(t *testing.T) {
	for light, want := range map[bool]string{true: "\x1b[34m·", false: "\x1b[31m·"} {
		s := newFake()
		s.start = []interactive.Event{{Kind: interactive.EventMessage, Text: "Welcome"}}
		r := newRig(t, s, func(o *Options) { o.Background = byBackground })
		require.Contains(t, fmt.Sprintf("%T", r.cmds[0]()), "backgroundColorMsg")
		require.NotContains(t, r.m.View().Content, want)
		page := lipgloss.Color("#101010")
		if light {
			page = lipgloss.Color("#fafafa")
		}
		r.send(tea.BackgroundColorMsg{Color: page})
		require.Contains(t, r.m.View().Content, want)
	}
	r := newRig(t, newFake())
	r.send(tea.BackgroundColorMsg{Color: lipgloss.White}) // not asked
	require.Empty(t, r.m.o.Theme)
}

// The end waits for the report, but not longer than its time.
func TestBackgroundBeforeTheEnd(t *testing.T) {
	for name, end := range map[string]func(r *rig){
		"report":    func(r *rig) { r.send(tea.BackgroundColorMsg{Color: lipgloss.White}) },
		"no report": func(r *rig) { r.pass(answerFor) },
	} {
		r := newRig(t, newFake(), func(o *Options) { o.Background = byBackground })
		n := len(r.cmds)
		r.send(quitMsg{})
		require.Len(t, r.cmds, n, name)
		end(r)
		require.IsType(t, tea.QuitMsg{}, r.cmds[len(r.cmds)-1](), name)
	}
}

// However the report is split, no part of it is taken for keys, and keys before and
// after it pass.
func TestReportFilter(t *testing.T) {
	now := time.Now()
	for _, end := range []string{"\a", "\x1b\\"} {
		whole := "ab\x1b]11;rgb:ffff/eeee/dddd" + end + "cd"
		for i := range len(whole) + 1 {
			for j := i; j <= len(whole); j++ {
				f := &reportFilter{until: now.Add(time.Second)}
				var got []string
				for _, piece := range []string{whole[:i], whole[i:j], whole[j:]} {
					if passed := string(f.filter([]byte(piece), now)); passed != "" {
						got = append(got, passed)
					}
				}
				var all string
				for _, piece := range got {
					all += piece
				}
				if all == "ab\x1bcd" { // the escape character was the end of a piece
					continue
				}
				require.Equal(t, whole, all)
				complete := false
				for _, piece := range got {
					complete = complete || len(piece) >= len(whole)-4 && piece[len(piece)-1] != 'g'
				}
				require.True(t, complete, "%q: in one piece", got)
			}
		}
	}
	for _, keys := range [][]string{{"\x1b", "x"}, {"\x1b[A", "\x1b"}, {"\x1b]"}, {"\x1b]0;x", "y"}, {"]11;"}} {
		f := &reportFilter{until: now.Add(time.Second)}
		var all, want string
		for _, piece := range keys {
			all += string(f.filter([]byte(piece), now))
			want += piece
		}
		all += string(f.filter(nil, now.Add(time.Minute)))
		require.Equal(t, want, all, "other keys pass, at the latest when the filter ends")
	}
	f := &reportFilter{until: now.Add(time.Second)}
	require.NotEmpty(t, f.filter([]byte("\x1b]11;"+fmt.Sprint(lines(100, "x"))), now), "no report is that long")
	off := &reportFilter{}
	require.Equal(t, "\x1b]11;", string(off.filter([]byte("\x1b]11;"), now)))
}
