//go:build !linux

package extensions

// replaceFolder puts the directory from in the place of the directory place, which is
// away afterwards. For a moment the place is empty; who finds it so after a kill
// puts it back from away.
func replaceFolder(from, place, away string) error { return moveAround(from, place, away) }
