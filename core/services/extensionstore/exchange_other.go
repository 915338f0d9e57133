//go:build !linux

package extensionstore

// replaceDir moves the directory at place to the path away, and then the directory at
// from to place. Between the two moves, place does not exist. After a kill in between,
// the next installation restores it from away.
func replaceDir(from, place, away string) error { return moveAround(from, place, away) }
