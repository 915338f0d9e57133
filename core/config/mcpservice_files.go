package config

import (
	"context"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/fsnotify/fsnotify"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/services/instructions"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/tools"
)

// documents are the instruction files that a model of this session would be
// given: those that hold from the beginning, then those that accesses have
// brought up. In an untrusted folder they are the user's own alone (FT-20).
func (s *served) documents(ctx context.Context) ([]instructions.Document, error) {
	sh, err := s.config.services("MCPService")
	if err != nil {
		return nil, err
	}
	all, err := s.config.startInstructions(ctx, sh, func(string) bool { return false })
	if err != nil {
		return nil, err
	}
	for _, d := range s.session.tracker.Given() {
		if !slices.ContainsFunc(all, func(known instructions.Document) bool { return known.Key == d.Key }) {
			all = append(all, d)
		}
	}
	return all, nil
}

// resources lists the instruction files.
func (s *served) resources(ctx context.Context) ([]mcp.Resource, error) {
	docs, err := s.documents(ctx)
	if err != nil {
		return nil, err
	}
	if s.options.WatchFiles && !s.options.Stateless {
		s.files.begin(ctx, s, docs)
	}
	listed := make([]mcp.Resource, len(docs))
	for i, d := range docs {
		listed[i] = mcp.Resource{
			URI: fileURI(d.Path), Name: s.nameOf(d.Path), MIMEType: markdown, Size: int64(len(d.Text)),
			Description: "Says how to work here; follow it.",
		}
	}
	return listed, nil
}

const markdown = "text/markdown"

// nameOf is a path as people know it: inside of the folder without that.
func (s *served) nameOf(path string) string {
	sh := s.config.sharedServices()
	if sh == nil {
		return filepath.Base(path)
	}
	if rel, err := filepath.Rel(sh.workspace.Target(), path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// read returns what an instruction file holds, and nothing else.
func (s *served) read(ctx context.Context, uri string) ([]tools.Resource, error) {
	docs, err := s.documents(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range docs {
		if fileURI(d.Path) == uri {
			return []tools.Resource{{URI: uri, MIMEType: markdown, Text: d.Text}}, nil
		}
	}
	return nil, fault.New(fault.FileNotFound, "config.mcpService", "There is no resource "+escape.ClipBytes(escape.Text(uri), 200)+".",
		"List the resources; other files are read with read_file.")
}

// fileURI is an absolute path as a URI.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a drive of Windows
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// fileNews watches the instruction files of a service. The zero value watches
// nothing.
type fileNews struct {
	watching watching
	once     sync.Once
}

// begin begins to watch, once; docs are what the files hold now. Where that is not
// possible nothing is watched.
func (n *fileNews) begin(ctx context.Context, s *served, docs []instructions.Document) {
	n.once.Do(func() {
		files, err := fsnotify.NewWatcher()
		if err != nil {
			return
		}
		w := &fileWatch{files: files, wanted: map[string]bool{}}
		for _, path := range s.config.instructionPaths() {
			w.wanted[path] = true
		}
		for _, d := range docs {
			w.wanted[filepath.Clean(d.Path)] = true
		}
		w.follow()
		changes := make(chan struct{}, 1)
		changes <- struct{}{} // for what has changed since docs were read
		if !n.watching.begin(ctx, func(ctx context.Context) {
			defer files.Close() //nolint:errcheck // nothing is left to lose
			var settled sync.WaitGroup
			settled.Go(func() {
				afterSettling(ctx, changes, func(ctx context.Context) { docs = s.compare(ctx, docs) })
			})
			w.tell(ctx, changes)
			settled.Wait()
		}) {
			_ = files.Close()
		}
	})
}

func (n *fileNews) end() { n.watching.end() }

// compare tells what of the instruction files is not as it was, and returns them
// as they are.
func (s *served) compare(ctx context.Context, before []instructions.Document) []instructions.Document {
	now, err := s.documents(ctx)
	if err != nil {
		return before
	}
	byPath := func(docs []instructions.Document) map[string]string {
		texts := make(map[string]string, len(docs))
		for _, d := range docs {
			texts[d.Path] = d.Text
		}
		return texts
	}
	old, all := byPath(before), byPath(now)
	others := len(old) != len(all)
	for path, text := range all {
		was, known := old[path]
		others = others || !known
		if known && was != text {
			s.changes.tell(mcp.Change{Resource: fileURI(path)})
		}
	}
	if others {
		s.changes.tell(mcp.Change{Resources: true})
	}
	return now
}

// instructionPaths are where instruction files that hold from the beginning may
// be, whether or not they are there.
func (c *Config) instructionPaths() []string {
	sh, err := c.services("MCPService")
	if err != nil {
		return nil
	}
	names := c.instructionOptions(sh).Names
	var paths []string
	in := func(dir string) {
		for _, name := range names {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	if dir, err := c.userDir(); err == nil {
		in(dir)
	}
	if c.params().Trust == trust.Untrusted {
		return paths
	}
	for _, folder := range sh.workspace.Folders() {
		top := c.boundaryOf(folder)
		for at := folder; ; at = filepath.Dir(at) {
			in(at)
			if at == top || filepath.Dir(at) == at {
				break
			}
		}
	}
	return paths
}

// sharedServices returns the services as long as they are there, else nil.
func (c *Config) sharedServices() *shared {
	_, sh := c.current()
	return sh
}
