package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ours is the name of the contestant whose losses the page lists first.
const ours = "fettle"

// present returns the contestants that took part.
func (r *Run) present() []string {
	var all []string
	for _, e := range r.Contestants {
		if e.Absent == "" {
			all = append(all, e.Name)
		}
	}
	return all
}

// tally counts the verdicts of a contestant in a group.
func (r *Run) tally(group, contestant string) map[Verdict]int {
	n := map[Verdict]int{}
	for _, x := range r.Results {
		if g, _, _ := strings.Cut(x.Case, "/"); g == group && x.Contestant == contestant {
			n[x.Verdict]++
		}
	}
	return n
}

// remedied counts the ends of the remedies of a contestant in a group.
func (r *Run) remedied(group, contestant string) map[Verdict]int {
	n := map[Verdict]int{}
	for _, x := range r.Results {
		if g, _, _ := strings.Cut(x.Case, "/"); g == group && x.Contestant == contestant && x.Remedy != "" {
			n[x.Remedy]++
		}
	}
	return n
}

// loss is a case or a figure in which another contestant is better than ours.
type loss struct{ Group, Title, Ours, Better string }

// losses returns where ours is worse than another contestant, or wrong.
func (r *Run) losses() []loss {
	var all []loss
	titles := map[string]*Case{}
	for _, c := range cases() {
		titles[c.ID] = &c
	}
	byCase := map[string]map[string]Result{}
	for _, x := range r.Results {
		if byCase[x.Case] == nil {
			byCase[x.Case] = map[string]Result{}
		}
		byCase[x.Case][x.Contestant] = x
	}
	for _, c := range cases() {
		mine, ok := byCase[c.ID][ours]
		if !ok || mine.Verdict == None {
			continue
		}
		var better []string
		for _, name := range r.present() {
			if x, ok := byCase[c.ID][name]; ok && x.Verdict.rank() < mine.Verdict.rank() {
				better = append(better, name+" "+string(x.Verdict))
			}
		}
		if len(better) > 0 || mine.Verdict == Wrong {
			end := strings.TrimSpace(string(mine.Verdict) + " " + mine.Why)
			if mine.Remedy == Done {
				end += fmt.Sprintf(", then done by %d call%s", mine.Calls, map[bool]string{true: "s"}[mine.Calls != 1])
			}
			all = append(all, loss{c.group(), titles[c.ID].Title, end, strings.Join(better, ", ")})
		}
	}
	for _, m := range measures() {
		for _, key := range m.Keys {
			f := r.figures(key[0])
			mine, ok := f[ours]
			if !ok {
				continue
			}
			var better []string
			for _, name := range r.present() {
				if x, ok := f[name]; ok && x.Failed == "" && (mine.Failed != "" || x.Value < mine.Value) {
					better = append(better, name+" "+value(x))
				}
			}
			if len(better) > 0 {
				all = append(all, loss{m.Title, key[1], value(mine), strings.Join(better, ", ")})
			}
		}
	}
	return all
}

// figures returns the figures of a key by contestant.
func (r *Run) figures(key string) map[string]Figure {
	all := map[string]Figure{}
	for _, f := range r.Figures {
		if f.Key == key {
			all[f.Contestant] = f
		}
	}
	return all
}

func value(f Figure) string {
	if f.Failed != "" {
		return "failed"
	}
	if f.Value == float64(int64(f.Value)) {
		digits := fmt.Sprintf("%d", int64(f.Value))
		for i := len(digits) - 3; i > 0; i -= 3 {
			digits = digits[:i] + "," + digits[i:]
		}
		return digits
	}
	return fmt.Sprintf("%.1f", f.Value)
}

