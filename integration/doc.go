// Package integration tests fettle as a whole: the rules that hold the
// repository together, and the program as people run it.
package integration
