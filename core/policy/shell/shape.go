package shell

import "strings"

// shape adds unquoted text to the shapes of a word.
func (c *field) shape(text string) {
	if c.inHole {
		return
	}
	for i := range c.shapes {
		c.shapes[i] += text
	}
}

// hole adds an unknown piece, with possible values.
func (c *field) hole(kind string, values []string) {
	if c.inHole {
		return
	}
	if c.shapes == nil {
		c.shapes = []string{c.template.String()}
	}
	before := c.shapes
	c.shapes = make([]string, 0, len(before)*(1+len(values)))
	for _, s := range before {
		c.shapes = append(c.shapes, s+kind)
	}
	for _, s := range before {
		for _, v := range values {
			if len(c.shapes) < maxCandidates {
				c.shapes = append(c.shapes, s+v)
			}
		}
	}
}

// globbed adds unquoted text, in which patterns stand for the names of files.
func (c *field) globbed(s string) {
	if c.inHole {
		_, after, closed := strings.Cut(s, "]")
		if !closed {
			return
		}
		s, c.inHole = after, false
	}
	if c.shapes == nil && !strings.ContainsAny(s, "*?[") {
		return
	}
	var text strings.Builder
	flush := func() {
		if c.shapes == nil && text.Len() > 0 {
			c.shapes = []string{c.template.String()}
		}
		c.shape(text.String())
		text.Reset()
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i < len(s) && s[i] != '\n' {
				text.WriteByte(s[i])
			}
		case '*', '?':
			flush()
			c.hole(HoleName, nil)
		case '[':
			flush()
			end := -1
			if i+2 < len(s) {
				end = strings.IndexByte(s[i+2:], ']')
			}
			if end < 0 {
				c.hole(HoleText, nil)
				c.inHole = true
				return
			}
			c.hole(HoleName, nil)
			i += 2 + end
		default:
			text.WriteByte(s[i])
		}
	}
	flush()
}
