//go:build unix && !linux

package process

// offerEnd types the end of input once, because this system does not report whether it was read. A
// program that discards input before it prompts waits until its limit, and so does one that prompts
// again.
func (t *terminal) offerEnd(first bool) bool {
	if first {
		t.typeEnd()
	}
	return false
}
