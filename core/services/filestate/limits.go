package filestate

import "time"

// Limits bound what one read shows, and a success. A zero field means its
// default.
type Limits struct {
	Lines     int           // lines a read shows; 2,000
	Bytes     int           // bytes of decoded text a read shows; 256 KiB
	FileBytes int64         // above it only ranges are read and nothing is changed; 20 MiB
	SVGBytes  int64         // an SVG image up to it is read as text (FS-18); 1 MiB
	CacheSize int           // entries that a FileReadCache keeps (RC-34); 10,000
	Racy      time.Duration // an entry whose times lie less than this before its read is settled by hash; 20 ms

	// ChangedRegionsAbove is how many bytes of decoded text a file may have after a
	// change for which the whole of it is shown. Above it, and above Lines and Bytes,
	// a conversation that knew the whole file is shown the regions that the change
	// is about, as long as they take less; see [ChangedRegion]. Zero or less: never.
	ChangedRegionsAbove int
}

const (
	defaultLines     = 2000
	defaultBytes     = 256 << 10
	defaultFileBytes = 20 << 20
	defaultSVGBytes  = 1 << 20
	defaultCacheSize = 10_000
	defaultRacy      = 20 * time.Millisecond
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
	if l.SVGBytes <= 0 {
		l.SVGBytes = defaultSVGBytes
	}
	if l.CacheSize <= 0 {
		l.CacheSize = defaultCacheSize
	}
	if l.Racy <= 0 {
		l.Racy = defaultRacy
	}
	return l
}
