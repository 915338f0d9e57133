package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/theme"
)

// segment is a piece of the status line. Where there is not room for all, those of
// the highest rank go first.
type segment struct {
	text  string
	rank  int
	style theme.Style
}

// statusLine shows what holds all the time, as much as fits.
func (m *screen) statusLine(v look) string {
	var segments []segment
	for _, s := range m.segments(v) {
		if s.text != "" {
			segments = append(segments, s)
		}
	}
	for width(segments) > v.columns && len(segments) > 1 {
		worst := 0
		for i, s := range segments {
			if s.rank >= segments[worst].rank {
				worst = i
			}
		}
		segments = slices.Delete(segments, worst, worst+1)
	}
	texts := make([]string, len(segments))
	for i, s := range segments {
		texts[i] = s.style.Render(display.Cut(s.text, v.columns, "…"))
	}
	return strings.Join(texts, v.theme.Dim.Render(" · "))
}

func width(segments []segment) int {
	n := 3 * (len(segments) - 1)
	for _, s := range segments {
		n += display.Width(s.text)
	}
	return n
}

func (m *screen) segments(v look) []segment {
	s, t := m.status, v.theme
	folder := display.Line(s.Folder)
	if s.Branch != "" {
		folder += " (" + display.Line(s.Branch) + ")"
	}
	mode := segment{modeWord(display.Line(s.Mode)), 1, t.Dim}
	switch s.Mode {
	case "yolo":
		mode.style = t.Error
	case "autoEdit":
		mode.style = t.Warning
	case "plan":
		mode.style = t.Accent
	}
	trust := segment{rank: 3, style: t.Dim}
	if s.Trust != "trusted" {
		trust.text = display.Line(s.Trust)
	}
	if s.Trust == "untrusted" {
		trust.style = t.Warning
	}
	servers := ""
	switch {
	case s.Servers == 1:
		servers = "1 server"
	case s.Servers > 1:
		servers = fmt.Sprintf("%d servers", s.Servers)
	}
	elapsed := ""
	if d := m.h.now().Sub(s.Started); !m.o.NoAnimation && !s.Started.IsZero() && d >= time.Minute {
		elapsed = duration(d.Truncate(time.Minute))
	}
	notice := segment{rank: 0, style: t.Warning}
	if m.notice != "" && m.input.text != "" {
		notice.text = m.notice
	}
	return []segment{
		notice,
		{display.Line(s.Product), 6, t.Strong},
		{folder, 4, t.Dim},
		{display.Line(s.Model), 2, t.Dim},
		mode,
		{contextLeft(s.Tokens, s.Limit), 1, t.Dim},
		{tokens(s.Tokens), 5, t.Dim},
		{servers, 7, t.Dim},
		trust,
		{confined(display.Line(s.Confined)), 8, t.Dim},
		{elapsed, 9, t.Dim},
	}
}

func confined(by string) string {
	if by == "" {
		return ""
	}
	return "confined by " + by
}

func tokens(n int) string {
	switch {
	case n <= 0:
		return ""
	case n < 10_000:
		return thousands(n) + " tokens"
	}
	return thousands(n/1000) + "k tokens"
}

// contextLeft is how much of the model's context is free, in per cent.
func contextLeft(tokens, limit int) string {
	if limit <= 0 {
		return ""
	}
	return fmt.Sprintf("%d%% left", max(0, 100-(100*tokens+limit-1)/limit))
}
