package shell

// Interprets reports whether a program, by its base name, runs code of a language
// that its words or its input bring, whatever its version.
func Interprets(program string) bool {
	_, found := interpreterOf(program)
	return found
}
