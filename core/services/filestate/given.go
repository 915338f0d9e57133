package filestate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// shortestHash is the minimum number of digits of a shortened hash.
const shortestHash = 12

// FullHash returns a hash that a call passes for the file at p, in lower case and with all 64
// digits. A shortened one, of at least 12 digits, is expanded to the only hash that begins with it
// among those in states of the file that this conversation has received, and [EmptySHA256]. They are
// remembered from [Service.StartSession] on, across compaction and with the cache disabled; beyond
// 10,000 the oldest is forgotten. FullHash does not read the file.
//
// The error has code invalid_tool_params: no hash begins with it, or several do.
func (s *Service) FullHash(p workspace.Path, hash string) (string, error) {
	hash = strings.ToLower(hash)
	if len(hash) >= len(EmptySHA256) {
		return hash, nil
	}
	var found []string
	if len(hash) >= shortestHash {
		found = s.beginningWith(p, hash)
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return "", s.refuseShortHash(p, hash, len(found))
}

// beginningWith returns the known hashes of the file at p that begin with prefix.
func (s *Service) beginningWith(p workspace.Path, prefix string) []string {
	var found []string
	if !s.single {
		found = s.given.find(s.namesOf(p), prefix)
	}
	if strings.HasPrefix(EmptySHA256, prefix) && !slices.Contains(found, EmptySHA256) {
		found = append(found, EmptySHA256)
	}
	return found
}

// namesOf returns the path of p and the other paths at which the file was seen.
func (s *Service) namesOf(p workspace.Path) []string {
	names := []string{p.String()}
	if info, err := s.files.Stat(p); err == nil {
		names = append(names, s.Cache.namesOf(p.String(), info)...)
	}
	return names
}

func (s *Service) refuseShortHash(p workspace.Path, hash string, found int) *fault.Error {
	message := fmt.Sprintf("The hash %s is shortened, and no state of %s that you received in this session begins with it.", hash, p.String())
	remedy := "Copy the sha256 of the newest state object of this file, or all 64 digits if the hash is from elsewhere. Call read_file if you have none."
	switch {
	case found > 1:
		message = fmt.Sprintf("The hash %s is shortened, and %d states of %s that you received begin with it.", hash, found, p.String())
		remedy = "Pass all 64 digits of the sha256 of the newest one."
	case s.single:
		message = fmt.Sprintf("The hash %s is shortened, and without a session it is unknown which hash of %s you received.", hash, p.String())
		remedy = "Pass all 64 digits of the sha256."
	}
	e := fault.New(fault.InvalidToolParams, "filestate.hash", message, remedy)
	e.Short = "Unknown shortened hash."
	return e
}

// give records that the conversation has received a state of the file at p with the hash sha, once
// the [Recording] of ctx is committed.
func (s *Service) give(ctx context.Context, p workspace.Path, sha string) {
	s.WhenShown(ctx, func() { s.given.add(p.String(), sha) })
}

// givenHashes records the hashes of files that a conversation has received. Beyond max, the oldest
// is forgotten. Its zero value is empty and needs a max; it is safe for concurrent use.
type givenHashes struct {
	max int // set before first use

	mu     sync.Mutex
	byPath map[string][]string // oldest first
	order  []string            // the path of each hash, oldest first
}

func (g *givenHashes) add(path, sha string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if sha == "" || slices.Contains(g.byPath[path], sha) {
		return
	}
	if g.byPath == nil {
		g.byPath = make(map[string][]string)
	}
	g.byPath[path] = append(g.byPath[path], sha)
	g.order = append(g.order, path)
	for len(g.order) > g.max {
		oldest := g.order[0]
		g.order = g.order[1:]
		if g.byPath[oldest] = g.byPath[oldest][1:]; len(g.byPath[oldest]) == 0 {
			delete(g.byPath, oldest)
		}
	}
}

// find returns the distinct hashes at paths that begin with prefix.
func (g *givenHashes) find(paths []string, prefix string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var found []string
	for _, path := range paths {
		for _, sha := range g.byPath[path] {
			if strings.HasPrefix(sha, prefix) && !slices.Contains(found, sha) {
				found = append(found, sha)
			}
		}
	}
	return found
}

func (g *givenHashes) clear() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.byPath, g.order = nil, nil
}
