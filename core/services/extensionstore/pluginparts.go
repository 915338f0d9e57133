package extensionstore

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// pluginParts adds the parts of a plugin. Files that sessions do not load are among the
// omitted parts only.
func (s *Store) pluginParts(ctx context.Context, e extensions.Extension, p *Parts) {
	p.Omitted = slices.Clone(e.Plugin.Omitted)
	if s.o.Omitted != nil {
		for _, o := range s.o.Omitted(ctx, e) {
			o.Part = below(e, o.Part)
			p.Omitted = append(p.Omitted, o)
		}
	}
	slices.SortStableFunc(p.Omitted, func(a, b extensions.Omitted) int {
		return cmp.Or(cmp.Compare(a.Part, b.Part), cmp.Compare(a.Line, b.Line))
	})
	p.Omitted = slices.Compact(p.Omitted)
	lost := func(file string) bool {
		return slices.ContainsFunc(p.Omitted, func(o extensions.Omitted) bool { return o.Part == below(e, file) })
	}
	for _, root := range e.Plugin.Commands {
		for _, file := range markdownFiles(ctx, root, true) {
			if lost(file) {
				continue
			}
			base := root
			if file == root {
				base = filepath.Dir(root)
			}
			rel, _ := filepath.Rel(base, file) // it is below
			name := strings.ReplaceAll(strings.TrimSuffix(filepath.ToSlash(rel), ".md"), "/", ":")
			p.Commands = append(p.Commands, CommandPart{Name: "/" + e.Name + ":" + name, Path: below(e, file), Runs: markdownRuns(file)})
		}
	}
	for _, root := range e.Plugin.Agents {
		for _, file := range markdownFiles(ctx, root, false) {
			if !lost(file) {
				p.Agents = append(p.Agents, strings.TrimSuffix(filepath.Base(file), ".md"))
			}
		}
	}
	for _, root := range e.Plugin.Skills {
		for _, pattern := range []string{pluginSkill, "*/" + pluginSkill} {
			found, _ := fs.Glob(os.DirFS(root), pattern) // the patterns are valid
			for _, file := range found {
				if full := filepath.Join(root, filepath.FromSlash(file)); !lost(full) {
					p.Skills = append(p.Skills, path.Base(filepath.ToSlash(filepath.Dir(full))))
				}
			}
		}
	}
}

// markdownFiles lists a Markdown file, or those of a directory, as absolute paths.
func markdownFiles(ctx context.Context, root string, deep bool) []string {
	if strings.HasSuffix(root, ".md") {
		return []string{root}
	}
	var all []string
	for _, file := range filesBelow(ctx, root, ".md", deep) {
		if deep || !strings.HasPrefix(file, "_") {
			all = append(all, filepath.Join(root, filepath.FromSlash(file)))
		}
	}
	return all
}

var markdownShell = lazyregexp.New("(?m)(?:^|\\s)!`|^```!")

// markdownRuns reports whether a prompt in Markdown runs shell commands. An unreadable
// file may.
func markdownRuns(file string) bool {
	data, err := lockedfile.Read(file, maxPartFile)
	return err != nil || markdownShell().Match(data)
}

// omittedLine describes an omitted part.
func omittedLine(o extensions.Omitted) string { return o.Part + ": " + o.Reason }
