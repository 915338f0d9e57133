package checker

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/policy"
)

// allowedPath inspects every text argument that names a path, at any depth. It
// denies paths that leave the workspace, paths that cannot be resolved, and
// directories with code that runs or secrets; it asks about settings of editors.
func (r *Runner) allowedPath(ctx context.Context, ch policy.Checker, c policy.Call) (policy.Verdict, string, error) {
	included, err := setting(ch, "included_args")
	if err != nil {
		return policy.Deny, "", err
	}
	excluded, err := setting(ch, "excluded_args")
	if err != nil {
		return policy.Deny, "", err
	}
	args := map[string]any{}
	if len(c.Params) > 0 {
		if err := json.Unmarshal(c.Params, &args); err != nil {
			return policy.Deny, "", fmt.Errorf("the arguments are no JSON object: %w", err)
		}
	}
	found := &finder{included: included, excluded: excluded}
	found.object("", "", args)

	dir, roots := r.dirs(c)
	ws := r.workspace(ctx, dir, roots)
	verdict, reason := policy.Allow, "Every path in the arguments lies in the workspace."
	for _, a := range found.paths {
		v, why := ws.judge(ctx, a.text)
		if v == policy.Deny {
			return v, fmt.Sprintf("The path %.200q in the argument %.80s %s.", a.text, a.key, why), nil
		}
		if policy.Stricter(verdict, v) != verdict {
			verdict, reason = v, fmt.Sprintf("The path %.200q in the argument %.80s %s.", a.text, a.key, why)
		}
	}
	return verdict, reason, nil
}

// argument is a text that names a path.
type argument struct {
	key  string // dotted, without list indexes
	text string
}

// finder collects the arguments that name paths, in a stable order.
type finder struct {
	included, excluded []string
	paths              []argument
}

// object inspects the members of an object. dotted is its name, numbered its name
// with list indexes.
func (f *finder) object(dotted, numbered string, object map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		f.value(key, join(dotted, key), join(numbered, key), object[key])
	}
}

func join(prefix, key string) string {
	if prefix == "" {
		return key
	}
	return prefix + "." + key
}

// value inspects one value. Elements of a list have the name of the list.
func (f *finder) value(key, dotted, numbered string, v any) {
	if slices.Contains(f.excluded, dotted) || slices.Contains(f.excluded, numbered) {
		return
	}
	switch v := v.(type) {
	case string:
		if v != "" && (namesPath(key) || slices.Contains(f.included, key) || slices.Contains(f.included, dotted) || slices.Contains(f.included, numbered)) {
			f.paths = append(f.paths, argument{dotted, v})
		}
	case map[string]any:
		f.object(dotted, numbered, v)
	case []any:
		for i, e := range v {
			f.value(key, dotted, join(numbered, strconv.Itoa(i)), e)
		}
	}
}

// namesPath reports whether an argument of that name contains paths.
func namesPath(key string) bool {
	key = strings.ToLower(key)
	return strings.Contains(key, "path") || strings.Contains(key, "directory") || strings.Contains(key, "file") ||
		key == "source" || key == "destination"
}

// workspace contains the allowed directories.
type workspace struct {
	dir      string
	roots    []string // as given, and with links resolved
	realPath func(context.Context, string) (string, error)
}

func (r *Runner) workspace(ctx context.Context, dir string, roots []string) *workspace {
	ws := &workspace{dir: dir, realPath: r.options.RealPath}
	for _, root := range append([]string{dir}, roots...) {
		if !filepath.IsAbs(root) {
			continue
		}
		ws.roots = append(ws.roots, filepath.Clean(root))
		if real, err := ws.realPath(ctx, filepath.Clean(root)); err == nil {
			ws.roots = append(ws.roots, filepath.Clean(real))
		}
	}
	return ws
}

// unclear is the reason for denying a path that cannot be resolved.
const unclear = "cannot be followed to where it leads"

// judge returns the verdict on a path, with the reason as a clause.
func (ws *workspace) judge(ctx context.Context, text string) (policy.Verdict, string) {
	paths, ok := readings(text)
	if !ok {
		return policy.Deny, unclear
	}
	verdict, why := policy.Allow, ""
	for _, path := range paths {
		v, clause := ws.judgeReading(ctx, path)
		if policy.Stricter(verdict, v) != verdict {
			verdict, why = v, clause
		}
	}
	return verdict, why
}

func (ws *workspace) judgeReading(ctx context.Context, path string) (policy.Verdict, string) {
	if !filepath.IsAbs(path) {
		if !filepath.IsAbs(ws.dir) {
			return policy.Deny, unclear
		}
		path = filepath.Join(ws.dir, path)
	}
	path = filepath.Clean(path)
	real, err := ws.realPath(ctx, path)
	if err != nil {
		return policy.Deny, unclear
	}
	inside, ok := ws.relative(filepath.Clean(real))
	if !ok {
		return policy.Deny, "leads out of the workspace"
	}
	verdict, why := judgeSegments(inside)
	if named, ok := ws.relative(path); ok {
		if v, clause := judgeSegments(named); policy.Stricter(verdict, v) != verdict {
			verdict, why = v, clause
		}
	}
	return verdict, why
}

// relative returns a path relative to the deepest workspace directory that
// contains it.
func (ws *workspace) relative(path string) (string, bool) {
	best, found := "", false
	for _, root := range ws.roots {
		rel, err := filepath.Rel(root, path)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if !found || len(rel) < len(best) {
			best, found = rel, true
		}
	}
	return best, found
}

// judgeSegments inspects the names on a path below the workspace.
func judgeSegments(rel string) (policy.Verdict, string) {
	verdict, why := policy.Allow, ""
	for _, segment := range strings.FieldsFunc(rel, func(r rune) bool { return r == '/' || r == '\\' }) {
		switch name := plainName(segment); name {
		case ".git", ".env", "node_modules":
			return policy.Deny, "leads to " + name
		case ".vscode":
			verdict, why = policy.AskUser, "leads to "+name
		}
	}
	return verdict, why
}

// plainName returns a name in the form of file systems that fold names: without a
// stream, trailing dots and blanks, in lower case.
func plainName(segment string) string {
	name, _, _ := strings.Cut(segment, ":")
	return strings.ToLower(strings.TrimRight(name, ". "))
}

// readings returns the paths that a tool may read in a text: the text itself, the
// one with percent escapes decoded, the one of a file URL. ok is false if they
// are unknown, for example below a home directory that the tool may expand.
func readings(text string) (paths []string, ok bool) {
	const scheme = "file:"
	if len(text) >= len(scheme) && strings.EqualFold(text[:len(scheme)], scheme) {
		u, err := url.Parse(text)
		if err != nil || u.Opaque != "" || u.Host != "" && !strings.EqualFold(u.Host, "localhost") {
			return nil, false
		}
		paths = append(paths, u.Path)
	}
	paths = append(paths, text)
	if plain, err := url.PathUnescape(text); err == nil && plain != text {
		paths = append(paths, plain)
	}
	for _, path := range paths {
		if path == "~" || strings.HasPrefix(path, "~/") || strings.HasPrefix(path, `~\`) || strings.ContainsRune(path, 0) {
			return nil, false
		}
	}
	return paths, true
}
