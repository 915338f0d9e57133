package file

import (
	"slices"
	"sync"
)

// regionsDescription is added to the descriptions of tools whose results may be shortened.
const regionsDescription = " A longer file has changed_regions instead of content."

// RegionsFactories is [Factories] with descriptions that also explain changed_regions, for sessions with the limit
// ChangedRegionsAbove of [filestate.Limits].
func RegionsFactories() ([]*Factory, error) { return regionsFactories() }

var regionsFactories = sync.OnceValues(func() ([]*Factory, error) {
	all, err := factories()
	if err != nil {
		return nil, err
	}
	all = slices.Clone(all)
	for i, f := range all {
		if spec := f.Spec(); slices.Contains([]string{SafePatch, WriteFile, Edit, ApplyPatch, TextEditor}, spec.Name) {
			all[i] = f.Describing(spec.Description + regionsDescription)
		}
	}
	return all, nil
})
