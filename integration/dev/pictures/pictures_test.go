package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// UI-06: the pictures of the documentation show the program as it is. Run the command to update them.
func TestPicturesAreCurrent(t *testing.T) {
	const kept = "../../../docs/pictures"
	made := t.TempDir()
	require.NoError(t, write(t.Context(), made))
	drawn, err := filepath.Glob(filepath.Join(kept, "*.svg")) // photographs of pages come from the tests of the hub
	require.NoError(t, err)
	require.Len(t, scenes(), len(drawn), "a picture without a scene")
	for _, s := range scenes() {
		want, err := os.ReadFile(filepath.Join(kept, s.name+".svg"))
		require.NoError(t, err)
		have, err := os.ReadFile(filepath.Join(made, s.name+".svg"))
		require.NoError(t, err)
		// The estimate of tokens includes the date, whose length depends on the day.
		tokens := regexp.MustCompile(`[0-9]+,[0-9]{3} tokens`)
		want, have = tokens.ReplaceAll(want, []byte("N tokens")), tokens.ReplaceAll(have, []byte("N tokens"))
		require.Equal(t, string(want), string(have), "run: go run -C integration/dev ./pictures -to ../../docs/pictures")
		require.Less(t, len(have), 100<<10, s.name)
	}
}

// Characters of a screen cannot become elements of the document, and a run of one style is one
// text at its column.
func TestPicture(t *testing.T) {
	line := func(text string) []cell {
		var cells []cell
		for _, r := range text {
			cells = append(cells, cell{text: string(r)})
		}
		return cells
	}
	hostile := line(`  <script>&"]]>`)
	hostile[2].bg, hostile[2].bold = "#112233", true
	wide := []cell{{text: "漢"}, {}, {text: "a"}}
	doc := picture(scene{about: "<&>", columns: 20, rows: 2}, []frame{{lines: [][]cell{hostile, wide}, hold: 1}, {hidden: true, hold: 3}})
	d := xml.NewDecoder(strings.NewReader(doc))
	var texts []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "text" {
			var text string
			require.NoError(t, d.DecodeElement(&text, &e))
			texts = append(texts, text)
		}
	}
	require.Equal(t, []string{"<", `script>&"]]>`, "漢a"}, texts)
	require.Contains(t, doc, `<rect x="16.8" y="0" width="8.4" height="18" fill="#112233"/>`)
	require.Contains(t, doc, "25.00%{visibility:hidden}")
	require.Equal(t, 1, strings.Count(doc, `opacity=".7"`), "a hidden cursor is not drawn")
}

// The home directory of a scene has its name in pictures, wherever it is in a line.
func TestRename(t *testing.T) {
	const home = "/tmp/0000"
	require.Len(t, homeShown, len(home))
	var cells []cell
	for _, r := range "漢 " + home + "/a " + home {
		cells = append(cells, cell{text: string(r)})
	}
	rename(cells, home)
	var b strings.Builder
	for _, c := range cells {
		b.WriteString(c.text)
	}
	require.Equal(t, "漢 "+homeShown+"/a "+homeShown, b.String())
}
