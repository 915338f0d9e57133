package hooks

import (
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// resolved is a word of a command, as far as it can be told.
type resolved struct {
	text    string // what is known of it
	unknown bool   // there is more, or something else
	glob    bool   // it stands for the files that match text
	splits  bool   // a value in it is not quoted, and is several words where it has blanks
}

// texts are the words that it may be.
func (w resolved) texts() []string {
	if w.text == "" || w.unknown || w.glob {
		return nil
	}
	if fields := strings.Fields(w.text); w.splits && len(fields) > 1 {
		return append(fields, w.text)
	}
	return []string{w.text}
}

// name is that of a program, without its folder.
func (w resolved) name() string {
	if w.unknown || w.glob {
		return ""
	}
	return strings.TrimSuffix(filepath.Base(w.text), ".exe")
}

// resolve reads a word as bash does.
func (r *reading) resolve(w *syntax.Word) resolved {
	if w == nil {
		return resolved{}
	}
	var out resolved
	for i, part := range w.Parts {
		if literal, ok := part.(*syntax.Lit); ok {
			text := literal.Value
			if home := r.vars["HOME"]; i == 0 && home != "" && (text == "~" && len(w.Parts) == 1 || strings.HasPrefix(text, "~/")) {
				out.text, text = home, text[1:]
			} else if i == 0 && strings.HasPrefix(text, "~") {
				out.unknown = true
			}
			if strings.Contains(text, "{") && strings.ContainsAny(text, ",.") {
				out.unknown = true // braces
			}
			out.glob = out.glob || hasGlob(text)
			out.text += unescaped(text, false)
			continue
		}
		r.part(&out, part, false)
	}
	return out
}

// part reads what is no plain text.
func (r *reading) part(out *resolved, part syntax.WordPart, quoted bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		out.text += unescaped(p.Value, quoted)
	case *syntax.SglQuoted:
		out.text += p.Value
		out.unknown = out.unknown || p.Dollar && strings.Contains(p.Value, `\`)
	case *syntax.DblQuoted:
		for _, inner := range p.Parts {
			r.part(out, inner, true)
		}
	case *syntax.ParamExp:
		out.splits = out.splits || !quoted
		r.parameter(out, p)
	case *syntax.ExtGlob:
		out.unknown = true
	default: // what a command prints, a number
		out.unknown = true
	}
}

// parameter reads a variable, by its value or by what stands for it where it has
// none.
func (r *reading) parameter(out *resolved, p *syntax.ParamExp) {
	whole := p.Param == nil || p.Excl || p.Length || p.Width || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0 || p.Flags != nil || p.NestedParam != nil
	if whole {
		out.unknown = true
		return
	}
	value, known := r.vars[p.Param.Value]
	switch {
	case p.Exp == nil && known:
		out.text += value
	case p.Exp != nil && known && (p.Exp.Op == syntax.DefaultUnset || p.Exp.Op == syntax.DefaultUnsetOrNull && value != "" ||
		p.Exp.Op == syntax.ErrorUnset || p.Exp.Op == syntax.ErrorUnsetOrNull || p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull && value != ""):
		out.text += value
	default:
		out.unknown = true
	}
}

// hasGlob reports whether a text that is not quoted is a pattern.
func hasGlob(text string) bool {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return len(text) > 1 // [ alone is a program
		}
	}
	return false
}

// unescaped is a text without the backslashes that bash takes away.
func unescaped(text string, quoted bool) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("$`\"\\\n", text[i+1]) >= 0) {
			if i++; text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
