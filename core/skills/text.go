package skills

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/tools"
)

// Bounds of text for a model.
const (
	maxListing = 32 << 10 // bytes of the list of skills
	maxListed  = 1 << 10  // bytes of one description in it
	maxTree    = 200      // lines of a directory tree
	maxDepth   = 5        // depth of a directory tree
)

// Listing returns the list of skills for a system prompt: each with its name, its
// description and its location, between marks that the text cannot close. It has about
// 32 KiB at most: long descriptions are cut alike, and skills beyond the limit are
// counted. Skills for the user alone are omitted. "": no skills.
func Listing(all []Skill) string {
	all = forModel(all)
	if len(all) == 0 {
		return ""
	}
	each := maxListed
	for size := maxListing + 1; size > maxListing && each > 32; each /= 2 {
		size = 0
		for _, s := range all {
			size += min(len(s.Description), each) + len(s.Name) + len(s.Path) + 120 // the marks
		}
		if size <= maxListing {
			break
		}
	}
	var b strings.Builder
	b.WriteString("<available_skills>\n")
	for i, s := range all {
		if b.Len() > maxListing {
			fmt.Fprintf(&b, "  (and %d more, which can be activated by name)\n", len(all)-i)
			break
		}
		description := escape.ClipBytes(s.Description, each)
		fmt.Fprintf(&b, "  <skill>\n    <name>%s</name>\n    <description>%s</description>\n    <location>%s</location>\n  </skill>\n",
			escaped(s.Name), escaped(description), escaped(s.location()))
	}
	b.WriteString("</available_skills>")
	return b.String()
}

// location returns the location of a skill for a model.
func (s Skill) location() string {
	if s.Path == "" {
		return string(s.Scope)
	}
	return s.Path
}

// escaped returns a text that contains no mark.
func escaped(text string) string {
	text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
	for _, tag := range []string{"available_skills", "skill", "name", "description", "location"} {
		text = tools.EscapeTag(text, tag)
	}
	return escape.Quoted(text)
}

// Text returns a skill as the model receives it on activation: its instructions and its
// directory tree, between marks that neither can close. The error is that of ctx.
func Text(ctx context.Context, s Skill) (string, error) {
	tree, err := Tree(ctx, s)
	if err != nil {
		return "", err
	}
	tree = cmp.Or(tree, "(none)\n")
	return fmt.Sprintf("<activated_skill name=\"%s\">\n  <instructions>\n%s\n  </instructions>\n  <available_resources>\n%s  </available_resources>\n</activated_skill>",
		escape.Quoted(s.Name), marked(s.Body), marked(tree)), nil
}

// Tells reports whether an answer to a model contains the result of [Text] for a skill,
// or its beginning.
func Tells(answer string) bool { return strings.Contains(answer, "<activated_skill") }

// marked returns a text that closes no mark of [Text].
func marked(text string) string {
	for _, tag := range []string{"activated_skill", "instructions", "available_resources"} {
		text = tools.EscapeTag(text, tag)
	}
	return text
}

// Tree lists a skill's directory, one name a line, with the content of directories
// indented; at most 200 lines. It is "" for a skill without a directory. Links are named
// and not followed. The error is that of ctx.
func Tree(ctx context.Context, s Skill) (string, error) {
	if s.Dir == "" {
		return "", nil
	}
	t := &tree{left: maxTree}
	t.line(0, filepath.ToSlash(s.Dir)+"/")
	if err := t.listDir(ctx, s.Dir, 1); err != nil {
		return "", err
	}
	if t.more {
		t.b.WriteString("  (and more)\n")
	}
	return t.b.String(), nil
}

// tree is the listing of one directory.
type tree struct {
	b    strings.Builder
	left int // lines
	more bool
}

func (t *tree) line(depth int, name string) {
	t.left--
	t.b.WriteString(strings.Repeat("  ", depth) + escape.Quoted(name) + "\n")
}

func (t *tree) listDir(ctx context.Context, path string, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := readDir(path)
	if err != nil {
		t.line(depth, "(cannot be listed: "+cause(err)+")")
		return nil
	}
	for _, e := range entries {
		if t.left <= 0 {
			t.more = true
			return nil
		}
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			t.line(depth, e.Name()+" (a link)")
		case !e.IsDir():
			t.line(depth, e.Name())
		case e.Name() == "node_modules" || e.Name() == ".git" || depth >= maxDepth:
			t.line(depth, e.Name()+"/ (not listed)")
		default:
			t.line(depth, e.Name()+"/")
			if err := t.listDir(ctx, filepath.Join(path, e.Name()), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// quoted returns a name quoted for a message.
func quoted(name string) string { return tools.Quote(name, maxName) }
