package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/progress"
	"github.com/charmbracelet/x/ansi"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/core/policy"
)

// segment is a part of the status line. If space is short, the segments with the
// highest rank are left out.
type segment struct {
	text     string
	rank     int
	style    theme.Style
	shortens bool // shortened from the left before it is left out
}

// shortDir is the width to which a directory may be shortened.
const shortDir = 12

// leftCut returns the end of a text, at most columns wide.
func leftCut(text string, columns int) string {
	for rest := text; rest != ""; {
		if display.Width(rest) <= columns-1 {
			return "…" + rest
		}
		cluster, _ := ansi.FirstGraphemeCluster(rest, ansi.GraphemeWidth)
		rest = rest[max(len(cluster), 1):]
	}
	return ""
}

// statusLine renders the status, as much as fits.
func (m *screen) statusLine(v blocks.Style) string {
	var segments []segment
	for _, s := range m.segments(v) {
		if s.text != "" {
			segments = append(segments, s)
		}
	}
	segments = fit(segments, v.Columns)
	texts := make([]string, len(segments))
	for i, s := range segments {
		texts[i] = s.style.Render(display.Cut(s.text, v.Columns, "…"))
	}
	return strings.Join(texts, v.Theme.Dim.Render(" · "))
}

// fit selects the segments that fit, lowest rank first, and keeps their order. A
// later segment may fit where an earlier one does not.
func fit(segments []segment, columns int) []segment {
	byRank := make([]int, len(segments))
	for i := range byRank {
		byRank[i] = i
	}
	slices.SortStableFunc(byRank, func(a, b int) int { return segments[a].rank - segments[b].rank })
	kept := make([]bool, len(segments))
	room := columns + 3
	for n, i := range byRank {
		s := &segments[i]
		if s.shortens && display.Width(s.text)+3 > room && room-3 >= shortDir {
			s.text = leftCut(s.text, room-3)
		}
		if need := display.Width(s.text) + 3; need <= room || n == 0 {
			kept[i] = true
			room -= need
		}
	}
	var fitting []segment
	for i, s := range segments {
		if kept[i] {
			fitting = append(fitting, s)
		}
	}
	return fitting
}

func (m *screen) segments(v blocks.Style) []segment {
	s, t := m.status, v.Theme
	dir := display.Line(s.Dir)
	if s.Branch != "" {
		dir += " (" + display.Line(s.Branch) + ")"
	}
	mode := segment{text: policy.ApprovalMode(s.Mode).Flag(), rank: 1, style: t.Dim}
	switch policy.ApprovalMode(s.Mode) {
	case policy.ModeYolo:
		mode.style = t.Error
	case policy.ModeAutoEdit, policy.ModeAuto:
		mode.style = t.Warning
	case policy.ModePlan:
		mode.style = t.Accent
	}
	trust := segment{rank: 3, style: t.Dim}
	if s.Trust != "trusted" {
		trust.text = "directory " + display.Line(s.Trust)
	}
	if s.Trust == "undecided" {
		trust.text = "trust undecided"
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
		elapsed = blocks.Duration(d.Truncate(time.Minute))
	}
	notice := segment{rank: 0, style: t.Warning}
	if m.notice != "" && m.input.Text() != "" {
		notice.text = m.notice
	}
	return []segment{
		notice,
		{text: display.Line(s.Product), rank: 6, style: t.Strong},
		{text: dir, rank: 4, style: t.Dim, shortens: true},
		{text: display.Line(s.Model), rank: 2, style: t.Dim},
		mode,
		m.contextLeft(s.Tokens, s.Limit, v),
		{text: tokens(s.Tokens), rank: 5, style: t.Dim},
		{text: servers, rank: 7, style: t.Dim},
		trust,
		{text: confined(display.Line(s.Confined)), rank: 8, style: t.Dim},
		{text: elapsed, rank: 9, style: t.Dim},
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
		return display.Thousands(n) + " tokens"
	}
	return display.Thousands(n/1000) + "k tokens"
}

// The bar of the used context, and the free parts of the context, in percent, from which
// its colour warns.
const (
	barFrom    = 110 // columns of the screen
	barColumns = 8
	littleLeft = 20
	almostFull = 10
)

// contextLeft shows the free part of the model's context in percent, in a wide terminal
// with a bar of the used part.
func (m *screen) contextLeft(tokens, limit int, v blocks.Style) segment {
	if limit <= 0 {
		return segment{}
	}
	left := max(0, 100-(100*tokens+limit-1)/limit)
	s := segment{text: fmt.Sprintf("%d%% left", left), rank: 1, style: v.Theme.Dim}
	if v.Columns >= barFrom {
		s.text = m.bar.ViewAs(float64(100-left)/100) + " " + s.text
	}
	switch {
	case left <= almostFull:
		s.style = v.Theme.Error
	case left <= littleLeft:
		s.style = v.Theme.Warning
	}
	return s
}

// newBar returns the bar of the used context, without colours: its segment has them.
func newBar() progress.Model {
	bar := progress.New(progress.WithoutPercentage(), progress.WithWidth(barColumns), progress.WithFillCharacters('█', '░'))
	bar.FullColor, bar.EmptyColor = nil, nil
	return bar
}
