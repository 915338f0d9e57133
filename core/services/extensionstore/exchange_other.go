//go:build !linux

package extensionstore

// replaceDir replaces the directory place by the directory from; the old one becomes
// away. For a moment the place is empty; after a kill in that moment the next
// installation restores it from away.
func replaceDir(from, place, away string) error { return moveAround(from, place, away) }
