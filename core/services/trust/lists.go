package trust

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/tailscale/hujson"
)

// lists is a file with a list of texts for each project.
type lists struct{ file *Store }

// read returns all lists, and the path of a project in them.
func (l lists) read(project string) (all map[string][]string, real string, err error) {
	if real, err = realDir(project); err != nil {
		return nil, "", err
	}
	data, err := l.file.read()
	if err != nil {
		return nil, "", err
	}
	all, err = l.parse(data)
	return all, real, err
}

// record replaces the list of a project; an empty one removes its entry.
func (l lists) record(ctx context.Context, project string, list []string) error {
	real, err := realDir(project)
	if err != nil {
		return err
	}
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) == 0 && l.file.missing() {
		return nil
	}
	return l.file.update(ctx, func(old []byte) ([]byte, error) {
		all, err := l.parse(old)
		if err != nil {
			return nil, err
		}
		if delete(all, real); len(list) > 0 {
			all[real] = list
		}
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		err = e.Encode(all)
		return text.Bytes(), err
	})
}

func (l lists) parse(data []byte) (map[string][]string, error) {
	all := map[string][]string{}
	plain, err := hujson.Standardize(append(bytes.Clone(data), '\n'))
	if err == nil {
		err = json.Unmarshal(plain, &all)
	}
	if err != nil {
		return nil, l.file.readError(err)
	}
	if all == nil {
		all = map[string][]string{}
	}
	return all, nil
}
