package theme

import (
	"image/color"
	"math"
	"reflect"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

func TestProfile(t *testing.T) {
	for want, environs := range map[colorprofile.Profile][][]string{
		colorprofile.NoTTY:     {nil, {"TERM=dumb"}, {"TERM="}, {"TERM=dumb", "COLORTERM=truecolor"}},
		colorprofile.ASCII:     {{"TERM=xterm-256color", "NO_COLOR=1"}, {"TERM=xterm-256color", "NO_COLOR=yes, please"}, {"TERM=xterm", "COLORTERM=truecolor", "NO_COLOR=0"}},
		colorprofile.ANSI:      {{"TERM=xterm"}, {"TERM=linux"}, {"TERM=xterm", "NO_COLOR="}},
		colorprofile.ANSI256:   {{"TERM=xterm-256color"}, {"TERM=screen"}, {"TERM=dumb", "TERM=xterm-256color"}},
		colorprofile.TrueColor: {{"TERM=xterm-256color", "COLORTERM=truecolor"}, {"TERM=xterm-kitty"}},
	} {
		for _, environ := range environs {
			require.Equal(t, want, Profile(environ, true), environ)
			require.Equal(t, colorprofile.NoTTY, Profile(environ, false), environ)
		}
	}
}

func TestLight(t *testing.T) {
	for value, want := range map[string]bool{"": false, "15;0": false, "0;15": true, "0;default;15": true, "0;7": true, "7;8": false, "0;default": false, "15": true, ";": false} {
		require.Equal(t, want, Light([]string{"COLORFGBG=" + value}), value)
	}
	require.False(t, Light(nil))
}

// styles returns the styles of a theme by name.
func styles(theme Theme) map[string]Style {
	all := map[string]Style{}
	for _, v := range []reflect.Value{reflect.ValueOf(theme), reflect.ValueOf(theme.Syntax)} {
		for i := range v.NumField() {
			if style, is := v.Field(i).Interface().(Style); is {
				all[v.Type().Field(i).Name] = style
			}
		}
	}
	return all
}

// A theme of any name uses only the colours of the terminal.
func TestNew(t *testing.T) {
	for _, name := range append(Names(), "", "unheard-of") {
		for _, light := range []bool{false, true} {
			for _, p := range []colorprofile.Profile{colorprofile.Unknown, colorprofile.NoTTY} {
				require.Zero(t, New(Options{Name: name, Profile: p, Light: light}))
			}
			for _, p := range []colorprofile.Profile{colorprofile.ASCII, colorprofile.ANSI, colorprofile.ANSI256, colorprofile.TrueColor} {
				theme := New(Options{Name: name, Profile: p, Light: light})
				coloured := 0
				require.Len(t, theme.styles(), len(styles(theme)), "every style is converted")
				for _, style := range styles(theme) {
					require.True(t, style.Background == nil || p.Convert(style.Background) == style.Background)
					if style.Foreground != nil {
						coloured++
						require.Equal(t, p.Convert(style.Foreground), style.Foreground, "the terminal has it")
					}
				}
				require.Equal(t, p == colorprofile.ASCII || name == None, coloured == 0, "%s %s", name, p)
				require.NotEqual(t, theme.Added, theme.Removed)
				require.NotEqual(t, theme.Error, theme.Text)
				require.NotEqual(t, theme.Selected, theme.Text)
				require.NotEqual(t, theme.AddedLine, theme.RemovedLine)
				require.NotEqual(t, theme.AddedLine, theme.AddedWord)
				require.NotEqual(t, theme.RemovedLine, theme.RemovedWord)
				require.Equal(t, p >= colorprofile.ANSI256 && name != ANSI && name != None, theme.Backgrounds())
				require.Equal(t, theme.Backgrounds() && name != OnDark && name != OnLight, Options{Name: name, Profile: p}.AsksBackground())
			}
		}
	}
	of := func(name string, light bool) Theme {
		return New(Options{Name: name, Profile: colorprofile.TrueColor, Light: light})
	}
	require.Equal(t, of(OnDark, true), of(Default, false))
	require.Equal(t, of(OnLight, false), of(Default, true))
	require.NotEqual(t, of(OnLight, false), of(OnDark, false))
	require.Equal(t, New(Options{Profile: colorprofile.ANSI}), of(ANSI, true), "the terminal's own")
}

func TestCheck(t *testing.T) {
	for _, name := range append(Names(), "") {
		require.NoError(t, Check(name))
	}
	err := Check("Dracula\x1b")
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	require.NotContains(t, err.Error(), "\x1b")
	require.Contains(t, fault.As(err).Remedy, "default, light, dark, ansi, none")
}

func TestRender(t *testing.T) {
	bold := Style{Bold: true, Foreground: lipgloss.Red}
	require.Equal(t, "a\nb", Style{}.Render("a\nb"))
	require.Equal(t, "", bold.Render(""))
	require.Equal(t, "\x1b[1;31ma\tb\x1b[0m\n\n\x1b[1;31mc\x1b[0m\n", bold.Render("a\tb\n\nc\n"), "each line, and no blanks")
	every := Style{Foreground: color.RGBA{1, 2, 3, 255}, Background: lipgloss.Blue, Bold: true, Faint: true, Italic: true, Underline: true, Strikethrough: true, Reverse: true}
	shown := every.Render("x")
	for _, attribute := range []string{"1", "2", "3", "4", "7", "9", "44", "38;2;1;2;3"} {
		require.Contains(t, ";"+strings.TrimSuffix(strings.TrimPrefix(shown, "\x1b["), "mx\x1b[0m")+";", ";"+attribute+";")
	}
	require.Equal(t, every, every.On(Style{Foreground: lipgloss.Green}), "its own goes first")
	require.Equal(t, Style{Bold: true, Italic: true, Foreground: lipgloss.Red}, Style{Italic: true}.On(bold))
	require.Equal(t, "x", Style{}.Lipgloss().Render("x"))
	l := every.Lipgloss()
	require.True(t, l.GetBold() && l.GetFaint() && l.GetItalic() && l.GetUnderline() && l.GetStrikethrough() && l.GetReverse())
	require.Equal(t, every.Foreground, l.GetForeground())
	require.Equal(t, every.Background, l.GetBackground())
}

// UI-01: text is legible on the backgrounds of the themes, by the contrast that WCAG
// demands of text (4.5), and code in its colours on changed lines with at least 3.
func TestContrast(t *testing.T) {
	for _, p := range []colorprofile.Profile{colorprofile.ANSI256, colorprofile.TrueColor} {
		for name, page := range map[string]color.Color{OnDark: lipgloss.Color("#1e1e1e"), OnLight: lipgloss.Color("#ffffff")} {
			theme := New(Options{Name: name, Profile: p})
			text := map[string]color.Color{"default": lipgloss.Color("#d8d8d8"), "dim": theme.Dim.Foreground}
			if name == OnLight {
				text["default"] = lipgloss.Color("#202020")
			}
			for kind, style := range styles(theme) {
				if style.Foreground != nil {
					text[kind] = style.Foreground
				}
			}
			syntax := styles(Theme{Syntax: theme.Syntax})
			for kind, style := range syntax {
				if style == (Style{}) {
					delete(syntax, kind)
				}
			}
			for on, background := range map[string]color.Color{"page": page, "added": theme.AddedLine.Background, "removed": theme.RemovedLine.Background} {
				for kind, foreground := range text {
					least := 4.5
					if on != "page" {
						if _, code := syntax[kind]; !code && kind != "default" {
							continue // only code is on these backgrounds
						}
						least = 3
					}
					require.GreaterOrEqual(t, contrast(foreground, background), least, "%s %s: %s on %s", name, p, kind, on)
				}
			}
			for _, background := range []color.Color{theme.AddedWord.Background, theme.RemovedWord.Background} {
				require.GreaterOrEqual(t, contrast(text["default"], background), 4.5)
			}
		}
	}
}

// contrast returns the contrast ratio of two colours, 1 to 21.
func contrast(a, b color.Color) float64 {
	luminance := func(c color.Color) float64 {
		part := func(v uint32) float64 {
			f := float64(v) / 0xffff
			if f <= 0.04045 {
				return f / 12.92
			}
			return math.Pow((f+0.055)/1.055, 2.4)
		}
		r, g, b, _ := c.RGBA()
		return 0.2126*part(r) + 0.7152*part(g) + 0.0722*part(b)
	}
	high, low := luminance(a), luminance(b)
	return (max(high, low) + 0.05) / (min(high, low) + 0.05)
}

func TestASCII(t *testing.T) {
	for value, want := range map[string]bool{"": false, "en_US.UTF-8": false, "C.utf8": false, "C": true, "POSIX": true, "de_DE.ISO-8859-1": true} {
		require.Equal(t, want, ASCII([]string{"LANG=" + value}), value)
	}
	require.False(t, ASCII([]string{"LANG=C", "LC_ALL=", "LC_CTYPE=en_US.UTF-8"}), "LC_CTYPE counts before LANG")
	require.True(t, ASCII([]string{"LANG=en_US.UTF-8", "LC_ALL=C"}))
	require.True(t, New(Options{ASCII: true}).ASCII)
}
