package extensionstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
	"github.com/fettle-dev/fettle/core/internal/position"
)

// marketplaceFile lists the plugins of a marketplace of Claude Code.
const marketplaceFile = ".claude-plugin/marketplace.json"

// stagedPlugin is the directory in a staging directory for a plugin that its marketplace
// names by an address.
const stagedPlugin = "plugin"

// MarketplacePlugin is a plugin that a marketplace lists.
type MarketplacePlugin struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Version     string `json:"version,omitempty"`
	// Source is a path in the marketplace, or the address of a repository. "": the source
	// is not supported.
	Source string `json:"source,omitempty"`
}

// marketplaceEntry is an entry of the file.
type marketplaceEntry struct {
	MarketplacePlugin
	from    pluginSource
	members map[string]json.RawMessage
}

// pluginSource is the source of a plugin: a path in the marketplace, or a path in a
// repository.
type pluginSource struct {
	path, url, ref string
	unsupported    string // "": it is supported
}

// Marketplace lists the plugins of a marketplace, a directory or a repository, sorted by
// name. The error is as that of [Store.Install].
func (s *Store) Marketplace(ctx context.Context, r InstallRequest) ([]MarketplacePlugin, error) {
	from, err := parseSource(r.Source)
	if err != nil {
		return nil, err
	}
	if err := checkRef(r.Ref); err != nil {
		return nil, err
	}
	if err := s.admit(from); err != nil {
		return nil, err
	}
	g, err := s.stage(ctx)
	if err != nil {
		return nil, err
	}
	defer g.end()
	dir, err := s.obtain(ctx, g, from, r.Ref, r.Environ)
	if err != nil {
		return nil, err
	}
	entries, err := readMarketplace(dir, from.location)
	if err != nil {
		return nil, err
	}
	all := []MarketplacePlugin{}
	for _, e := range entries {
		all = append(all, e.MarketplacePlugin)
	}
	slices.SortFunc(all, func(a, b MarketplacePlugin) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// obtain returns the directory with the files of a source, fetched or unpacked into the
// staging directory if necessary.
func (s *Store) obtain(ctx context.Context, g *staging, from source, ref string, environ []string) (string, error) {
	dir := g.path(stagedSource)
	switch {
	case from.kind == extensions.InstallGit:
		return dir, fetch(ctx, from, ref, dir, environ)
	case isArchive(from.location):
		return unpack(ctx, from.location, dir, usualLimits)
	}
	return from.location, checkDir(from.location)
}

// readMarketplace reads the file of a marketplace.
func readMarketplace(dir, location string) ([]marketplaceEntry, error) {
	invalid := func(why string) error {
		return fault.New(fault.InvalidConfig, "extensions.marketplace", fmt.Sprintf("The marketplace %s cannot be used: %s.", location, why), "Give the directory or the repository with "+marketplaceFile+".")
	}
	c, err := contain(dir)
	if err != nil {
		return nil, unreadable(dir, err)
	}
	file, err := c.find(marketplaceFile, false)
	var data []byte
	if err == nil {
		data, err = lockedfile.Read(file, maxManifest)
	}
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, invalid("it has no " + marketplaceFile)
		}
		return nil, invalid(cause(err))
	}
	doc, err := parse(data)
	if err != nil {
		return nil, invalid(position.As(err).Error())
	}
	var market struct {
		Metadata struct {
			PluginRoot string `json:"pluginRoot"`
		} `json:"metadata"`
		Plugins []map[string]json.RawMessage `json:"plugins"`
	}
	if err := json.Unmarshal(raw(doc.Tree), &market); err != nil {
		return nil, invalid("its plugins are not a list of objects")
	}
	var all []marketplaceEntry
	for _, members := range market.Plugins {
		e := marketplaceEntry{members: members, from: sourceOf(members["source"], market.Metadata.PluginRoot)}
		for key, to := range map[string]*string{"name": &e.Name, "description": &e.Description, "version": &e.Version} {
			_ = json.Unmarshal(members[key], to) // anything else is none
		}
		if e.Name == "" {
			continue
		}
		if e.Source = e.from.path; e.from.url != "" {
			e.Source = e.from.url
		}
		all = append(all, e)
	}
	return all, nil
}

// sourceOf reads the source of a plugin: a path, or an object.
func sourceOf(value json.RawMessage, root string) pluginSource {
	var name string
	if json.Unmarshal(value, &name) == nil {
		if !strings.HasPrefix(name, ".") && root != "" {
			name = path.Join(root, name)
		}
		return pluginSource{path: path.Clean(name)}
	}
	var o struct {
		Source, Repo, URL, Ref, SHA, Path string
	}
	if json.Unmarshal(value, &o) != nil {
		return pluginSource{unsupported: "its source is neither a path nor an object"}
	}
	p := pluginSource{path: path.Clean(o.Path), ref: o.Ref, url: o.URL}
	if o.SHA != "" {
		p.ref = o.SHA
	}
	switch o.Source {
	case "github":
		p.url = "github:" + o.Repo
	case "url", "git", "git-subdir":
		if ownerRepo().MatchString(p.url) && strings.Count(p.url, "/") == 1 {
			p.url = "github:" + p.url
		}
	case "directory", "local":
	default:
		p.unsupported = fmt.Sprintf("sources of the kind %q are not supported", clip(o.Source))
	}
	if p.unsupported != "" {
		p.url, p.path = "", ""
	}
	return p
}

