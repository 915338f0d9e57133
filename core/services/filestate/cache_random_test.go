package filestate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// invariants returns an error if the cache's internal state is inconsistent.
func (c *FileReadCache) invariants() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	limit := c.max
	if limit == 0 {
		limit = defaultCacheSize
	}
	if len(c.entries) > limit || c.lru.Len() != len(c.entries) {
		return fmt.Errorf("%d entries and %d in the order of use, at most %d", len(c.entries), c.lru.Len(), limit)
	}
	paths := 0
	for el := c.lru.Front(); el != nil; el = el.Next() {
		r := el.Value.(*record)
		if c.entries[r.key] != el {
			return fmt.Errorf("record %v is not under its key", r.key)
		}
		if len(r.paths) == 0 {
			return fmt.Errorf("record %v has no path", r.key)
		}
		paths += len(r.paths)
		for p := range r.paths {
			if c.byPath[p] != r.key {
				return fmt.Errorf("path %s leads to %v, not to %v", p, c.byPath[p], r.key)
			}
		}
		if r.armed() && !r.qualifying() {
			return errors.New("armed without qualifying")
		}
	}
	if paths != len(c.byPath) {
		return fmt.Errorf("%d paths of records, %d in the index", paths, len(c.byPath))
	}
	return nil
}

// disturb runs one random operation with few paths, inodes and contents, so that they collide
// often.
func (c *FileReadCache) disturb(rnd *rand.Rand) {
	path := fmt.Sprint("/", rnd.IntN(6))
	info := infoAt(uint64(rnd.IntN(5)), int64(rnd.IntN(3)))
	if info.Ino == 4 {
		info.Dev, info.Ino = 0, 0 // no identity
	}
	content := fmt.Sprint(rnd.IntN(3))
	rd := fullReading(info, content)
	rd.full, rd.cacheable, rd.nonText = rnd.IntN(2) == 0, rnd.IntN(3) > 0, rnd.IntN(5) == 0
	rd.torn, rd.unshowable = rnd.IntN(6) == 0, rnd.IntN(6) == 0
	if rd.nonText && rnd.IntN(2) == 0 {
		rd.sha = ""
	}
	switch rnd.IntN(10) {
	case 0, 1, 2:
		c.recordRead(path, rd, int64(rnd.IntN(9)))
	case 3:
		c.RecordWrite(path, info, rd.sha, 1, 1, noon)
	case 4:
		c.refresh(path, info, rd.sha)
	case 5:
		c.Track(path, &Snapshot{Info: rd.info, Local: rd.local, at: rd.at, SHA256: rd.sha, Stable: !rd.torn})
	case 6:
		c.Invalidate(path)
	case 7:
		c.disqualify(path, info)
	case 8:
		c.verified(path, info, rd.sha, noon)
	default:
		c.Check(path, info)
		c.lookup(path, info)
		c.ByPath(path)
		c.ClaimRead(path)
	}
}

// RC-34
func TestCacheInvariantsUnderRandomOperations(t *testing.T) {
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		c := FileReadCache{max: 1 + int(seed%5)}
		for i := range 500 {
			c.disturb(rnd)
			require.NoError(t, c.invariants(), "seed %d, step %d", seed, i)
			if rnd.IntN(200) == 0 {
				c.Clear()
			}
		}
	}
}

// RC-34, under -race
func TestCacheUnderManyCallers(t *testing.T) {
	const callers, calls = 100, 100
	c := FileReadCache{max: 3}
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 9))
			for range calls {
				c.disturb(rnd)
				if rnd.IntN(100) == 0 {
					c.Clear()
				}
				c.Len()
				c.counts()
			}
		})
	}
	wg.Wait()
	require.NoError(t, c.invariants())
}
