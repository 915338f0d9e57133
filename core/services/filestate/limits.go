package filestate

import (
	"cmp"
	"math"
	"time"
)

// Limits bound the size of one read and of the result of a change. A zero field means its default.
type Limits struct {
	Lines     int           // lines shown by a read; 2,000
	Bytes     int           // bytes of decoded text shown by a read; 256 KiB
	FileBytes int64         // above it a file is only read in ranges and never changed; 20 MiB
	svgBytes  int64         // an SVG image up to it is read as text; 1 MiB
	cacheSize int           // entries that a FileReadCache keeps; 10,000
	racy      time.Duration // an entry whose times are less than this before its read is verified by hash; 20 ms

	// ChangedRegionsAbove is the largest size, in bytes of decoded text, of a file that the result
	// of a change, made or refused, shows completely. Above it, and above Lines and Bytes, a
	// conversation that knew a complete state of the file is shown the regions that differ from it,
	// as long as they are shorter; see [patch.Region]. Zero is 16 KiB; negative: the whole content
	// is always shown.
	ChangedRegionsAbove int

	// ResultBytes limits the text of one result in bytes, as JSON: each escape counts as it is
	// written. A longer read is split into pages; a longer state after a change has no content. 0
	// or less: no limit. Less than 1,000 is 1,000.
	ResultBytes int
}

const (
	defaultLines     = 2000
	defaultBytes     = 256 << 10
	defaultFileBytes = 20 << 20
	defaultSVGBytes  = 1 << 20
	defaultCacheSize = 10_000
	defaultRacy      = 20 * time.Millisecond
	defaultRegions   = 16 << 10

	noResultBytes    = math.MaxInt32 // no limit
	leastResultBytes = 1000
)

func (l Limits) withDefaults() Limits {
	if l.Lines <= 0 {
		l.Lines = defaultLines
	}
	if l.Bytes <= 0 {
		l.Bytes = defaultBytes
	}
	if l.FileBytes <= 0 {
		l.FileBytes = defaultFileBytes
	}
	if l.svgBytes <= 0 {
		l.svgBytes = defaultSVGBytes
	}
	if l.cacheSize <= 0 {
		l.cacheSize = defaultCacheSize
	}
	if l.racy <= 0 {
		l.racy = defaultRacy
	}
	l.ChangedRegionsAbove = cmp.Or(l.ChangedRegionsAbove, defaultRegions)
	if l.ResultBytes <= 0 {
		l.ResultBytes = noResultBytes
	}
	l.ResultBytes = max(l.ResultBytes, leastResultBytes)
	return l
}