// choosePlugin returns the directory of the extension to install, and what its marketplace
// adds to its manifest: dir itself if name is empty and dir has a manifest, otherwise a
// plugin of the marketplace in dir.
func (s *Store) choosePlugin(ctx context.Context, g *staging, dir string, from source, m *extensions.InstallMetadata, environ []string) (string, map[string]json.RawMessage, error) {
	if m.Plugin == "" {
		if hasManifest(dir, from) == nil {
			return dir, nil, nil
		}
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(marketplaceFile))); err != nil {
			return dir, nil, nil // it is reported that the manifest is missing
		}
	}
	entries, err := readMarketplace(dir, from.location)
	if err != nil {
		return "", nil, err
	}
	at := slices.IndexFunc(entries, func(e marketplaceEntry) bool { return strings.EqualFold(e.Name, m.Plugin) })
	if m.Plugin == "" && len(entries) == 1 {
		at = 0
	}
	if at < 0 {
		return "", nil, noPlugin(entries, m.Plugin, from.location)
	}
	e := entries[at]
	m.Plugin = e.Name
	if e.from.unsupported != "" {
		return "", nil, fault.New(fault.InvalidConfig, "extensions.marketplace", fmt.Sprintf("The plugin %s cannot be installed: %s.", clip(e.Name), e.from.unsupported), "Install it from a directory or a repository.")
	}
	if e.from.url != "" {
		other, err := parseSource(e.from.url)
		if err == nil {
			err = checkRef(e.from.ref)
		}
		if err == nil && other.kind != extensions.InstallGit {
			err = badSource(fmt.Sprintf("The source of the plugin %s is not the address of a repository.", clip(e.Name)), "")
		}
		if err == nil {
			err = s.admit(other)
		}
		if err != nil {
			return "", nil, err
		}
		dir = g.path(stagedPlugin)
		if err := fetch(ctx, other, e.from.ref, dir, environ); err != nil {
			return "", nil, err
		}
	}
	if !filepath.IsLocal(e.from.path) {
		return "", nil, badSource(fmt.Sprintf("The directory %q of the plugin %s is not in its marketplace.", clip(e.from.path), clip(e.Name)), "")
	}
	c, err := contain(dir)
	if err != nil {
		return "", nil, unreadable(dir, err)
	}
	found, err := c.find(e.from.path, true)
	if err != nil {
		return "", nil, fault.Wrap(fault.InvalidConfig, "extensions.marketplace", fmt.Sprintf("The directory %q of the plugin %s cannot be used: %s.", clip(e.from.path), clip(e.Name), cause(err)), "Tell the author of the marketplace.", err)
	}
	return found, e.members, nil
}

// noPlugin returns the error for a plugin that a marketplace does not list.
func noPlugin(entries []marketplaceEntry, name, location string) error {
	const most = 20
	var names []string
	for _, e := range entries {
		names = append(names, clip(e.Name))
	}
	slices.Sort(names)
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", more))
	}
	message := fmt.Sprintf("%s is a marketplace of several plugins.", location)
	if name != "" {
		message = fmt.Sprintf("The marketplace %s has no plugin %q.", location, clip(name))
	}
	return fault.New(fault.InvalidToolParams, "extensions.marketplace", message, "Name one with --plugin: "+strings.Join(names, ", ")+".")
}

// listed returns a list of values, and of the values in lists.
func listed(values ...json.RawMessage) json.RawMessage {
	var all []json.RawMessage
	for _, value := range values {
		var list []json.RawMessage
		if json.Unmarshal(value, &list) != nil {
			list = []json.RawMessage{value}
		}
		all = append(all, list...)
	}
	whole, _ := json.Marshal(all) // decoded values can be encoded
	return whole
}

// complete writes the manifest of a plugin with the keys that its marketplace adds. Its
// own keys take precedence; hooks are those of both.
func complete(dir string, members map[string]json.RawMessage) error {
	if members == nil {
		return nil
	}
	for _, name := range manifestNames()[:2] {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return nil
		}
	}
	file := filepath.Join(dir, filepath.FromSlash(pluginManifest))
	whole := map[string]json.RawMessage{}
	for key, value := range members {
		if !slices.Contains([]string{"source", "strict", "category", "tags", "relevance"}, key) {
			whole[key] = value
		}
	}
	if data, err := lockedfile.Read(file, maxManifest); err == nil {
		doc, err := parse(data)
		if err != nil {
			return nil // the manifest is reported when it is read
		}
		var own map[string]json.RawMessage
		if json.Unmarshal(raw(doc.Tree), &own) == nil {
			theirs, both := whole[hooksKey]
			maps.Copy(whole, own)
			if mine, given := own[hooksKey]; given && both { // hooks may restrict, so none is replaced
				whole[hooksKey] = listed(mine, theirs)
			}
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil // likewise
	}
	data, err := json.MarshalIndent(whole, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o755)
	}
	if err == nil {
		err = lockedfile.Replace(file, append(data, '\n'))
	}
	if err != nil {
		return unwritable(file, err)
	}
	return nil
}
