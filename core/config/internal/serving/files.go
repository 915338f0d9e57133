package serving

import (
	"context"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/config/internal/filewatch"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/services/instructions"
	"github.com/fettle-dev/fettle/core/tools"
)

// documents returns the current instruction files that a model of this session would
// receive: the initial ones, then those of the directories in which file accesses have
// found some. In an untrusted directory they are only the user's own.
func (s *served) documents(ctx context.Context) ([]instructions.Document, error) {
	files, err := s.session.Files()
	if err != nil {
		return nil, err
	}
	all, err := files.Start(ctx, func(string) bool { return false })
	if err != nil {
		return nil, err
	}
	known := func(key string) bool {
		return slices.ContainsFunc(all, func(d instructions.Document) bool { return d.Key == key })
	}
	for _, d := range s.session.Tracker.LoadedByAccess() { // its text is that of the access
		docs, err := files.In(ctx, filepath.Dir(d.Path), known)
		if err != nil {
			return nil, err
		}
		all = append(all, docs...)
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
		s.follow(ctx, docs)
	}
	listed := make([]mcp.Resource, len(docs))
	for i, d := range docs {
		listed[i] = mcp.Resource{
			URI: fileURI(d.Path), Name: s.nameOf(d.Path), MIMEType: markdown, Size: int64(len(d.Text)),
			Description: "Instructions for work in this project; follow them.",
		}
	}
	return listed, nil
}

const markdown = "text/markdown"

// nameOf returns a path for display, relative inside of the directory.
func (s *served) nameOf(path string) string {
	if rel, err := filepath.Rel(s.session.Dir, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// read returns the content of an instruction file, and of no other file.
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
	return nil, fault.New(fault.FileNotFound, "config.mcpService", "Unknown resource: "+escape.ClipBytes(escape.Text(uri), 200)+".",
		"List the resources; read other files with read_file.")
}

// fileURI returns an absolute path as a URI.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a drive of Windows
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// follower watches the instruction files that a client has listed.
type follower struct {
	mu    sync.Mutex
	watch filewatch.Watch
	paths map[string]bool // that are watched
	ended bool
}

// follow watches the instruction files, and those of earlier lists; docs is their
// current content. If they cannot be watched, changes are not reported.
func (s *served) follow(ctx context.Context, docs []instructions.Document) {
	files, err := s.session.Files()
	if err != nil {
		return
	}
	paths := files.Paths()
	for _, d := range slices.Concat(docs, s.session.Tracker.LoadedByAccess()) {
		paths = append(paths, d.Path)
	}
	s.following.mu.Lock()
	defer s.following.mu.Unlock()
	all := maps.Clone(s.following.paths)
	if all == nil {
		all = map[string]bool{}
	}
	for _, path := range paths {
		all[path] = true
	}
	if s.following.ended || len(all) == len(s.following.paths) {
		return
	}
	s.following.watch.End()
	s.following.watch, s.following.paths = filewatch.Watch{}, all
	_ = s.following.watch.Begin(ctx, slices.Sorted(maps.Keys(all)), func(ctx context.Context) { docs = s.compare(ctx, docs) })
}

// end stops watching and waits for it.
func (f *follower) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	f.watch.End()
}

// compare reports changes of the instruction files, and returns the current ones.
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
			s.changes.Tell(mcp.Change{Resource: fileURI(path)})
		}
	}
	if others {
		s.changes.Tell(mcp.Change{Resources: true})
	}
	return now
}
