package shell

import "strings"

// xargsOption applies an option of xargs.
func (r *reader) xargsOption(name string, value arg) {
	switch name {
	case "process-slot-var": // its value is a small number
		slot := dynamic("0")
		slot.number = true
		if !value.Static {
			r.a.runs(r.sc, r.index, r.at-1, value.text(), "the name of the variable is unknown")
			return
		}
		r.a.assigned(r.sc, value.Text, slot)
		r.a.exported(r.sc, value.Text, slot)
	case "I", "J":
		r.placeholder = value.template
	case "i", "replace":
		r.placeholder = value.template
		if value.template == "" {
			r.placeholder = "{}"
		}
	}
}

// replaced marks the words that contain a placeholder as not static.
func replaced(ws []arg, placeholder string) []arg {
	for i, w := range ws {
		if placeholder == "" || strings.Contains(w.template, placeholder) {
			d := dynamic(w.text())
			d.filled = w.Static
			d.template = w.template
			d.head, _, _ = strings.Cut(w.head, placeholder)
			d.quoted = true
			ws[i] = d
		}
	}
	return ws
}
