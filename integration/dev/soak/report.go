package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// The lines around the table in a page.
const (
	begin = "<!-- soak: go run -C integration/dev ./soak -for 10m -write ../../docs/fuzzing.md -->\n"
	end   = "<!-- end of soak -->\n"
)

// write writes a table into a page.
func write(page, table string) error {
	data, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, has := strings.Cut(string(data), begin)
	_, after, ends := strings.Cut(rest, end)
	if !has || !ends {
		return fmt.Errorf("%s has no lines %q and %q", page, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return os.WriteFile(page, []byte(before+begin+"\n"+table+"\n"+end+after), 0o644)
}

// table returns the result as Markdown.
func (r result) table() string {
	var b strings.Builder
	last := r.samples[len(r.samples)-1]
	fmt.Fprintf(&b, "%s, %s/%s, %d processors, %s", time.Now().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		average, _, _ := strings.Cut(string(load), " ")
		fmt.Fprintf(&b, ", load %s at the end", average)
	}
	fmt.Fprintf(&b, ". %.0f seconds, %d samples, %d calls:", last.Seconds, len(r.samples), last.Calls)
	for _, status := range names(r.calls) {
		fmt.Fprintf(&b, " %d %s", r.calls[status], status)
	}
	fmt.Fprintf(&b, ".\n%d changes were refused without a write, because the file was still open for writing.\nParts:", r.held)
	for _, name := range names(r.done) {
		fmt.Fprintf(&b, " %d %s", r.done[name], name)
	}
	b.WriteString(".\n\n| | first | minimum | median | maximum | last | growth by slope | before | after the end | |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|---|\n")
	for _, f := range r.figures {
		verdict := "flat"
		if f.wrong != "" {
			verdict = "**grew**"
		}
		fmt.Fprintf(&b, "| %s |", f.name)
		for _, v := range []float64{f.first, f.least, f.median, f.most, f.last, f.grown, f.baseline, f.after} {
			fmt.Fprintf(&b, " %s |", f.show(v))
		}
		fmt.Fprintf(&b, " %s |\n", verdict)
	}
	return b.String()
}

// svg plots each figure over time, one above the other.
func (r result) svg() string {
	const width, height, left, gap = 760, 90, 130, 26
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", left+width+20, len(r.figures)*(height+gap)+30)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/>`+"\n")
	end := max(r.samples[len(r.samples)-1].Seconds, 1)
	for n, f := range r.figures {
		top := float64(n*(height+gap) + 10)
		most := 0.0
		for _, s := range r.samples {
			most = max(most, f.of(s))
		}
		most = max(most*1.1, 1)
		fmt.Fprintf(&b, `<text x="8" y="%.0f">%s</text><text x="8" y="%.0f" fill="#666">up to %s</text>`+"\n", top+height/2, f.name, top+height/2+16, f.show(most/1.1))
		fmt.Fprintf(&b, `<rect x="%d" y="%.0f" width="%d" height="%d" fill="none" stroke="#ccc"/>`+"\n", left, top, width, height)
		b.WriteString(`<polyline fill="none" stroke="#1664c0" points="`)
		step := max(len(r.samples)/800, 1)
		for i := 0; i < len(r.samples); i += step {
			s := r.samples[i]
			fmt.Fprintf(&b, "%.1f,%.1f ", left+s.Seconds/end*width, top+height-f.of(s)/most*height)
		}
		b.WriteString("\"/>\n")
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#666">0 to %.0f seconds, each from zero</text>`+"\n</svg>\n", left, len(r.figures)*(height+gap)+18, end)
	return b.String()
}
