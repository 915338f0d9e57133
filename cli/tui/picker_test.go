package tui

import (
	"fmt"
	"image/color"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/core/bus"
)

// modelsPick returns a list of models.
func modelsPick() interactive.Pick {
	return interactive.Pick{Title: "Models", Usage: "/model NAME selects a model.", Empty: "No models.", Items: []interactive.PickItem{
		{Name: "anthropic:claude-fable", State: "no key", Description: "set ANTHROPIC_API_KEY", Detail: "Set `ANTHROPIC_API_KEY` and start again."},
		{Name: "gemini:gemini-flash", State: "current", Description: "alias flash", Submit: "/model gemini:gemini-flash", Selected: true},
		{Name: "gemini:gemini-pro", Description: "alias pro, for work that needs thought \x1b[2J", Submit: "/model gemini:gemini-pro"},
		{Name: "openai:gpt-日本", Submit: "/model openai:gpt"},
	}}
}

func manyPick(n int) interactive.Pick {
	p := interactive.Pick{Title: "Numbers", Empty: "No numbers."}
	for i := range n {
		p.Items = append(p.Items, interactive.PickItem{Name: fmt.Sprintf("number-%d", i+1), Description: fmt.Sprintf("the square is %d", (i+1)*(i+1)), Submit: fmt.Sprint("/n ", i+1)})
	}
	return p
}

func (r *rig) picks(p interactive.Pick) {
	r.Helper()
	r.plays(interactive.Event{Kind: interactive.EventPick, Pick: &p})
	r.s.work = nil
}

// A list in each of its states, at each size, without colours (UI-04).
func TestPickerScreens(t *testing.T) {
	screens := map[string]func(r *rig){
		"picker": func(r *rig) { r.picks(modelsPick()) },
		"picker-filtered": func(r *rig) {
			r.picks(manyPick(120))
			r.typeIn("nu11")
			r.press("down")
		},
		"picker-scrolled": func(r *rig) {
			r.picks(manyPick(1200))
			r.press("end", "up")
		},
		"picker-no-match": func(r *rig) {
			r.picks(modelsPick())
			r.typeIn("zzz")
		},
		"picker-sessions": func(r *rig) { r.picks(sessionsPick()) },
		"picker-settings": func(r *rig) { r.picks(settingsPick()) },
		"picker-servers": func(r *rig) {
			r.picks(serversPick())
			r.typeIn("refused")
		},
		"picker-refused": func(r *rig) { // Enter on an entry that cannot be chosen
			r.picks(sessionsPick())
			r.press("enter")
		},
		"picker-theme": func(r *rig) {
			r.picks(themesPick())
			r.press("down")
		},
		"picker-empty": func(r *rig) { r.picks(interactive.Pick{Title: "Sessions", Empty: "This project has no sessions yet."}) },
	}
	for name, play := range screens {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, newFake())
			play(r)
			r.golden(name, size{200, 50})
		})
	}
}

// sessionsPick, settingsPick and serversPick are lists as the session makes them.
func sessionsPick() interactive.Pick {
	return interactive.Pick{Title: "Sessions of this project", Items: []interactive.PickItem{
		{Name: "Fix the build of the release branch, and then write a test for it", State: "current", Description: "12 turns, 7a266b0200592574c52ffc8c17d6d643", Detail: "7a266b0200592574c52ffc8c17d6d643\nstarted 2026-01-02 11:30, 12 turns, model gemini-pro", Selected: true},
		{Name: "Why is it slow?", State: "3 h ago", Description: "2 turns, b02dec1f76bea8c5fc9195255fe0e766", Detail: "b02dec1f76bea8c5fc9195255fe0e766", Submit: "/resume b02dec1f76bea8c5fc9195255fe0e766"},
		{Name: "session-2026-01-01.jsonl", State: "broken", Description: "It is not a recording.", Detail: "It is not a recording.\n/home/me/.fettle/session-2026-01-01.jsonl"},
	}}
}

func settingsPick() interactive.Pick {
	return interactive.Pick{Title: "Settings", Items: []interactive.PickItem{
		{Name: "general.maxAttempts", State: "10", Description: "Maximum number of attempts of a request.", Detail: "Maximum number of attempts of a request.\nTakes a whole number of at least 1.\ndefault: 10", Submit: "/settings general.maxAttempts"},
		{Name: "ui.theme", State: `"dark"`, Description: "(user) The name of a colour theme.", Detail: "The name of a colour theme.\nTakes a text.\nuser: \"dark\", /home/me/.fettle/settings.json:3\nproject: \"none\", /p/.fettle/settings.json:1 (without effect: it is not trusted)", Submit: "/settings ui.theme", Selected: true},
	}}
}

