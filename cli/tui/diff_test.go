package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/theme"
)

// goChange is a change of a Go file.
const goChange = `--- a/main.go
+++ b/main.go
@@ -1,9 +1,10 @@
 package main
 
-import "fmt"
+import "log"
 
 // greet greets a user, by name.
-func greet(name string) {
-	fmt.Println("Hello, " + name) // 漢字
+func greet(name, title string) {
+	// Titles come first.
+	log.Println("Hello, " + title + name) // 漢字
 }
@@ -40,2 +41,2 @@ func main() {
-	x()
+	return 1 + len(os.Args)
 }
`

// A diff that needs approval, in each of the themes: backgrounds, marks on the changed
// words, the colours of the code, and two columns on a wide terminal (UI-01). The
// files hold the escape sequences; show them with cat.
func TestDiffColours(t *testing.T) {
	for name, o := range map[string]theme.Options{
		"dark":  {Name: theme.OnDark, Profile: colorprofile.TrueColor},
		"light": {Name: theme.OnLight, Profile: colorprofile.TrueColor},
		"256":   {Name: theme.OnDark, Profile: colorprofile.ANSI256},
		"16":    {Name: theme.ANSI, Profile: colorprofile.ANSI},
		"none":  {Name: theme.None, Profile: colorprofile.ASCII},
		"plain": {Profile: colorprofile.NoTTY},
	} {
		t.Run(name, func(t *testing.T) {
			look := theme.New(o)
			r := newRig(t, newFake())
			r.m.look, r.m.patience = &look, 0
			r.m.colours.Until(time.Time{}) // not as in the first frame
			q := editQuestion()
			q.Details.EditDetails.FileDiff = goChange
			asks(r, q)
			for _, size := range []size{{80, 24}, {200, 50}} {
				r.size(size.width, size.height)
				screen := r.m.View().Content
				for line := range strings.Lines(screen) {
					require.LessOrEqual(t, display.Width(strings.TrimSuffix(line, "\n")), size.width)
				}
				path := filepath.Join("testdata", fmt.Sprintf("diff-%s-%dx%d.ansi", name, size.width, size.height))
				if *update {
					require.NoError(t, os.WriteFile(path, []byte(screen), 0o644))
				}
				want, err := os.ReadFile(path)
				require.NoError(t, err)
				require.Equal(t, string(want), screen)
			}
		})
	}
}

// Of a long diff, the visible lines have colours wherever the body is scrolled to
// (UI-01).
func TestLongDiff(t *testing.T) {
	look := theme.New(theme.Options{Name: theme.OnDark, Profile: colorprofile.TrueColor})
	r := newRig(t, newFake())
	r.m.look, r.m.patience = &look, 0
	r.m.colours.Until(time.Time{}) // not as in the first frame
	q := editQuestion()
	q.Details.EditDetails.FileDiff = "@@ -1,5000 +1,5000 @@\n" + strings.Repeat("-func f(a int)\n+func f(b int)\n", 5000)
	asks(r, q)
	for _, keys := range []string{"home", "end", "pgup"} {
		r.press(keys)
		require.Contains(t, r.m.View().Content, look.AddedWord.Render("b"), keys)
		require.Contains(t, r.m.View().Content, look.Syntax.Keyword.On(look.AddedLine).Render("func"), keys)
	}
	require.Contains(t, r.text(), "of 10001")
}