// groupTable returns the verdicts of each contestant in a group.
func (r *Run) groupTable(group string) string {
	var b strings.Builder
	b.WriteString("| | done | refused | of these then done | wrong |\n|---|---|---|---|---|\n")
	for _, name := range r.present() {
		n := r.tally(group, name)
		if n[Done]+n[Refused]+n[Wrong] == 0 {
			continue
		}
		then := r.remedied(group, name)
		text := fmt.Sprint(then[Done])
		if then[Wrong] > 0 {
			text += fmt.Sprintf(", then wrong %s", bold(then[Wrong]))
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %s | %s |\n", name, n[Done], n[Refused], text, bold(n[Wrong]))
	}
	return b.String()
}

func bold(n int) string {
	if n > 0 {
		return fmt.Sprintf("**%d**", n)
	}
	return "0"
}

// caseTable returns the verdict of each contestant in each case of a group.
func (r *Run) caseTable(group string) string {
	var names []string
	for _, name := range r.present() {
		n := r.tally(group, name)
		if n[Done]+n[Refused]+n[Wrong] > 0 {
			names = append(names, name)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| case | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("---|", len(names)))
	for _, c := range cases() {
		if c.group() != group {
			continue
		}
		title := c.Title
		if c.Do.Kind == Shell {
			title = "`" + strings.ReplaceAll(title, "`", "´") + "`"
		}
		fmt.Fprintf(&b, "| %s |", cell(title))
		for _, name := range names {
			v, then := None, Verdict("")
			for _, x := range r.Results {
				if x.Case == c.ID && x.Contestant == name {
					v, then = x.Verdict, x.Remedy
				}
			}
			text := map[Verdict]string{Done: "done", Refused: "refused", Wrong: "**wrong**", None: ""}[v]
			fmt.Fprintf(&b, " %s |", text+map[Verdict]string{Done: ", then done", Wrong: ", then **wrong**"}[then])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// wrongs lists the wrong ends of a group, with their reasons.
func (r *Run) wrongs(group string) string {
	reasons := map[string][]string{}
	for _, x := range r.Results {
		if g, _, _ := strings.Cut(x.Case, "/"); g == group && x.Verdict == Wrong {
			key := x.Contestant + ": " + x.Why
			reasons[key] = append(reasons[key], strings.TrimPrefix(x.Case, group+"/"))
		}
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(reasons)) {
		who, why, _ := strings.Cut(key, ": ")
		fmt.Fprintf(&b, "- %s, %s: %s\n", who, strings.Join(reasons[key], ", "), cell(code(why)))
	}
	return b.String()
}

// code puts a text in backquotes.
func code(s string) string { return "`" + strings.ReplaceAll(s, "`", "´") + "`" }

// figureTable returns the figures of a work.
func (r *Run) figureTable(m Measure) string {
	var b strings.Builder
	b.WriteString("| |")
	for _, key := range m.Keys {
		fmt.Fprintf(&b, " %s |", key[1])
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(m.Keys)) + "\n")
	for _, name := range r.present() {
		row, any := "| "+name+" |", false
		for _, key := range m.Keys {
			f, ok := r.figures(key[0])[name]
			any = any || ok
			switch {
			case !ok:
				row += " |"
			case f.Failed != "":
				row += " failed: " + cell(f.Failed) + " |"
			case f.Note != "":
				row += fmt.Sprintf(" %s (%s) |", value(f), f.Note)
			default:
				row += " " + value(f) + " |"
			}
		}
		if any {
			b.WriteString(row + "\n")
		}
	}
	return b.String()
}

func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ⏎ ").Replace(s)
}

// summary returns the tables of a run as text.
func summary(r *Run) string {
	var b strings.Builder
	for _, e := range r.Contestants {
		fmt.Fprintf(&b, "%s (%s) %s%s\n", e.Name, e.Kind, e.Version, map[bool]string{true: "absent: " + e.Absent}[e.Absent != ""])
	}
	for _, g := range groups() {
		fmt.Fprintf(&b, "\n%s\n%s%s", g.Title, r.groupTable(g.Key), r.wrongs(g.Key))
	}
	for _, m := range measures() {
		fmt.Fprintf(&b, "\n%s\n%s", m.Title, r.figureTable(m))
	}
	b.WriteString("\nWhere fettle loses\n")
	for _, l := range r.losses() {
		fmt.Fprintf(&b, "%s, %s: %s; %s\n", l.Group, l.Title, l.Ours, l.Better)
	}
	return b.String()
}