func serversPick() interactive.Pick {
	return interactive.Pick{Title: "MCP servers", Items: []interactive.PickItem{
		{Name: "store", State: "connected", Description: "3 tools, 1 prompt, confined", Detail: "3 tools, 1 prompt, confined\nSells things.", Submit: "/mcp show store"},
		{Name: "far", State: "disconnected", Description: "connection refused", Detail: "0 tools\nconnection refused", Submit: "/mcp show far"},
	}}
}

func themesPick() interactive.Pick {
	p := interactive.Pick{Title: "Theme", Usage: "/theme NAME selects a theme."}
	for _, name := range theme.Names() {
		p.Items = append(p.Items, interactive.PickItem{Name: name, Theme: name, Submit: "/theme " + name})
	}
	p.Items[0].State = "current"
	return p
}

// A theme is displayed while it is selected. Esc restores the previous one; Enter keeps
// it, and so does a later report of the terminal's background (UI-04).
func TestPickerPreviewsThemes(t *testing.T) {
	named := func(name string, light bool) theme.Theme {
		return theme.New(theme.Options{Name: name, Light: light, Profile: colorprofile.TrueColor})
	}
	start := named(theme.Default, false)
	r := newRig(t, newFake(), func(o *Options) {
		o.Theme, o.Themes = start, named
		o.Background = func(light bool) theme.Theme { return named(theme.Default, light) }
	})
	r.picks(themesPick())
	require.Equal(t, start, r.m.o.Theme)
	r.press("down")
	require.Equal(t, named(theme.OnLight, false), r.m.o.Theme)
	r.typeIn("none")
	require.Equal(t, named(theme.None, false), r.m.o.Theme)
	r.press("esc")
	require.Equal(t, start, r.m.o.Theme)
	r.picks(themesPick())
	r.press("down", "enter")
	r.until(func() bool { return r.m.turn == nil })
	require.Equal(t, named(theme.OnLight, false), r.m.o.Theme)
	r.send(tea.BackgroundColorMsg{Color: color.White})
	require.Equal(t, named(theme.OnLight, true), r.m.o.Theme)
	r.plays(interactive.Event{Kind: interactive.EventTheme, Text: theme.Default})
	require.Equal(t, named(theme.Default, true), r.m.o.Theme)
}

// Enter submits the input of the selected item; Esc submits nothing (UI-04).
func TestPickerChooses(t *testing.T) {
	for name, tt := range map[string]struct {
		keys   []string
		filter string
		want   string // "": nothing is submitted
	}{
		"initially selected": {nil, "", "/model gemini:gemini-flash"},
		"next":               {[]string{"down"}, "", "/model gemini:gemini-pro"},
		"stops at the end":   {[]string{"down", "down", "down", "down"}, "", "/model openai:gpt"},
		"end and up":         {[]string{"end", "up"}, "", "/model gemini:gemini-pro"},
		"name":               {nil, "gpro", "/model gemini:gemini-pro"},
		"description":        {nil, "thought", "/model gemini:gemini-pro"},
		"two words":          {nil, "gem alias pro", "/model gemini:gemini-pro"},
		"no match":           {nil, "gem zzz", ""},
		"without input":      {[]string{"home"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, newFake())
			r.picks(modelsPick())
			r.press(tt.keys...)
			r.typeIn(tt.filter)
			r.press("enter")
			if tt.want == "" {
				require.NotNil(t, r.m.picker)
				r.press("esc")
				require.Nil(t, r.m.picker)
				require.Equal(t, []string{"go"}, r.s.texts())
				return
			}
			require.Nil(t, r.m.picker)
			r.until(func() bool { return r.m.turn == nil })
			require.Equal(t, []string{"go", tt.want}, r.s.texts())
		})
	}
}

// The filter is edited like the input, also with a paste, and never reaches the input.
func TestPickerFilter(t *testing.T) {
	r := newRig(t, newFake())
	r.picks(manyPick(30))
	r.typeIn("zzz")
	r.press("ctrl+u")
	r.m.paste("number-\n30")
	require.Contains(t, r.text(), "filter: number- 30")
	require.Contains(t, r.text(), "> number-30")
	r.press("ctrl+w")
	r.typeIn("28")
	require.Contains(t, r.text(), "> number-28")
	r.send(batchMsg{keyOf("ctrl+u"), keyOf("2"), keyOf("9")})
	require.Contains(t, r.text(), "> number-29")
	require.Empty(t, r.m.input.Text())
}

// A request of a tool comes before the list, which remains (UI-04).
func TestPickerYieldsToRequests(t *testing.T) {
	r := newRig(t, newFake())
	r.picks(modelsPick())
	answer := asks(r, bus.AskUserRequest{Questions: []bus.UserQuestion{{Question: "Really?", Type: bus.QuestionYesNo}}})
	require.NotContains(t, r.text(), "filter:")
	r.press("esc")
	receive(t, answer)
	require.Contains(t, r.text(), "filter:")
}
