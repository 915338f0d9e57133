package theme

import (
	"image/color"
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
	v := reflect.ValueOf(theme)
	for i := range v.NumField() {
		all[v.Type().Field(i).Name] = v.Field(i).Interface().(Style)
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
				for _, style := range styles(theme) {
					if style.Foreground != nil {
						coloured++
						require.Equal(t, p.Convert(style.Foreground), style.Foreground, "the terminal has it")
					}
				}
				require.Equal(t, p == colorprofile.ASCII || name == None, coloured == 0, "%s %s", name, p)
				require.NotEqual(t, theme.Added, theme.Removed)
				require.NotEqual(t, theme.Error, theme.Text)
				require.NotEqual(t, theme.Selected, theme.Text)
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
