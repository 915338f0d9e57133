// Package integration tests fettle as a whole: the rules of the repository, and the
// program from the outside.
package integration
