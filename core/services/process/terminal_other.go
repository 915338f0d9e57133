//go:build unix && !linux

package process

// offerEnd types the end of input once, as it cannot be told here whether
// somebody has read it. A program that throws away what was typed before it asks
// then waits for its limit, as does one that asks again.
func (t *terminal) offerEnd(first bool) bool {
	if first {
		t.typeEnd()
	}
	return false
}
