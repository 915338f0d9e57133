//go:build linux && (amd64 || arm64)

package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// socket is a socket in a writable directory.
type socket struct {
	id      identity
	outside bool // it existed before confined processes could create it
}

// judge records the sockets that a scan has found in root.
func (t *Tree) judge(root string, found map[string]identity) {
	for path := range t.sockets {
		if _, ok := found[path]; !ok && Below(root, path) {
			delete(t.sockets, path)
		}
	}
	for path, id := range found {
		if known := t.sockets[path]; known == nil || known.id != id {
			t.sockets[path] = &socket{id: id, outside: t.keeping}
		}
	}
}

// Sockets returns the sockets in the writable directories that may belong to processes outside,
// as of the last scan. network states that confined processes share the network of this process:
// then their own sockets cannot be distinguished, and are returned too.
func (t *Tree) Sockets(network bool) (paths []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.sockets) == 0 {
		return nil
	}
	absolute, relative := listeners()
	for path, s := range t.sockets {
		if s.outside || network || slices.Contains(absolute, path) || slices.Contains(relative, filepath.Base(path)) {
			paths = append(paths, path)
		}
	}
	return paths
}

// listeners returns the paths of the bound sockets in the network namespace of this process, with
// links resolved, and the last names of those that were bound by a relative path.
func listeners() (absolute, relative []string) {
	text, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil, nil
	}
	const columns = 7 // before the path, which may contain blanks
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		for range columns {
			_, line, _ = strings.Cut(strings.TrimLeft(line, " "), " ")
		}
		switch {
		case line == "" || line[0] == '@':
		case line[0] != '/':
			relative = append(relative, filepath.Base(line))
		default:
			if path, err := filepath.EvalSymlinks(line); err == nil && !slices.Contains(absolute, path) {
				absolute = append(absolute, path)
			}
		}
	}
	return absolute, relative
}

// reachableSockets returns the paths at which the command would see the sockets that other
// processes listen on. network states that commands share the network of this process: then the
// sockets of earlier commands are among them, so those in directories where it may write are left out.
func reachableSockets(all []mount, temp string, network bool) (paths []string) {
	absolute, _ := listeners()
	for _, path := range absolute {
		outer := enclosing(all, path)
		if outer != nil && (outer.source == "" || outer.write && network) && !Below(temp, path) || network && Below(temp, path) {
			continue
		}
		paths = append(paths, path)
		for _, m := range all { // the temporary directory has several paths
			if rest, below := strings.CutPrefix(path, temp+"/"); below && m.source == temp && m.path != temp {
				paths = append(paths, m.path+"/"+rest)
			}
		}
	}
	return paths
}
