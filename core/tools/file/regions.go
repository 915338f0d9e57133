package file

import (
	"slices"

	"github.com/fettle-dev/fettle/core/tools"
)

// regionsDescription is added to the descriptions of tools whose results may be shortened.
const regionsDescription = " A longer file has changed_regions instead of content."

// DescribeRegions returns t, one of the tools that change files, with a description that also explains changed_regions;
// other tools are returned unchanged. It is for sessions with the limit ChangedRegionsAbove of [filestate.Limits].
func DescribeRegions(t tools.DeclarativeTool) tools.DeclarativeTool {
	spec := t.Spec()
	for _, name := range append([]string{spec.Name}, spec.Aliases...) {
		if slices.Contains([]string{SafePatch, WriteFile, Edit, ApplyPatch, TextEditor}, name) {
			return tools.Describe(t, spec.Description+regionsDescription)
		}
	}
	return t
}
