package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/fettle-dev/fettle/integration/dev/svg"
)

//go:embed page.md.tmpl
var pageSource string

// writePage writes the page, its pictures and the raw results.
func writePage(docs string, r *Run) error {
	page, err := renderPage(r)
	if err != nil {
		return err
	}
	pictures := filepath.Join(docs, "toolbench")
	if err := os.MkdirAll(pictures, 0o755); err != nil {
		return err
	}
	if err := writeRaw(filepath.Join(pictures, rawName), r); err != nil {
		return err
	}
	for name, text := range map[string]string{"verdicts.svg": verdictPicture(r), "bytes.svg": bytesPicture(r)} {
		if err := os.WriteFile(filepath.Join(pictures, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(docs, "toolbench.md"), []byte(page), 0o644)
}

// writeRaw writes the raw results.
func writeRaw(path string, r *Run) error {
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

// renderPage returns the page of a run.
func renderPage(r *Run) (string, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"groups": groups, "measures": measures, "cell": cell, "losses": r.losses,
		"table": r.groupTable, "cases": r.caseTable, "wrongs": r.wrongs, "figures": r.figureTable,
	}).Parse(pageSource)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, r)
	return b.String(), err
}

// The colours of the verdicts, distinguishable without red and green.
func verdictColors() map[Verdict]string {
	return map[Verdict]string{Done: "#1a7f64", Refused: "#d0d7de", Wrong: "#b35900"}
}

const ink = "#1f2328"

// verdictPicture draws the shares of the verdicts of each contestant in each group.
func verdictPicture(r *Run) string {
	const left, right, top, step, width = 190.0, 60.0, 74.0, 20.0, 900.0
	rows := 0.0
	for range groups() {
		rows += float64(len(r.present())) + 2
	}
	c := &svg.Canvas{Width: width, Height: top + step*rows}
	title := "Verdicts by contestant"
	c.Text(16, 26, svg.Start, 16, ink, title, ` font-weight="600"`)
	x := 16.0
	for _, v := range []Verdict{Done, Refused, Wrong} {
		c.Rect(x, 38, 12, 12, verdictColors()[v])
		c.Text(x+18, 48, svg.Start, 12, ink, string(v), "")
		x += 90
	}
	y := top
	for _, g := range groups() {
		c.Text(16, y+13, svg.Start, 13, ink, g.Title, ` font-weight="600"`)
		y += step
		for _, name := range r.present() {
			n := r.tally(g.Key, name)
			total := n[Done] + n[Refused] + n[Wrong]
			if total == 0 {
				continue
			}
			c.Text(left-10, y+13, svg.End, 12, ink, name, "")
			at := left
			for _, v := range []Verdict{Done, Refused, Wrong} {
				if n[v] == 0 {
					continue
				}
				w := (width - left - right) * float64(n[v]) / float64(total)
				c.Rect(at, y+2, w, 14, verdictColors()[v])
				c.Text(at+w/2, y+13, svg.Middle, 10, map[bool]string{true: ink, false: "#ffffff"}[v == Refused], fmt.Sprint(n[v]), "")
				at += w
			}
			y += step
		}
		y += step
	}
	c.Height = y
	return c.String(title)
}

// bytesPicture draws the bytes of the tasks.
func bytesPicture(r *Run) string {
	const left, right, top, step, width = 190.0, 90.0, 60.0, 20.0, 900.0
	title := "Bytes that a model writes and reads for a task"
	c := &svg.Canvas{Width: width}
	c.Text(16, 26, svg.Start, 16, ink, title, ` font-weight="600"`)
	most := 1.0
	for _, f := range r.Figures {
		if strings.HasPrefix(f.Key, "task-") && f.Failed == "" {
			most = max(most, f.Value)
		}
	}
	y := top
	for _, m := range measures() {
		for _, key := range m.Keys {
			if !strings.HasPrefix(key[0], "task-") {
				continue
			}
			c.Text(16, y+13, svg.Start, 13, ink, key[1], ` font-weight="600"`)
			y += step
			for _, name := range r.present() {
				f, ok := r.figures(key[0])[name]
				if !ok || f.Failed != "" {
					continue
				}
				w := (width - left - right) * f.Value / most
				c.Text(left-10, y+13, svg.End, 12, ink, name, "")
				c.Rect(left, y+2, w, 14, map[bool]string{true: "#0550ae", false: "#8c959f"}[name == ours])
				c.Text(left+w+8, y+13, svg.Start, 11, ink, value(f), "")
				y += step
			}
			y += step
		}
	}
	c.Height = y
	return c.String(title)
}
