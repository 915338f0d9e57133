package settings

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// Set sets a key in a settings file, or removes it if value is nil. Other
// content, including comments, is kept byte for byte. A key that the file
// contains under another name is changed in place. key may also be such a name,
// or a group that accepts a single value, such as sandbox: Set then sets the keys
// for which the value stands. value must be encodable as JSON; a text that can be
// converted to the number or boolean of the key is written as such. key may
// continue into a map, as in mcpServers.X.command. The file is created (mode
// 0600) if necessary, and replaced atomically.
//
// Calls of all processes are serialized; they wait until ctx ends. The error has
// code cancelled, invalid_config for an unknown key, an invalid value or a
// malformed file, or file_write_failure; the file is unchanged then.
func Set(ctx context.Context, file, key string, value any) error {
	changes, err := changesOf(key, value)
	if err != nil {
		return err
	}
	err = lockedfile.Update(ctx, file, MaxBytes, func(text []byte) ([]byte, error) {
		for _, c := range changes {
			var err error
			if text, err = edit(file, text, c); err != nil {
				return nil, err
			}
		}
		return text, nil
	})
	if err == nil || fault.As(err) != nil {
		return err
	}
	code, remedy := fault.FileWriteFailure, "Make the file and its directory writable for you."
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		code, remedy = fault.Cancelled, ""
	}
	cause := err
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		cause = e.Err
	}
	return fault.Wrap(code, "settings.set", fmt.Sprintf("The settings file %s is unchanged (%s).", file, cause), remedy, err)
}

// change is one key and its new value, nil for none.
type change struct {
	key   *Key
	name  string   // name of the key in a file that does not contain it yet
	steps []string // in the map of the key
	value any
}

// changesOf returns the changes for setting a key.
func changesOf(key string, value any) ([]change, error) {
	t, ok := targetOf(key)
	if !ok {
		remedy := "fettle config show lists the keys."
		if near := Nearest(key); near != "" {
			remedy = fmt.Sprintf("Did you mean %s?", near)
		}
		return nil, fault.New(fault.InvalidConfig, "settings.set", fmt.Sprintf("Unknown setting %s.", cmp.Or(escape.ClipBytes(key, maxShown), `""`)), remedy)
	}
	n := t.node
	plain, err := plainValue(value)
	if err != nil {
		return nil, fault.Wrap(fault.InvalidConfig, "settings.set", fmt.Sprintf("The value for %s cannot be encoded: %v.", key, err), "", err)
	}
	if len(t.steps) > 0 {
		if plain != nil {
			if _, err = n.key.accept(with(nil, t.steps, plain)); err != nil {
				return nil, err
			}
		}
		return []change{{n.key, n.path, t.steps, plain}}, nil
	}
	parts := map[string]any{"": plain}
	if n.key == nil {
		if parts = long(n.path, plain); plain == nil {
			parts = shortFormOf(n.path)
		}
		if parts == nil {
			return nil, fault.New(fault.InvalidConfig, "settings.set", fmt.Sprintf("%s is a group of settings and has no value itself.", key),
				"Name one of its keys, for example "+firstBelow(n)+".")
		}
	}
	var changes []change
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		k := n.key
		if name != "" {
			k = n.below[name].key
		}
		c := change{key: k, name: k.Path, value: parts[name]}
		if name == "" && slices.Equal(strings.Split(key, ".")[:strings.Count(key, ".")], strings.Split(k.Path, ".")[:strings.Count(k.Path, ".")]) {
			c.name = key // another name in the same group
		}
		if c.value != nil {
			if c.value, err = k.accept(c.value); err != nil {
				return nil, err
			}
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// firstBelow returns the first key of a group.
func firstBelow(n *node) string {
	for _, k := range known().keys {
		if len(k.Path) > len(n.path) && k.Path[:len(n.path)+1] == n.path+"." {
			return k.Path
		}
	}
	return n.path
}

// plainValue converts a value to its JSON representation.
func plainValue(value any) (any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var plain any
	err = json.Unmarshal(text, &plain)
	return plain, err
}

// accept returns the value in the key's type, or the reason why it is invalid.
func (k *Key) accept(value any) (any, error) {
	if converted, ok := convert(k, value); ok {
		value = converted
	}
	l := newLayer("", "")
	l.validate(&entry{key: k, written: value, value: value})
	if len(l.problems) == 0 {
		return value, nil
	}
	if p := l.problems[0]; p.Key != k.Path {
		return nil, fault.New(fault.InvalidConfig, "settings.set", fmt.Sprintf("The value for %s is invalid at %s: %s", k.Path, p.Key, p.Message), p.Remedy)
	}
	return nil, fault.New(fault.InvalidConfig, "settings.set", fmt.Sprintf("The value %s for %s is not %s.", quote(Masked(k.Path, value)), k.Path, k.expects()),
		fmt.Sprintf("Give %s.", k.expects()))
}

// edit returns the text of a settings file with a change applied.
func edit(file string, text []byte, c change) ([]byte, error) {
	k, value := c.key, c.value
	broken := func(err error) error {
		p := unread(File{Path: file}, err)
		return fault.Wrap(fault.InvalidConfig, "settings.set", "Nothing was changed. "+p.String(), "", err)
	}
	doc, err := parse(text)
	if err != nil {
		return nil, broken(err)
	}
	mark := text[:len(text)-len(bytes.TrimPrefix(text, []byte(byteOrderMark)))]
	root := &doc.Tree
	l := newLayer("", file)
	l.collect(doc, known().root, root.Value.(*hujson.Object), false) //nolint:errcheck // parse returns objects alone
	var result []byte
	e := l.entries[k.Path]
	if e == nil && value != nil {
		value = with(nil, c.steps, value)
	} else if e != nil && len(c.steps) > 0 {
		if value = with(e.written, c.steps, c.value); value == nil || reflect.DeepEqual(value, e.written) {
			return text, nil
		}
	}
	switch {
	case value == nil && e == nil:
		return text, nil
	case value == nil:
		result = doc.remove(e)
	case e == nil:
		result, err = doc.insert(c.name, value)
	case len(c.steps) > 0:
		result, err = doc.change(e.node, c)
	case e.group == nil:
		result = doc.replace(e.node, encode(value, doc.indentAt(e.node.StartOffset), doc.unit()))
	default:
		result = doc.replace(e.node, encode(lengthen(e, k, value), doc.indentAt(e.node.StartOffset), doc.unit()))
	}
	if err != nil {
		return nil, err
	}
	again, err := parse(result)
	if err != nil {
		return nil, broken(err) // an edit of valid JSON yields valid JSON
	}
	l = newLayer("", file)
	l.collect(again, known().root, again.Tree.Value.(*hujson.Object), false) //nolint:errcheck // as above
	if e := l.entries[k.Path]; e == nil != (value == nil) || e != nil && !reflect.DeepEqual(e.written, value) {
		return nil, fault.New(fault.InvalidConfig, "settings.set", fmt.Sprintf("Nothing was changed: %s sets %s more than once.", file, k.Path),
			"Remove the duplicates from the file, and set it again.")
	}
	return slices.Concat(mark, result), nil
}

// lengthen expands a short form to an object, with a key set.
func lengthen(e *entry, k *Key, value any) map[string]any {
	short, _ := decode(e.node) // it was decoded before
	object := long(e.group.path, short)
	object[k.Path[len(e.group.path)+1:]] = value
	return object
}
